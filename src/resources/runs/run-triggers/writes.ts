/**
 * What a run's apply starts in other workspaces. The apply itself only leaves a note: it holds its own workspace, and to hold others
 * too would be out of the order of locks. A job, which is woken at once, holds all of them in their order.
 */
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import { movedBy } from "../proofs.ts";
import type { RunInPlace } from "../runs/view.ts";
import { insertFiring } from "./store.ts";

/** The job that starts what applies cause. */
export const triggeringJob = "run-triggers";

/** In the transaction in which the run was applied. Wake the job after it. */
export async function afterApplied(tx: Tx, _context: Context, run: RunInPlace): Promise<void> {
  await insertFiring(tx, movedBy("by itself", run), run);
}
