/** The work of the job that takes locks off workspaces whose leases have ended, where nobody came by before it. */
import type { Tx } from "../../../database/database.ts";
import { now } from "../../../kernel/time.ts";
import type { Context } from "../../shared/context.ts";
import { loadWorkspaces } from "./reads.ts";
import { findEndedLeases } from "./store.ts";

interface Work {
  readonly context: Context;
  readonly signal: AbortSignal;
  step<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

const batch = 100;

/** Gives how many it looked after. Each is a step of its own: whoever waits for one workspace does not wait for others. */
export async function endLeases({ context, signal, step }: Work): Promise<number> {
  let handled = 0;
  for (;;) {
    const ended = await findEndedLeases(context.database.reader, now(), batch);
    for (const id of ended) {
      if (signal.aborted) return handled;
      // Whoever holds a workspace ends its lease.
      await step((tx) => loadWorkspaces(tx, context, [id]));
      handled += 1;
    }
    if (ended.length < batch) return handled;
  }
}
