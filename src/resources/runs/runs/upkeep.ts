/** What happens to runs with time alone. */
import { nowMs } from "../../../kernel/time.ts";
import type { JobWork } from "../../shared/job-work.ts";
import { lockRun } from "./reads.ts";
import { advance } from "./lifecycle.ts";
import { findOldSavedPlan } from "./store.ts";

/** How long a plan is kept that nobody confirms, from when its run was made. */
const savedPlanMs = 14 * 24 * 60 * 60 * 1000;

/** Plans that were saved long ago are discarded, one in each step. Gives how many. */
export async function discardOldSavedPlans({ context, capability, signal, step }: JobWork): Promise<number> {
  let discarded = 0;
  while (!signal.aborted) {
    const id = await findOldSavedPlan(context.database.reader, new Date(nowMs() - savedPlanMs).toISOString());
    if (id === undefined) break;
    discarded += await step(async (tx) => {
      const run = capability.grant(await lockRun(tx, id));
      if (run.status !== "planned_and_saved") return 0;
      const description = "Nobody confirmed it within 14 days.";
      await advance(tx, context, run, { event: "stale", description });
      return 1;
    });
  }
  return discarded;
}
