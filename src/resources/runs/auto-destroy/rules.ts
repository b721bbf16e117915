/** Pure rules of scheduled destroys: when one comes, and of what is reminded before it. */
import { activityDurationMs } from "../../../kernel/time.ts";
import { autoDestroyAtOf, type WorkspaceView } from "../../register/workspaces/view.ts";

/** Undefined where none is to come: as the search has it, a duration is about what is there. */
export function scheduledMs(workspace: WorkspaceView): number | undefined {
  const at = autoDestroyAtOf(workspace);
  const { autoDestroyStatus: status, resourceCount, stateEncrypted } = workspace;
  if (at === null || status === "queued") return undefined;
  const counts = status !== "errored" && (resourceCount > 0 || stateEncrypted === 1);
  return workspace.autoDestroyActivityDuration === null || counts ? Date.parse(at) : undefined;
}

const hourMs = 3_600_000;
/** The first and the last word, in hours before. */
const stagesHours = [12, 24] as const;
export const earliestMs = Math.max(...stagesHours) * hourMs;

/**
 * How many hours before a destroy it is now, as reminders count them; undefined where there is nothing to be reminded of. Something that is
 * always to be destroyed that soon after it was used reminds nobody: each use would.
 */
export function stageOf(workspace: WorkspaceView, nowMs: number): (typeof stagesHours)[number] | undefined {
  const atMs = scheduledMs(workspace);
  if (atMs === undefined || atMs <= nowMs) return undefined;
  const stage = stagesHours.find((hours) => atMs - nowMs <= hours * hourMs);
  const { autoDestroyActivityDuration: duration } = workspace;
  const isAlwaysSo = stage !== undefined && duration !== null && activityDurationMs(duration) <= stage * hourMs;
  return isAlwaysSo ? undefined : stage;
}
