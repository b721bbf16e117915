/** Where a workspace runs: its own mode and pool, or the organization's defaults. See docs/decisions (execution mode). */
import type { WorkspaceTable } from "../../database/schema/workspaces.ts";
import { attributeFault, type Fault } from "../../kernel/errors.ts";

export interface ExecutionInput {
  readonly executionMode?: string | undefined;
  readonly operations?: boolean | undefined;
  readonly agentPoolId?: string | null | undefined;
  readonly settingOverwrites?: { readonly "execution-mode"?: boolean; readonly "agent-pool"?: boolean } | undefined;
}

export type ExecutionColumns = Pick<
  WorkspaceTable,
  "executionMode" | "agentPoolId" | "overwritesExecutionMode" | "overwritesAgentPool"
>;

/** A workspace that follows the organization in everything. */
export const followingDefaults: ExecutionColumns = {
  executionMode: null,
  agentPoolId: null,
  overwritesExecutionMode: 0,
  overwritesAgentPool: 0,
};

/** What the body alone shows to be wrong. */
export function executionFaults(input: ExecutionInput): Fault[] {
  const { executionMode, operations, agentPoolId, settingOverwrites = {} } = input;
  const overwritesMode = settingOverwrites["execution-mode"];
  const overwritesPool = settingOverwrites["agent-pool"];
  const follows = (overwritesMode ?? overwritesPool) === false;
  const faults: Fault[] = [];
  if (executionMode !== undefined && operations !== undefined)
    faults.push(
      attributeFault(
        "operations",
        "Operations must not be sent together with execution-mode; send execution-mode alone",
      ),
    );
  if (overwritesMode === true && executionMode === undefined && operations === undefined)
    faults.push(
      attributeFault("execution-mode", "Execution mode must be sent when setting-overwrites.execution-mode is true"),
    );
  if (follows && (executionMode !== undefined || operations !== undefined))
    faults.push(
      attributeFault(
        "execution-mode",
        "Execution mode must not be sent when setting-overwrites is false: that follows the organization's default",
      ),
    );
  if (overwritesMode !== undefined && overwritesPool !== undefined && overwritesMode !== overwritesPool)
    faults.push(
      attributeFault(
        "setting-overwrites",
        "If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.",
      ),
    );
  // A follower's pool is the organization's; one that is sent beside it must not get lost in silence.
  const elsewhere = (executionMode !== undefined && executionMode !== "agent") || operations === true;
  if ((follows || elsewhere) && agentPoolId) faults.push(poolWithoutAgentMode());
  return faults;
}

/** These columns of a row, and no others. */
const executionOf = ({
  executionMode,
  agentPoolId,
  overwritesExecutionMode,
  overwritesAgentPool,
}: ExecutionColumns) => ({
  executionMode,
  agentPoolId,
  overwritesExecutionMode,
  overwritesAgentPool,
});

/** The columns after the change; absent keys keep what was before. */
export function applyExecution(before: ExecutionColumns, input: ExecutionInput): ExecutionColumns {
  const sentMode =
    input.executionMode ?? (input.operations === undefined ? undefined : input.operations ? "remote" : "local");
  const overwrites = input.settingOverwrites?.["execution-mode"] ?? input.settingOverwrites?.["agent-pool"];
  if (overwrites === false) return followingDefaults;
  if (sentMode === undefined && input.agentPoolId === undefined) return executionOf(before);
  const executionMode = sentMode ?? before.executionMode;
  const agentPoolId =
    input.agentPoolId === undefined ? (executionMode === "agent" ? before.agentPoolId : null) : input.agentPoolId;
  const own = Number(executionMode !== null);
  return { executionMode, agentPoolId, overwritesExecutionMode: own, overwritesAgentPool: own };
}

/** Agent mode needs a pool, and no other mode may have one. */
export function agentPoolFaults(after: ExecutionColumns): Fault[] {
  if (after.agentPoolId !== null && after.executionMode !== "agent") return [poolWithoutAgentMode()];
  if (after.agentPoolId === null && after.executionMode === "agent")
    return [attributeFault("agent-pool-id", "Agent pool must be specified when using 'agent' execution mode")];
  return [];
}

function poolWithoutAgentMode(): Fault {
  return attributeFault("agent-pool-id", "Agent pool must not be specified unless using 'agent' execution mode");
}
