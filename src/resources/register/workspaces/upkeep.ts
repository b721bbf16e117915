/** The work of the job that takes locks off workspaces whose leases have ended, where nobody came by before it. */
import { now } from "../../../kernel/time.ts";
import { loadWorkspaces } from "./reads.ts";
import { findEndedLeases } from "./store.ts";
import type { JobWork } from "../../shared/job-work.ts";

const batch = 100;

/** Gives how many it looked after. Each is a step of its own: whoever waits for one workspace does not wait for others. */
export async function endLeases({ context, signal, step }: JobWork): Promise<number> {
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
