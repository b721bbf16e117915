/** The triggers of notifications, and the events that the outbox stores. Pure. */

export const runTriggerNames = [
  "run:created",
  "run:planning",
  "run:needs_attention",
  "run:applying",
  "run:completed",
  "run:errored",
] as const;
export type RunTriggerName = (typeof runTriggerNames)[number];

const workspaceTriggerNames = [
  ...runTriggerNames,
  "assessment:drifted",
  "assessment:check_failure",
  "assessment:failed",
  "workspace:auto_destroy_reminder",
  "workspace:auto_destroy_run_results",
] as const;

/** Clients send it, but change requests are not supported. */
const unusedTrigger = "change_request:created";

const teamTriggerNames = [
  "access-request:created",
  "access-request:decided",
  "access-request:break-glass",
  unusedTrigger,
] as const;

export const triggerNames = [...workspaceTriggerNames, ...teamTriggerNames] as const;
export type TriggerName = (typeof triggerNames)[number];

export type SubscribableType = "workspaces" | "projects" | "teams";

export const triggersFor = (type: SubscribableType): readonly TriggerName[] =>
  type === "teams" ? triggerNames : workspaceTriggerNames;

/** Call with the last status of a transaction only, so that runs with auto-apply don't ask for attention. */
export function triggerForStatus(status: string): RunTriggerName | undefined {
  return byStatus[status];
}

const byStatus: Readonly<Record<string, RunTriggerName>> = {
  planning: "run:planning",
  planned: "run:needs_attention",
  planned_and_saved: "run:needs_attention",
  applying: "run:applying",
  applied: "run:completed",
  planned_and_finished: "run:completed",
  errored: "run:errored",
  canceled: "run:errored",
  discarded: "run:errored",
};

interface EventWorkspace {
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationName: string;
}

export interface RunTriggerEvent {
  readonly about: "run";
  readonly trigger: RunTriggerName;
  readonly runId: string;
  readonly runMessage: string;
  readonly runCreatedAt: string;
  readonly runCreatedBy: string | null;
  readonly runStatus: string;
  readonly runUpdatedAt: string;
  readonly runUpdatedBy: string | null;
}

export interface AssessmentFigures {
  readonly id: string;
  readonly succeeded: boolean;
  readonly drifted: boolean;
  readonly allChecksSucceeded: boolean;
  readonly resourcesDrifted: number;
  readonly resourcesUndrifted: number;
  readonly checksPassed: number;
  readonly checksFailed: number;
  readonly checksErrored: number;
  readonly checksUnknown: number;
  readonly createdAt: string;
}

export interface AssessmentTriggerEvent {
  readonly about: "assessment";
  readonly trigger: "assessment:drifted" | "assessment:check_failure" | "assessment:failed";
  readonly now: AssessmentFigures;
  readonly before: AssessmentFigures | null;
}

export interface AutoDestroyTriggerEvent {
  readonly about: "auto-destroy";
  readonly trigger: "workspace:auto_destroy_reminder" | "workspace:auto_destroy_run_results";
  readonly autoDestroyAt: string | null;
  readonly runId: string | null;
  readonly runStatus: string | null;
  readonly runCreatedAt: string | null;
  readonly error: string | null;
}

export interface AccessRequestTriggerEvent {
  readonly about: "access-request";
  readonly trigger: "access-request:created" | "access-request:decided" | "access-request:break-glass";
  readonly requestId: string;
  readonly status: string;
  readonly requestedBy: string;
  readonly reason: string;
  readonly durationSeconds: number | null;
  readonly offerName: string | null;
  readonly createdAt: string;
  readonly lapsesAt: string;
  /** Null if nobody decided: for break-glass access. */
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
  readonly decisionComment: string | null;
}

export interface VerificationTriggerEvent {
  readonly about: "verification";
  readonly trigger: "verification";
}

export type TriggerEvent = RunTriggerEvent | AssessmentTriggerEvent | AutoDestroyTriggerEvent;

export type NotificationEvent =
  | (TriggerEvent & EventWorkspace)
  | (AccessRequestTriggerEvent & Pick<EventWorkspace, "organizationName">)
  | VerificationTriggerEvent;
