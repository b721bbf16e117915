/** Operations on plans. */
import { implement } from "../../../shared/context.ts";
import { moveBackingData } from "../backing-data.ts";
import { loadPhase } from "../reads.ts";
import { plans } from "./definition.ts";

export const planResource = implement(plans, {
  showPlan: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "plan", { id: params.planId }),
  }),
  showRunPlan: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "plan", { runId: params.runId }),
  }),
  softDeletePlanBackingData: ({ context, params }) => moveBackingData(context, "plan", params.planId, "soft-delete"),
  restorePlanBackingData: ({ context, params }) => moveBackingData(context, "plan", params.planId, "restore"),
  permanentlyDeletePlanBackingData: ({ context, params }) =>
    moveBackingData(context, "plan", params.planId, "permanently-delete"),
});
