/** The work of the job that reminds of scheduled destroys: once within 24 hours before, and once within 12. */
import type { Tx } from "../../../database/database.ts";
import { nowMs } from "../../../kernel/time.ts";
import { announce } from "../../connections/notification-configurations/writes.ts";
import { loadWorkspaces } from "../../register/workspaces/reads.ts";
import { autoDestroyAtOf, type WorkspaceView } from "../../register/workspaces/view.ts";
import type { Context } from "../../shared/context.ts";
import type { JobWork } from "../../shared/job-work.ts";
import { earliestMs, stageOf } from "./rules.ts";
import { findDue } from "./store.ts";

const batch = 100;
const trigger = "workspace:auto_destroy_reminder";

/** Gives how many reminders there are. One that was told already is known by its key, for as long as it matters. */
export async function remindOfDestroys({ context, signal, step }: JobWork): Promise<number> {
  let [count, afterId] = [0, ""];
  while (!signal.aborted) {
    const search = { limit: batch, withinMs: earliestMs, remind: { trigger, afterId } };
    const ids = await findDue(context.database.reader, search);
    if (ids.length > 0) count += await step((tx) => remind(tx, context, ids));
    if (ids.length < batch) break;
    afterId = ids.at(-1) ?? "";
  }
  return count;
}

async function remind(tx: Tx, context: Context, ids: readonly string[]): Promise<number> {
  const workspaces = await loadWorkspaces(tx, context, ids);
  const announcements = workspaces.flatMap((workspace) => {
    const stage = stageOf(workspace, nowMs());
    return stage === undefined ? [] : [reminderOf(workspace, stage)];
  });
  return announce(tx, context, announcements);
}

/** Whoever changes the time is reminded again. */
function reminderOf(workspace: WorkspaceView, stage: number) {
  const autoDestroyAt = autoDestroyAtOf(workspace);
  const nothing = { runId: null, runStatus: null, runCreatedAt: null, error: null } as const;
  return {
    workspaceId: workspace.id,
    happening: { about: "auto-destroy", trigger, autoDestroyAt, ...nothing } as const,
    onceKey: `${trigger} ${stage} ${autoDestroyAt}`,
  };
}
