/** A plan: what the engine would change. */
import { z } from "zod";
import { defineResource, type Operation } from "../../../../jsonapi/define.ts";
import { JsonText } from "../../../../jsonapi/document.ts";
import { flag, flags, text, wholeNumber } from "../../../../jsonapi/schemas.ts";
import { backingDataOperations } from "../../../shared/backing-data.ts";
import { executionDetailsOf, type PhaseView } from "../view.ts";

const readers = "read access to the workspace's runs";
const show = {
  method: "GET",
  path: "/plans/:plan_id",
  summary: "Show a plan",
  needs: readers,
  answer: "document",
} as const satisfies Operation;

const backingData = backingDataOperations("/plans/:plan_id", "nothing", {
  thing: "a plan's",
  noun: "log and JSON output",
  separator: "-",
});

export const plans = defineResource<PhaseView>()(({ readOnly, toMany }) => ({
  type: "plans",
  doc: "What the engine would change.",
  id: (plan) => plan.id,
  // The log's address is good for a time.
  hasExpiring: true,
  attributes: {
    actions: readOnly(flags(["is-exportable"]), "What can be done with it. Nothing exports plans.", {
      from: () => ({ "is-exportable": false }),
    }),
    "action-invocations": readOnly(wholeNumber(), "How many actions it invokes."),
    "backing-data-status": readOnly(
      text(),
      "Whether its log and what the engine said in JSON are `present`, `backing_data_soft_deleted` or `backing_data_permanently_deleted`.",
    ),
    "error-message": readOnly(text().nullable(), "Why it failed, where its log does not tell."),
    "execution-details": readOnly(z.record(z.string(), z.unknown()), "Who executes it.", { from: executionDetailsOf }),
    "generated-configuration": readOnly(flag(), "Whether it wrote configuration for what it imports."),
    "has-changes": readOnly(flag(), "Whether there is something to apply, as the engine says."),
    "log-read-url": readOnly(text(), "Where its log is read, without a token."),
    permissions: readOnly(flags(["can-export"]), "What the caller may do. Nothing exports plans.", {
      from: () => ({ "can-export": false }),
    }),
    "resource-additions": readOnly(wholeNumber(), "How many resources it adds."),
    "resource-changes": readOnly(wholeNumber(), "How many it changes."),
    "resource-destructions": readOnly(wholeNumber(), "How many it destroys."),
    "resource-imports": readOnly(wholeNumber(), "How many it imports."),
    status: readOnly(text(), "Where it is."),
    "status-timestamps": readOnly(z.record(z.string(), z.string()), "When it came where.", {
      from: ({ statusTimestamps }) => new JsonText(statusTimestamps),
    }),
  },
  relationships: {
    "state-versions": toMany("state-versions", "A plan writes none.", { ids: () => [] }),
    exports: toMany("plan-exports", "There are none.", { ids: () => [] }),
  },
  links: (plan) => ({
    self: `/api/v2/plans/${plan.id}`,
    "json-output": `/api/v2/plans/${plan.id}/json-output`,
  }),
  operations: {
    showPlan: show,
    showRunPlan: { ...show, path: "/runs/:run_id/plan", summary: "Show a run's plan" },
    softDeletePlanBackingData: backingData.softDelete,
    restorePlanBackingData: backingData.restore,
    permanentlyDeletePlanBackingData: backingData.permanentlyDelete,
  },
}));
