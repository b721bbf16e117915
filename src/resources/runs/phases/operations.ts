/** Operations on plans, applies and logs. */
import { singleChunk } from "../../../kernel/streams.ts";
import { implement } from "../../shared/context.ts";
import { changeBackingData } from "./backing-data.ts";
import { applies, logs, plans } from "./definition.ts";
import { checkLogUrl } from "./log-urls.ts";
import { logReadBytesMax, readLog } from "./logs.ts";
import { loadLog, loadPhase } from "./reads.ts";

export const planResource = implement(plans, {
  showPlan: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "plan", { id: params.planId }),
  }),
  showRunPlan: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "plan", { runId: params.runId }),
  }),
  softDeletePlanBackingData: ({ context, params }) => changeBackingData(context, "plan", params.planId, "soft-delete"),
  restorePlanBackingData: ({ context, params }) => changeBackingData(context, "plan", params.planId, "restore"),
  permanentlyDeletePlanBackingData: ({ context, params }) =>
    changeBackingData(context, "plan", params.planId, "permanently-delete"),
});

export const applyResource = implement(applies, {
  showApply: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "apply", { id: params.applyId }),
  }),
  showRunApply: async ({ context, params }) => ({
    view: await loadPhase(context.database.reader, context, "apply", { runId: params.runId }),
  }),
  softDeleteApplyBackingData: ({ context, params }) =>
    changeBackingData(context, "apply", params.applyId, "soft-delete"),
  restoreApplyBackingData: ({ context, params }) => changeBackingData(context, "apply", params.applyId, "restore"),
  permanentlyDeleteApplyBackingData: ({ context, params }) =>
    changeBackingData(context, "apply", params.applyId, "permanently-delete"),
});

/** Requests carry no token: the signed URL names one, whose access is checked. */
export const logResource = implement(logs, {
  async readLog({ context, params, query }) {
    const phase = await loadLog(context.database.reader, checkLogUrl(context, params.logKey));
    const bytes = await readLog(context, phase, query.offset ?? 0, query.limit ?? logReadBytesMax);
    return { size: bytes.length, bytes: singleChunk(bytes) };
  },
});
