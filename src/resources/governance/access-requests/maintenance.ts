/** Stores in the background which requests have lapsed. */
import type { JobContext } from "../../shared/job-context.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import { accessRequests } from "./definition.ts";
import { storeLapsedRequests } from "./store.ts";

const batchSize = 100;

export async function recordLapsedRequests({ context, capability, signal, step }: JobContext): Promise<number> {
  let handled = 0;
  while (!signal.aborted) {
    const count = await step(async (tx) => {
      const lapsed = await storeLapsedRequests(tx, capability, batchSize);
      const events = lapsed.map(({ id, organizationId }) => ({
        organizationId,
        verb: "lapse",
        subject: { type: accessRequests.type, id },
        before: { status: "pending" },
        after: { status: "lapsed" },
      }));
      await recordEvents(tx, context, events);
      return lapsed.length;
    });
    handled += count;
    if (count < batchSize) break;
  }
  return handled;
}
