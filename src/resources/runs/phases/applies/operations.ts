/** Operations on applies. */
import { implement } from "../../../shared/context.ts";
import { moveBackingData } from "../backing-data.ts";
import { loadPhase } from "../reads.ts";
import { applies } from "./definition.ts";

export const applyResource = implement(applies, {
  showApply: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "apply", { id: params.applyId }),
  }),
  showRunApply: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "apply", { runId: params.runId }),
  }),
  softDeleteApplyBackingData: ({ context, params }) => moveBackingData(context, "apply", params.applyId, "soft-delete"),
  restoreApplyBackingData: ({ context, params }) => moveBackingData(context, "apply", params.applyId, "restore"),
  permanentlyDeleteApplyBackingData: ({ context, params }) =>
    moveBackingData(context, "apply", params.applyId, "permanently-delete"),
});
