/** What notifications are about: the triggers of workspaces and teams, and what happened, as the outbox stores it. Pure. */

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

/** Nobody makes change requests here, so this never happens; clients send it all the same. */
const neverTrigger = "change_request:created";

export const triggerNames = [...workspaceTriggerNames, neverTrigger] as const;
export type TriggerName = (typeof triggerNames)[number];

export type SubscribableType = "workspaces" | "projects" | "teams";

/** Of workspaces and projects whatever happens in workspaces; of teams also what clients ask for there. */
export const triggersOf = (type: SubscribableType): readonly TriggerName[] =>
  type === "teams" ? triggerNames : workspaceTriggerNames;

/**
 * Which notice a run's new status is worth: the last of those that it went through in one step, so that changes which are applied by
 * themselves wait for nobody. Undefined where there is none.
 */
export function triggerOf(status: string): RunTriggerName | undefined {
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

interface Place {
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationName: string;
}

/** A run is created, or reached a status. */
export interface RunHappening {
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

/** A workspace was compared with what is really there. */
export interface AssessmentHappening {
  readonly about: "assessment";
  readonly trigger: "assessment:drifted" | "assessment:check_failure" | "assessment:failed";
  readonly now: AssessmentFigures;
  readonly before: AssessmentFigures | null;
}

/** A workspace is to be destroyed, or was, or could not be. */
export interface AutoDestroyHappening {
  readonly about: "auto-destroy";
  readonly trigger: "workspace:auto_destroy_reminder" | "workspace:auto_destroy_run_results";
  readonly autoDestroyAt: string | null;
  readonly runId: string | null;
  readonly runStatus: string | null;
  readonly runCreatedAt: string | null;
  readonly error: string | null;
}

/** Somebody wants to know whether they are heard. */
export interface VerificationHappening {
  readonly about: "verification";
  readonly trigger: "verification";
}

export type Happening = RunHappening | AssessmentHappening | AutoDestroyHappening;

/** With where it happened. */
export type Told = (Happening & Place) | VerificationHappening;
