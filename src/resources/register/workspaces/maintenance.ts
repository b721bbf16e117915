/** Removes locks with expired leases from workspaces that nobody has loaded since. */
import { now } from "../../../kernel/time.ts";
import { loadWorkspaces } from "./reads.ts";
import { findExpiredLeases } from "./store.ts";
import type { JobContext } from "../../shared/job-context.ts";

const batch = 100;

/** One transaction per workspace, so that a locked workspace delays only itself. */
export async function expireLeases({ context, signal, step }: JobContext): Promise<number> {
  let handled = 0;
  for (;;) {
    const ended = await findExpiredLeases(context.database.reader, now(), batch);
    for (const id of ended) {
      if (signal.aborted) return handled;
      // Loading with a lock ends the lease.
      await step((tx) => loadWorkspaces(tx, context, [id]));
      handled += 1;
    }
    if (ended.length < batch) return handled;
  }
}
