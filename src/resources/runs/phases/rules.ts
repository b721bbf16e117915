/** Pure rules for plans and applies (phases): new rows, and the column changes of each status. */
import type { RunPhaseTable, RunTable } from "../../../database/schema/runs.ts";

export type PhaseKind = "plan" | "apply";
export type PhaseStatus = "pending" | "queued" | "running" | "finished" | "errored" | "canceled" | "unreachable";

export const dataPresent = "present";

const finalPhaseStatuses = ["finished", "errored", "canceled", "unreachable"] as const;
export const isFinalPhase = (status: string): boolean => (finalPhaseStatuses as readonly string[]).includes(status);

export const sitePool = "site";

const initialColumns = {
  hasChanges: 0,
  generatedConfiguration: 0,
  logContentId: null,
  logUnmoved: 0,
  resourceAdditions: 0,
  resourceChanges: 0,
  resourceDestructions: 0,
  resourceImports: 0,
  actionInvocations: 0,
  backingDataStatus: dataPresent,
  errorMessage: null,
  logBytes: 0,
  logEnded: 0,
  queuedMs: null,
  attempt: 0,
  agentId: null,
  agentName: null,
  agentPoolName: null,
  claimedMs: null,
  heardMs: null,
  engineStarted: 0,
  signal: null,
  tokenHash: null,
  version: 1,
} as const;

const rankOf = (kind: PhaseKind, run: Pick<RunTable, "planOnly">): number =>
  kind === "apply" ? 0 : run.planOnly === 1 ? 2 : 1;

export function newPhase(kind: PhaseKind, run: RunTable): RunPhaseTable {
  return {
    ...initialColumns,
    id: kind === "plan" ? run.planId : run.applyId,
    organizationId: run.organizationId,
    workspaceId: run.workspaceId,
    runId: run.id,
    kind,
    status: "pending",
    statusTimestamps: JSON.stringify({ "pending-at": run.createdAt }),
    pool: run.executionMode === "agent" ? (run.agentPoolId ?? sitePool) : sitePool,
    engine: run.engine,
    engineVersion: run.engineVersion,
    rank: rankOf(kind, run),
    createdAt: run.createdAt,
  };
}

const stamps: Partial<Record<PhaseStatus, string>> = {
  queued: "queued-at",
  running: "started-at",
  finished: "finished-at",
  errored: "errored-at",
  canceled: "canceled-at",
};

/** The writing statement sets `queuedMs`, by the database's clock. */
export function columnsForPhaseStatus(
  before: Pick<RunPhaseTable, "statusTimestamps">,
  status: PhaseStatus,
  { at, forced }: { readonly at: string; readonly forced: boolean },
): Partial<RunPhaseTable> {
  const stamp = stamps[status];
  const timestamps = {
    ...(JSON.parse(before.statusTimestamps) as object),
    ...(stamp !== undefined && { [stamp]: at }),
    ...(forced && status === "canceled" && { "force-canceled-at": at }),
  };
  const isOver = isFinalPhase(status);
  return {
    status,
    statusTimestamps: JSON.stringify(timestamps),
    ...(status === "queued" ? unclaimed : { queuedMs: null }),
    ...(isOver && { tokenHash: null }),
  };
}

const unclaimed = { agentId: null, agentName: null, claimedMs: null, heardMs: null, signal: null, tokenHash: null };
