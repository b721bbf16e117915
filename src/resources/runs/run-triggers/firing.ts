/** The background job that starts the runs of run triggers after an apply. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { counted } from "../../../kernel/text.ts";
import { loadWorkspaces } from "../../register/workspaces/reads.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import type { Context } from "../../shared/context.ts";
import type { JobContext } from "../../shared/job-context.ts";
import { createRun } from "../runs/lifecycle.ts";
import { TransitionRecorder } from "../runs/transition-recorder.ts";
import { triggeredRunInput, chainLengthMax } from "./rules.ts";
import { deleteFiring, findFiring, findTargetIds, type FiringRun } from "./store.ts";

/** One transaction per apply: all of its runs are started, or none. */
export async function fireTriggers({ context, capability, signal, step }: JobContext): Promise<number> {
  let handled = 0;
  while (!signal.aborted) {
    const run = await findFiring(context.database.reader);
    if (run === undefined) break;
    if (await step((tx) => startTriggeredRuns(tx, context, capability, run))) handled += 1;
  }
  return handled;
}

async function startTriggeredRuns(
  tx: Tx,
  context: Context,
  capability: JobContext["capability"],
  run: FiringRun,
): Promise<boolean> {
  const targetIds = await findTargetIds(tx, run.workspaceId);
  const locked = await loadWorkspaces(tx, context, [run.workspaceId, ...targetIds]);
  if (!(await deleteFiring(tx, capability, run.id))) return false;
  if (!locked.some(({ id }) => id === run.workspaceId)) return false;
  // Triggers may have been deleted while waiting for the locks.
  const ids = new Set(await findTargetIds(tx, run.workspaceId));
  const targets = locked.filter(({ id }) => ids.has(id));
  const recorder = new TransitionRecorder(tx, context, capability.proofFor(run), run.workspaceId);
  for (const target of targets) {
    const { action, description } = await startRun(tx, context, run, capability.proofFor(target));
    recorder.recordEvent(run, action, description);
  }
  await recorder.flush();
  return true;
}

/** Names the target only by id: readers of the applied run may not have access to it. */
async function startRun(
  tx: Tx,
  context: Context,
  run: FiringRun,
  target: Granted<WorkspaceView, "job">,
): Promise<{ readonly action: string; readonly description: string }> {
  const notTriggered = (why: string) => ({
    action: "not_triggered",
    description: `No run was started in the workspace ${target.id}: ${why}`,
  });
  if (run.chainLength >= chainLengthMax)
    return notTriggered(
      `this run is the end of a chain of ${counted(run.chainLength, "other run")}, and longer chains are not allowed.`,
    );
  try {
    const caused = await createRun(tx, context, target, triggeredRunInput(run, target));
    return { action: "triggered", description: `Started ${caused.id}.` };
  } catch (error) {
    // `invalid` is raised before anything is written.
    if (!(error instanceof AppError) || error.code !== "invalid") throw error;
    return notTriggered(`${error.message}.`);
  }
}
