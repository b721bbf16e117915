/** The plans, applies and logs resources. A log is read by range from a signed URL. */
import { z } from "zod";
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import type { RunPhaseTable } from "../../../database/schema/runs.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { JsonText } from "../../../jsonapi/document.ts";
import { type Parameter, InvalidParameter } from "../../../jsonapi/query.ts";
import { flag, flags, text, wholeNumber } from "../../../jsonapi/schemas.ts";
import { backingDataOperations } from "../../shared/backing-data.ts";

export interface PhaseView extends RunPhaseTable, WorkspacePermissionInput {
  readonly executionMode: string;
  readonly agentPoolId: string | null;
  readonly runEndedAt: string | null;
  /** Comma-separated. */
  readonly stateVersionIds?: string | null;
  readonly logReadUrl: string;
}

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
  doc: "The plan of a run: what the engine would change.",
  id: (plan) => plan.id,
  // The log URL expires.
  isUncacheable: true,
  attributes: {
    actions: readOnly(flags(["is-exportable"]), "The actions that the plan allows. Plans can't be exported.", {
      from: () => ({ "is-exportable": false }),
    }),
    "action-invocations": readOnly(wholeNumber(), "The number of actions that the plan invokes."),
    "backing-data-status": readOnly(
      text(),
      "Whether the log and the JSON output are `present`, `backing_data_soft_deleted` or `backing_data_permanently_deleted`.",
    ),
    "error-message": readOnly(text().nullable(), "Why it failed, if the log does not say."),
    "execution-details": readOnly(
      z.record(z.string(), z.unknown()),
      "The execution mode and, in mode `agent`, the agent and its pool.",
      { from: executionDetailsOf },
    ),
    "generated-configuration": readOnly(flag(), "Whether the plan generated configuration for imported resources."),
    "has-changes": readOnly(flag(), "Whether the plan has changes to apply."),
    "log-read-url": readOnly(text(), "The URL of the log. It needs no token."),
    permissions: readOnly(flags(["can-export"]), "The caller's permissions. Plans can't be exported.", {
      from: () => ({ "can-export": false }),
    }),
    "resource-additions": readOnly(wholeNumber(), "The number of resources to add."),
    "resource-changes": readOnly(wholeNumber(), "The number of resources to change."),
    "resource-destructions": readOnly(wholeNumber(), "The number of resources to destroy."),
    "resource-imports": readOnly(wholeNumber(), "The number of resources to import."),
    status: readOnly(text(), "The current status."),
    "status-timestamps": readOnly(z.record(z.string(), z.string()), "When it reached each status.", {
      from: ({ statusTimestamps }) => new JsonText(statusTimestamps),
    }),
  },
  relationships: {
    "state-versions": toMany("state-versions", "Always empty.", { ids: () => [] }),
    exports: toMany("plan-exports", "Always empty.", { ids: () => [] }),
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
  doc: "The apply of a run: what the engine changed.",
  id: (apply) => apply.id,
  // The log URL expires.
  isUncacheable: true,
  attributes: {
    "action-invocations": readOnly(wholeNumber(), "The number of actions that the apply invoked."),
    "backing-data-status": readOnly(
      text(),
      "Whether the log and the JSON output are `present`, `backing_data_soft_deleted` or `backing_data_permanently_deleted`.",
    ),
    "error-message": readOnly(text().nullable(), "Why it failed, if the log does not say."),
    "execution-details": readOnly(
      z.record(z.string(), z.unknown()),
      "The execution mode and, in mode `agent`, the agent and its pool.",
      { from: executionDetailsOf },
    ),
    "log-read-url": readOnly(text(), "The URL of the log. It needs no token."),
    "resource-additions": readOnly(wholeNumber(), "The number of resources added."),
    "resource-changes": readOnly(wholeNumber(), "The number of resources changed."),
    "resource-destructions": readOnly(wholeNumber(), "The number of resources destroyed."),
    "resource-imports": readOnly(wholeNumber(), "The number of resources imported."),
    status: readOnly(text(), "The current status."),
    "status-timestamps": readOnly(z.record(z.string(), z.string()), "When it reached each status.", {
      from: ({ statusTimestamps }) => new JsonText(statusTimestamps),
    }),
  },
  relationships: {
    "state-versions": toMany("state-versions", "The state versions that the apply created, newest first.", {
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
    /^\d{1,15}$/.test(text)
      ? Number(text)
      : new InvalidParameter("must be a whole number of bytes that is not negative"),
});

export const logs = defineResource<never>()(() => ({
  type: "logs",
  doc: "The log of a plan or apply. The first byte is STX (0x02); the last byte is ETX (0x03), which marks the end of the log.",
  id: () => "",
  attributes: {},
  relationships: {},
  operations: {
    readLog: {
      method: "GET",
      path: "/logs/:log_key",
      summary: "Read a part of a log; empty if there is nothing at this offset yet",
      needs:
        "the log-read-url of a plan or an apply; no token. The token that received the URL must still be able to read the run",
      isSigned: true,
      query: {
        parameters: {
          offset: bytes("The offset of the first byte. Defaults to 0."),
          limit: bytes("The maximum number of bytes. A response never has more than 262144."),
        },
      },
      answer: "content",
      mediaType: "text/plain; charset=utf-8",
    },
  },
}));
