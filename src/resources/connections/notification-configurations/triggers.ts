/** The triggers of notifications, and the events as the outbox stores them. Pure. */

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

/** Change requests are not supported, so this never happens, but clients send it. */
const unusedTrigger = "change_request:created";

export const triggerNames = [...workspaceTriggerNames, unusedTrigger] as const;
export type TriggerName = (typeof triggerNames)[number];

export type SubscribableType = "workspaces" | "projects" | "teams";

/** Workspaces and projects have the events of workspaces; teams also accept what clients send for them. */
export const triggersFor = (type: SubscribableType): readonly TriggerName[] =>
  type === "teams" ? triggerNames : workspaceTriggerNames;

/**
 * The trigger for a run's new status: of several statuses in one transaction, only the last counts, so that runs which apply
 * automatically don't ask for attention. Undefined if there is none.
 */
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

/** A workspace will be destroyed, was destroyed, or could not be. */
export interface AutoDestroyTriggerEvent {
  readonly about: "auto-destroy";
  readonly trigger: "workspace:auto_destroy_reminder" | "workspace:auto_destroy_run_results";
  readonly autoDestroyAt: string | null;
  readonly runId: string | null;
  readonly runStatus: string | null;
  readonly runCreatedAt: string | null;
  readonly error: string | null;
}

export interface VerificationTriggerEvent {
  readonly about: "verification";
  readonly trigger: "verification";
}

export type TriggerEvent = RunTriggerEvent | AssessmentTriggerEvent | AutoDestroyTriggerEvent;

export type NotificationEvent = (TriggerEvent & EventWorkspace) | VerificationTriggerEvent;
