/** The text of notifications for Slack, Microsoft Teams, mail and `generic`, which has the JSON format of the public API. Pure. */
import { requestFacts, requestHeading, requestPayload, requestUrlOf } from "./request-messages.ts";
import type {
  AssessmentFigures,
  AssessmentTriggerEvent,
  AutoDestroyTriggerEvent,
  RunTriggerEvent,
  NotificationEvent,
} from "./triggers.ts";

export type MessageFact = readonly [label: string, value: string];

function factsOf(event: NotificationEvent): readonly MessageFact[] {
  if (event.about === "verification") return [];
  if (event.about === "access-request") return requestFacts(event);
  const common: readonly MessageFact[] = [
    ["Workspace", `${event.organizationName}/${event.workspaceName}`],
    ["Event", event.trigger],
  ];
  switch (event.about) {
    case "run":
      return [
        ...common,
        ["Run", event.runId],
        ["Message", event.runMessage],
        ["Status", event.runStatus],
        ["Created by", event.runCreatedBy ?? "the service (automatic)"],
        ["Created at", event.runCreatedAt],
        ["Updated at", event.runUpdatedAt],
        ...(event.runUpdatedBy === null ? [] : [["Updated by", event.runUpdatedBy] as const]),
      ];
    case "assessment":
      return [
        ...common,
        ["Drifted resources", String(event.now.resourcesDrifted)],
        ["Failed checks", String(event.now.checksFailed + event.now.checksErrored)],
        ["Assessed at", event.now.createdAt],
      ];
    case "auto-destroy":
      return [
        ...common,
        ...(event.runId === null ? [] : [["Run", event.runId] as const]),
        ...(event.autoDestroyAt === null ? [] : [["Will be destroyed at", event.autoDestroyAt] as const]),
        ...(event.error === null ? [] : [["Error", event.error] as const]),
      ];
  }
}

const valueMax = 500;
const short = (text: string): string => (text.length > valueMax ? `${text.slice(0, valueMax)}…` : text);

const slackText = (text: string): string =>
  short(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

export function slackMessageOf(origin: NotificationOrigin, event: NotificationEvent): object {
  const heading = slackText(headingOf(origin, event));
  const lines = factsOf(event).map(([label, value]) => `*${label}:* ${slackText(value)}`);
  const text = [`*<${linkOf(origin, event)}|${heading}>*`, ...lines].join("\n");
  return { text: heading, blocks: [{ type: "section", text: { type: "mrkdwn", text } }] };
}

export function teamsMessageOf(origin: NotificationOrigin, event: NotificationEvent): object {
  const facts = factsOf(event).map(([title, value]) => ({ title, value: short(value) }));
  const heading = { type: "TextBlock", text: headingOf(origin, event), weight: "bolder", size: "medium", wrap: true };
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [heading, ...(facts.length > 0 ? [{ type: "FactSet", facts }] : [])],
    actions: [{ type: "Action.OpenUrl", title: "Open", url: linkOf(origin, event) }],
  };
  return {
    type: "message",
    attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content }],
  };
}

export function mailOf(origin: NotificationOrigin, event: NotificationEvent): { subject: string; text: string } {
  const heading = headingOf(origin, event);
  const prefix = placeOf(event);
  const lines = factsOf(event).map(([label, value]) => `${label}: ${value}`);
  return {
    subject: `${prefix}${heading}`,
    text: [heading, "", ...lines, "", linkOf(origin, event), ""].join("\n"),
  };
}

function placeOf(event: NotificationEvent): string {
  if (event.about === "verification") return "";
  if (event.about === "access-request") return `${event.organizationName}: `;
  return `${event.organizationName}/${event.workspaceName}: `;
}

function headingOf({ configurationName }: { readonly configurationName: string }, event: NotificationEvent): string {
  switch (event.about) {
    case "verification":
      return `Verification of ${configurationName}`;
    case "run":
      return `Run ${event.trigger === "run:created" ? "Created" : (statusWords[event.runStatus] ?? event.runStatus)}`;
    case "access-request":
      return requestHeading(event);
    case "assessment":
      return assessmentWords[event.trigger];
    case "auto-destroy":
      return event.trigger === "workspace:auto_destroy_reminder"
        ? `The workspace will be destroyed at ${event.autoDestroyAt}`
        : event.error === null
          ? `The scheduled destroy run is ${event.runStatus}`
          : "The scheduled destroy run could not be started";
  }
}

