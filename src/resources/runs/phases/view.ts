/** What is loaded of a plan or an apply, and what both documents say. */
import type { WorkspaceFacts } from "../../../access/permissions/workspace.ts";
import type { RunPhaseTable } from "../../../database/schema/runs.ts";

export type PhaseKind = "plan" | "apply";

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

/** While nobody has deleted its log and what the engine said in JSON. */
export const dataPresent = "present";

/** Log readers, and everybody else, stop at these. */
export const finalPhaseStatuses = ["finished", "errored", "canceled", "unreachable"] as const;
export const isFinalPhase = (status: string): boolean => (finalPhaseStatuses as readonly string[]).includes(status);

/** Who executed it, or will. */
export function executionDetailsOf(phase: PhaseView): Record<string, unknown> {
  if (phase.executionMode !== "agent") return { mode: "remote" };
  return {
    mode: "agent",
    "agent-id": phase.agentId,
    "agent-name": phase.agentName,
    "agent-pool-id": phase.agentPoolId,
    "agent-pool-name": phase.agentPoolName,
  };
}
