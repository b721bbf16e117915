/** An apply: what the engine changed. */
import { z } from "zod";
import { defineResource, type Operation } from "../../../../jsonapi/define.ts";
import { JsonText } from "../../../../jsonapi/document.ts";
import { text, wholeNumber } from "../../../../jsonapi/schemas.ts";
import { backingDataOperations } from "../../../shared/backing-data.ts";
import { executionDetailsOf, type PhaseView } from "../view.ts";

const show = {
  method: "GET",
  path: "/applies/:apply_id",
  summary: "Show an apply",
  needs: "read access to the workspace's runs",
  answer: "document",
} as const satisfies Operation;

const backingData = backingDataOperations("/applies/:apply_id", "nothing", {
  thing: "an apply's",
  noun: "log and JSON output",
  separator: "-",
});

export const applies = defineResource<PhaseView>()(({ readOnly, toMany }) => ({
  type: "applies",
  doc: "What the engine changed.",
  id: (apply) => apply.id,
  // The log's address is good for a time.
  hasExpiring: true,
  attributes: {
    "action-invocations": readOnly(wholeNumber(), "How many actions it invoked."),
    "backing-data-status": readOnly(
      text(),
      "Whether its log and what the engine said in JSON are `present`, `backing_data_soft_deleted` or `backing_data_permanently_deleted`.",
    ),
    "error-message": readOnly(text().nullable(), "Why it failed, where its log does not tell."),
    "execution-details": readOnly(z.record(z.string(), z.unknown()), "Who executes it.", { from: executionDetailsOf }),
    "log-read-url": readOnly(text(), "Where its log is read, without a token."),
    "resource-additions": readOnly(wholeNumber(), "How many resources it added."),
    "resource-changes": readOnly(wholeNumber(), "How many it changed."),
    "resource-destructions": readOnly(wholeNumber(), "How many it destroyed."),
    "resource-imports": readOnly(wholeNumber(), "How many it imported."),
    status: readOnly(text(), "Where it is."),
    "status-timestamps": readOnly(z.record(z.string(), z.string()), "When it came where.", {
      from: ({ statusTimestamps }) => new JsonText(statusTimestamps),
    }),
  },
  relationships: {
    "state-versions": toMany("state-versions", "The states that it wrote, the newest first.", {
      ids: ({ stateVersionIds }) => (stateVersionIds ? stateVersionIds.split(",") : []),
    }),
  },
  links: (apply) => ({ self: `/api/v2/applies/${apply.id}` }),
  operations: {
    showApply: show,
    showRunApply: { ...show, path: "/runs/:run_id/apply", summary: "Show a run's apply" },
    softDeleteApplyBackingData: backingData.softDelete,
    restoreApplyBackingData: backingData.restore,
    permanentlyDeleteApplyBackingData: backingData.permanentlyDelete,
  },
}));
