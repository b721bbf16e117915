/** What can be told of workspaces, and of what to teams. Pure. */

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
