/** Operations on plans. */
import { implement } from "../../../shared/context.ts";
import { loadPhase } from "../reads.ts";
import { plans } from "./definition.ts";

export const planResource = implement(plans, {
  showPlan: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "plan", { id: params.planId }),
  }),
  showRunPlan: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "plan", { runId: params.runId }),
  }),
});
