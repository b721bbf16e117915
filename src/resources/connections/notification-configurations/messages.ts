/** What is sent when something happens: a heading, facts and links in the forms of Slack, Microsoft Teams and mail, and the JSON of `generic`, as receivers of the public API expect it. Pure. */
import type { AssessmentFigures, AssessmentHappening, AutoDestroyHappening, RunHappening, Told } from "./triggers.ts";

type Fact = readonly [label: string, value: string];

function factsOf(told: Told): readonly Fact[] {
  if (told.about === "verification") return [];
  const place: readonly Fact[] = [
    ["Workspace", `${told.organizationName}/${told.workspaceName}`],
    ["Event", told.trigger],
  ];
  switch (told.about) {
    case "run":
      return [
        ...place,
        ["Run", told.runId],
        ["Message", told.runMessage],
        ["Status", told.runStatus],
        ["Created by", told.runCreatedBy ?? "nobody: it was caused"],
        ["Created at", told.runCreatedAt],
        ["Changed at", told.runUpdatedAt],
        ...(told.runUpdatedBy === null ? [] : [["Changed by", told.runUpdatedBy] as const]),
      ];
    case "assessment":
      return [
        ...place,
        ["Resources that drifted", String(told.now.resourcesDrifted)],
        ["Checks that failed", String(told.now.checksFailed + told.now.checksErrored)],
        ["Assessed at", told.now.createdAt],
      ];
    case "auto-destroy":
      return [
        ...place,
        ...(told.runId === null ? [] : [["Run", told.runId] as const]),
        ...(told.autoDestroyAt === null ? [] : [["To be destroyed at", told.autoDestroyAt] as const]),
        ...(told.error === null ? [] : [["Why not", told.error] as const]),
      ];
  }
}

/** People's own words may be long; a message is not the place for all of them. */
const valueMax = 500;
const short = (text: string): string => (text.length > valueMax ? `${text.slice(0, valueMax)}…` : text);

/** Slack takes these three for its own marks. */
const slackText = (text: string): string =>
  short(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** For an incoming webhook of Slack. */
export function slackMessageOf(sender: Sender, told: Told): object {
  const heading = slackText(headingOf(sender, told));
  const lines = factsOf(told).map(([label, value]) => `*${label}:* ${slackText(value)}`);
  const text = [`*<${linkOf(sender, told)}|${heading}>*`, ...lines].join("\n");
  return { text: heading, blocks: [{ type: "section", text: { type: "mrkdwn", text } }] };
}

/** An adaptive card, for an incoming webhook or a workflow of Microsoft Teams. */
export function teamsMessageOf(sender: Sender, told: Told): object {
  const facts = factsOf(told).map(([title, value]) => ({ title, value: short(value) }));
  const heading = { type: "TextBlock", text: headingOf(sender, told), weight: "bolder", size: "medium", wrap: true };
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [heading, ...(facts.length > 0 ? [{ type: "FactSet", facts }] : [])],
    actions: [{ type: "Action.OpenUrl", title: "Open", url: linkOf(sender, told) }],
  };
  return {
    type: "message",
    attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content }],
  };
}

export function mailOf(sender: Sender, told: Told): { subject: string; text: string } {
  const heading = headingOf(sender, told);
  const place = told.about === "verification" ? "" : `${told.organizationName}/${told.workspaceName}: `;
  const lines = factsOf(told).map(([label, value]) => `${label}: ${value}`);
  return {
    subject: `${place}${heading}`,
    text: [heading, "", ...lines, "", linkOf(sender, told), ""].join("\n"),
  };
}

/** One line, whatever it is sent in. */
function headingOf({ configurationName }: { readonly configurationName: string }, told: Told): string {
  switch (told.about) {
    case "verification":
      return `Verification of ${configurationName}`;
    case "run":
      return `Run ${told.trigger === "run:created" ? "Created" : (statusWords[told.runStatus] ?? told.runStatus)}`;
    case "assessment":
      return assessmentWords[told.trigger];
    case "auto-destroy":
      return told.trigger === "workspace:auto_destroy_reminder"
        ? `The workspace will be destroyed at ${told.autoDestroyAt}`
        : told.error === null
          ? `The scheduled destroy run is ${told.runStatus}`
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
  "assessment:drifted": "What is there has drifted from the configuration",
  "assessment:check_failure": "Checks have failed",
  "assessment:failed": "The assessment failed",
} as const;

export interface Sender {
  readonly configurationId: string;
  readonly configurationName: string;
  readonly publicUrl: string;
}

interface Somewhere {
  readonly organizationName: string;
  readonly workspaceName: string;
}

const part = encodeURIComponent;

const workspaceUrlOf = (publicUrl: string, { organizationName, workspaceName }: Somewhere): string =>
  `${publicUrl}/app/${part(organizationName)}/workspaces/${part(workspaceName)}`;

const runUrlOf = ({ publicUrl }: Sender, place: Somewhere & { readonly runId: string }): string =>
  `${workspaceUrlOf(publicUrl, place)}/runs/${place.runId}`;

/** Where to look. */
function linkOf(sender: Sender, told: Told): string {
  if (told.about === "verification") return sender.publicUrl;
  const url = workspaceUrlOf(sender.publicUrl, told);
  const runId = told.about === "assessment" ? null : told.runId;
  return runId === null ? url : `${url}/runs/${runId}`;
}

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