const statusWords: Readonly<Record<string, string>> = {
  planning: "Planning",
  planned: "Needs Attention",
  planned_and_saved: "Needs Attention",
  planned_and_finished: "Planned and Finished",
  applying: "Applying",
  applied: "Applied",
  errored: "Errored",
  canceled: "Canceled",
  discarded: "Discarded",
};

const assessmentWords = {
  "assessment:drifted": "The infrastructure has drifted from the configuration",
  "assessment:check_failure": "Checks have failed",
  "assessment:failed": "The assessment failed",
} as const;

export interface NotificationOrigin {
  readonly configurationId: string;
  readonly configurationName: string;
  readonly publicUrl: string;
}

interface WorkspaceNames {
  readonly organizationName: string;
  readonly workspaceName: string;
}

const encode = encodeURIComponent;

const workspaceUrlOf = (publicUrl: string, { organizationName, workspaceName }: WorkspaceNames): string =>
  `${publicUrl}/app/${encode(organizationName)}/workspaces/${encode(workspaceName)}`;

const runUrlOf = ({ publicUrl }: NotificationOrigin, run: WorkspaceNames & { readonly runId: string }): string =>
  `${workspaceUrlOf(publicUrl, run)}/runs/${run.runId}`;

function linkOf(origin: NotificationOrigin, event: NotificationEvent): string {
  if (event.about === "verification") return origin.publicUrl;
  if (event.about === "access-request") return requestUrlOf(origin.publicUrl, event);
  const url = workspaceUrlOf(origin.publicUrl, event);
  const runId = event.about === "assessment" ? null : event.runId;
  return runId === null ? url : `${url}/runs/${runId}`;
}

type EventOfKind<Kind> = Extract<NotificationEvent, Kind>;

export function payloadOf(origin: NotificationOrigin, event: NotificationEvent): object {
  switch (event.about) {
    case "verification":
      return runPayload(origin, headingOf(origin, event), undefined);
    case "run":
      return runPayload(origin, headingOf(origin, event), event);
    case "access-request":
      return requestPayload(origin, event);
    case "assessment":
      return workspacePayload(origin, event, "assessment", {
        new_assessment_result: formatAssessment(origin, event.now),
        prior_assessment_result: event.before && formatAssessment(origin, event.before),
      });
    case "auto-destroy":
      return workspacePayload(origin, event, "workspace", {
        trigger_type: event.trigger === "workspace:auto_destroy_reminder" ? "reminder" : "results",
        auto_destroy_at: event.autoDestroyAt,
        run_created_at: event.runCreatedAt,
        run_status: event.runStatus,
        run_external_id: event.runId,
        run_create_error_message: event.error,
      });
  }
}

/** `event` is undefined for a verification; all other fields are null then. */
function runPayload(
  origin: NotificationOrigin,
  message: string,
  event: EventOfKind<RunTriggerEvent> | undefined,
): object {
  return {
    payload_version: 1,
    notification_configuration_id: origin.configurationId,
    run_url: event ? runUrlOf(origin, event) : null,
    run_id: event?.runId ?? null,
    run_message: event?.runMessage ?? null,
    run_created_at: event?.runCreatedAt ?? null,
    run_created_by: event?.runCreatedBy ?? null,
    workspace_id: event?.workspaceId ?? null,
    workspace_name: event?.workspaceName ?? null,
    organization_name: event?.organizationName ?? null,
    notifications: [
      {
        message,
        trigger: event?.trigger ?? "verification",
        run_status: event?.runStatus ?? null,
        run_updated_at: event?.runUpdatedAt ?? null,
        run_updated_by: event?.runUpdatedBy ?? null,
      },
    ],
  };
}

function workspacePayload(
  origin: NotificationOrigin,
  event: EventOfKind<AssessmentTriggerEvent | AutoDestroyTriggerEvent>,
  scope: "assessment" | "workspace",
  details: object,
): object {
  return {
    payload_version: "2",
    notification_configuration_id: origin.configurationId,
    notification_configuration_url: `${origin.publicUrl}/api/v2/notification-configurations/${origin.configurationId}`,
    trigger_scope: scope,
    trigger: event.trigger,
    message: headingOf(origin, event),
    details: {
      ...details,
      workspace_id: event.workspaceId,
      workspace_name: event.workspaceName,
      organization_name: event.organizationName,
    },
  };
}

const formatAssessment = ({ publicUrl }: NotificationOrigin, figures: AssessmentFigures): object => ({
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
