/** Operations on applies. */
import { implement } from "../../../shared/context.ts";
import { loadPhase } from "../reads.ts";
import { applies } from "./definition.ts";

export const applyResource = implement(applies, {
  showApply: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "apply", { id: params.applyId }),
  }),
  showRunApply: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "apply", { runId: params.runId }),
  }),
});
