/** The work of the job that starts runs in the workspaces that follow one that was applied. */
import type { Tx } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { counted } from "../../../kernel/text.ts";
import { loadWorkspaces } from "../../register/workspaces/reads.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import type { Context } from "../../shared/context.ts";
import { movedBy } from "../proofs.ts";
import { recordRunEvents, type RunEvent } from "../run-events/writes.ts";
import { createRun } from "../runs/lifecycle.ts";
import { causedRun, chainLengthMax } from "./rules.ts";
import { deleteFiring, findFiring, findTargetIds, type FiringRun } from "./store.ts";

interface Work {
  readonly context: Context;
  readonly signal: AbortSignal;
  step<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** Gives how many applies had their effect. Each is one step: all runs that it causes begin, or none does. */
export async function fireTriggers({ context, signal, step }: Work): Promise<number> {
  let handled = 0;
  while (!signal.aborted) {
    const run = await findFiring(context.database.reader);
    if (run === undefined) break;
    if (await step((tx) => fire(tx, context, run))) handled += 1;
  }
  return handled;
}

async function fire(tx: Tx, context: Context, run: FiringRun): Promise<boolean> {
  const named = await findTargetIds(tx, run.workspaceId);
  const held = await loadWorkspaces(tx, context, [run.workspaceId, ...named]);
  const by = movedBy("by itself", run);
  if (!(await deleteFiring(tx, by, run.id))) return false;
  if (!held.some(({ id }) => id === run.workspaceId)) return false;
  // Those that were taken away while we waited are not meant any more.
  const ids = new Set(await findTargetIds(tx, run.workspaceId));
  const targets = held.filter(({ id }) => ids.has(id));
  const events: RunEvent[] = [];
  for (const target of targets) events.push({ run, ...(await start(tx, context, run, target)) });
  await recordRunEvents(tx, by, context.actor, events);
  return true;
}

/** What came of it, as an event of the run that was applied; without the target's name, which not everybody who reads that run may know. */
async function start(
  tx: Tx,
  context: Context,
  run: FiringRun,
  target: WorkspaceView,
): Promise<Pick<RunEvent, "action" | "description">> {
  const nothing = (why: string) => ({
    action: "not_triggered",
    description: `No run was started in the workspace ${target.id}: ${why}`,
  });
  if (run.chainLength >= chainLengthMax)
    return nothing(
      `this one was itself caused through ${counted(run.chainLength, "other run")}, and no chain is longer.`,
    );
  try {
    const caused = await createRun(tx, context, target, causedRun(run, target), "by itself");
    return { action: "triggered", description: `Started ${caused.id}.` };
  } catch (error) {
    // What can't be run there is refused before anything is written.
    if (!(error instanceof AppError) || error.code !== "invalid") throw error;
    return nothing(`${error.message}.`);
  }
}
