/** What systems are told: the JSON of `generic`, as receivers of the public API expect it. Pure. */
import type { AssessmentFigures, AssessmentHappening, AutoDestroyHappening, RunHappening, Told } from "./happenings.ts";
import { headingOf } from "./headings.ts";
import { runUrlOf, type Sender } from "./links.ts";

type About<H> = Extract<Told, H>;

export function payloadOf(sender: Sender, told: Told): object {
  switch (told.about) {
    case "verification":
      return runPayload(sender, headingOf(sender, told), undefined);
    case "run":
      return runPayload(sender, headingOf(sender, told), told);
    case "assessment":
      return workspacePayload(sender, told, "assessment", {
        new_assessment_result: figuresOf(sender, told.now),
        prior_assessment_result: told.before && figuresOf(sender, told.before),
      });
    case "auto-destroy":
      return workspacePayload(sender, told, "workspace", {
        trigger_type: told.trigger === "workspace:auto_destroy_reminder" ? "reminder" : "results",
        auto_destroy_at: told.autoDestroyAt,
        run_created_at: told.runCreatedAt,
        run_status: told.runStatus,
        run_external_id: told.runId,
        run_create_error_message: told.error,
      });
  }
}

/** Where nothing has happened yet, and somebody is only asked whether they listen, all of it is null. */
function runPayload(sender: Sender, message: string, told: About<RunHappening> | undefined): object {
  return {
    payload_version: 1,
    notification_configuration_id: sender.configurationId,
    run_url: told ? runUrlOf(sender, told) : null,
    run_id: told?.runId ?? null,
    run_message: told?.runMessage ?? null,
    run_created_at: told?.runCreatedAt ?? null,
    run_created_by: told?.runCreatedBy ?? null,
    workspace_id: told?.workspaceId ?? null,
    workspace_name: told?.workspaceName ?? null,
    organization_name: told?.organizationName ?? null,
    notifications: [
      {
        message,
        trigger: told?.trigger ?? "verification",
        run_status: told?.runStatus ?? null,
        run_updated_at: told?.runUpdatedAt ?? null,
        run_updated_by: told?.runUpdatedBy ?? null,
      },
    ],
  };
}

function workspacePayload(
  sender: Sender,
  told: About<AssessmentHappening | AutoDestroyHappening>,
  scope: "assessment" | "workspace",
  details: object,
): object {
  return {
    payload_version: "2",
    notification_configuration_id: sender.configurationId,
    notification_configuration_url: `${sender.publicUrl}/api/v2/notification-configurations/${sender.configurationId}`,
    trigger_scope: scope,
    trigger: told.trigger,
    message: headingOf(sender, told),
    details: {
      ...details,
      workspace_id: told.workspaceId,
      workspace_name: told.workspaceName,
      organization_name: told.organizationName,
    },
  };
}

const figuresOf = ({ publicUrl }: Sender, figures: AssessmentFigures): object => ({
  id: figures.id,
  url: `${publicUrl}/api/v2/assessment-results/${figures.id}`,
  succeeded: figures.succeeded,
  drifted: figures.drifted,
  all_checks_succeeded: figures.allChecksSucceeded,
  resources_drifted: figures.resourcesDrifted,
  resources_undrifted: figures.resourcesUndrifted,
  checks_passed: figures.checksPassed,
  checks_failed: figures.checksFailed,
  checks_errored: figures.checksErrored,
  checks_unknown: figures.checksUnknown,
  created_at: figures.createdAt,
});
