/** A plan, what the engine would change; an apply, what it changed; and the log of either, read by range from a URL that is its own permission. */
import { z } from "zod";
import type { WorkspaceFacts } from "../../../access/permissions/workspace.ts";
import type { RunPhaseTable } from "../../../database/schema/runs.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { JsonText } from "../../../jsonapi/document.ts";
import { type Parameter, Unusable } from "../../../jsonapi/query.ts";
import { flag, flags, text, wholeNumber } from "../../../jsonapi/schemas.ts";
import { backingDataOperations } from "../../shared/backing-data.ts";

export interface PhaseView extends RunPhaseTable, WorkspaceFacts {
  /** `remote` or `agent`, with the pool of the latter. */
  readonly executionMode: string;
  readonly agentPoolId: string | null;
  /** When its run reached a final status. */
  readonly runEndedAt: string | null;
  /** The states that it wrote, joined by commas; null where there are none. */
  readonly stateVersionIds?: string | null;
  /** Where its log is read, without a token, for a time. */
  readonly logReadUrl: string;
}

/** Who executed it, or will. */
function executionDetailsOf(phase: PhaseView): Record<string, unknown> {
  if (phase.executionMode !== "agent") return { mode: "remote" };
  return {
    mode: "agent",
    "agent-id": phase.agentId,
    "agent-name": phase.agentName,
    "agent-pool-id": phase.agentPoolId,
    "agent-pool-name": phase.agentPoolName,
  };
}

const readers = "read access to the workspace's runs";
const showPlan = {
  method: "GET",
  path: "/plans/:plan_id",
  summary: "Show a plan",
  needs: readers,
  answer: "document",
} as const satisfies Operation;

const planBackingData = backingDataOperations("/plans/:plan_id", "nothing", {
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
    showPlan: showPlan,
    showRunPlan: { ...showPlan, path: "/runs/:run_id/plan", summary: "Show a run's plan" },
    softDeletePlanBackingData: planBackingData.softDelete,
    restorePlanBackingData: planBackingData.restore,
    permanentlyDeletePlanBackingData: planBackingData.permanentlyDelete,
  },
}));

const showApply = {
  method: "GET",
  path: "/applies/:apply_id",
  summary: "Show an apply",
  needs: readers,
  answer: "document",
} as const satisfies Operation;

const applyBackingData = backingDataOperations("/applies/:apply_id", "nothing", {
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
    showApply: showApply,
    showRunApply: { ...showApply, path: "/runs/:run_id/apply", summary: "Show a run's apply" },
    softDeleteApplyBackingData: applyBackingData.softDelete,
    restoreApplyBackingData: applyBackingData.restore,
    permanentlyDeleteApplyBackingData: applyBackingData.permanentlyDelete,
  },
}));

const bytes = (doc: string): Parameter<number> => ({
  doc,
  parse: (text) =>
    /^\d{1,15}$/.test(text) ? Number(text) : new Unusable("must be a whole number of bytes that is not negative"),
});

export const logs = defineResource<never>()(() => ({
  type: "logs",
  doc: "What an engine said while it planned or applied. The first byte is STX (0x02); the last one, ETX (0x03), says that nothing more comes.",
  id: () => "",
  attributes: {},
  relationships: {},
  operations: {
    readLog: {
      method: "GET",
      path: "/logs/:log_key",
      summary: "Read a part of a log; nothing, where there is nothing yet or no more",
      needs:
        "the URL that a plan or an apply shows as its log-read-url; no token. The token that was shown the URL must still be allowed to read the run",
      signed: true,
      query: {
        parameters: {
          offset: bytes("Where to begin; 0 without it."),
          limit: bytes("How many bytes at most; however many are asked for, there are never more than 262144."),
        },
      },
      answer: "content",
      mediaType: "text/plain; charset=utf-8",
    },
  },
}));
