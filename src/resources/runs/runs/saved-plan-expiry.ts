/** The background job that discards saved plans nobody has confirmed. */
import { nowMs } from "../../../kernel/time.ts";
import type { JobContext } from "../../shared/job-context.ts";
import { lockRun } from "./reads.ts";
import { transitionRun } from "./lifecycle.ts";
import { findOldSavedPlan } from "./store.ts";

/** Counted from the creation of the run. */
const savedPlanMs = 14 * 24 * 60 * 60 * 1000;

export async function discardOldSavedPlans({ context, capability, signal, step }: JobContext): Promise<number> {
  let discarded = 0;
  while (!signal.aborted) {
    const id = await findOldSavedPlan(context.database.reader, new Date(nowMs() - savedPlanMs).toISOString());
    if (id === undefined) break;
    discarded += await step(async (tx) => {
      const run = capability.proofFor(await lockRun(tx, id));
      if (run.status !== "planned_and_saved") return 0;
      const description = "The saved plan was not confirmed within 14 days.";
      await transitionRun(tx, context, run, { event: "stale", description });
      return 1;
    });
  }
  return discarded;
}
