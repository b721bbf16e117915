/**
 * Where a workspace runs: its own mode and pool, or the defaults of its project or organization. A project's defaults are
 * the same two settings under other names, and keep to the same rules. See
 * docs/decisions/0019-execution-mode-is-resolved-when-read.md.
 */
import type { WorkspaceTable } from "../../database/schema/workspaces.ts";
import { attributeFault, type Fault } from "../../kernel/errors.ts";
import { human } from "../../kernel/names.ts";

export interface ExecutionInput {
  readonly executionMode?: string | undefined;
  readonly operations?: boolean | undefined;
  readonly agentPoolId?: string | null | undefined;
  readonly settingOverwrites?: Readonly<Partial<Record<string, boolean>>> | undefined;
}

export type ExecutionColumns = Pick<
  WorkspaceTable,
  "executionMode" | "agentPoolId" | "overwritesExecutionMode" | "overwritesAgentPool"
>;

/** What the two settings are called in bodies, and in setting-overwrites. */
export interface ExecutionNames {
  readonly mode: string;
  readonly pool: string;
}

const workspaceExecution: ExecutionNames = { mode: "execution-mode", pool: "agent-pool" };

/** A workspace that follows the defaults in everything. */
export const followingDefaults: ExecutionColumns = {
  executionMode: null,
  agentPoolId: null,
  overwritesExecutionMode: 0,
  overwritesAgentPool: 0,
};

/** What the body alone shows to be wrong. */
export function executionFaults(input: ExecutionInput, names = workspaceExecution): Fault[] {
  const { executionMode, operations, agentPoolId, settingOverwrites = {} } = input;
  const overwritesMode = settingOverwrites[names.mode];
  const overwritesPool = settingOverwrites[names.pool];
  const follows = (overwritesMode ?? overwritesPool) === false;
  // What is sent beside its own overwrite that is false is ignored: clients send the value in force with it.
  const lost = overwritesMode === undefined && overwritesPool === false;
  const modeSent = executionMode !== undefined || operations !== undefined;
  const modeFault = (detail: string) => attributeFault(names.mode, `${human(names.mode)} ${detail}`);
  const faults: Fault[] = [];
  if (executionMode !== undefined && operations !== undefined)
    faults.push(
      attributeFault(
        "operations",
        "Operations must not be sent together with execution-mode; send execution-mode alone",
      ),
    );
  if (overwritesMode === true && !modeSent)
    faults.push(modeFault(`must be sent when setting-overwrites.${names.mode} is true`));
  if (lost && modeSent)
    faults.push(modeFault(`must not be sent when setting-overwrites.${names.pool} is false: that follows the default`));
  if (overwritesMode !== undefined && overwritesPool !== undefined && overwritesMode !== overwritesPool)
    faults.push(
      attributeFault(
        "setting-overwrites",
        "If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.",
      ),
    );
  const elsewhere = (executionMode !== undefined && executionMode !== "agent") || operations === true;
  if (!follows && elsewhere && agentPoolId) faults.push(poolWithoutAgentMode(names));
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
export function applyExecution(
  before: ExecutionColumns,
  input: ExecutionInput,
  names = workspaceExecution,
): ExecutionColumns {
  const sentMode =
    input.executionMode ?? (input.operations === undefined ? undefined : input.operations ? "remote" : "local");
  const overwrites = input.settingOverwrites?.[names.mode] ?? input.settingOverwrites?.[names.pool];
  if (overwrites === false) return followingDefaults;
  if (sentMode === undefined && input.agentPoolId === undefined) return executionOf(before);
  const executionMode = sentMode ?? before.executionMode;
  const agentPoolId =
    input.agentPoolId === undefined ? (executionMode === "agent" ? before.agentPoolId : null) : input.agentPoolId;
  const own = Number(executionMode !== null);
  return { executionMode, agentPoolId, overwritesExecutionMode: own, overwritesAgentPool: own };
}

/** Agent mode needs a pool, and no other mode may have one. */
export function agentPoolFaults(
  after: Pick<ExecutionColumns, "executionMode" | "agentPoolId">,
  names = workspaceExecution,
): Fault[] {
  if (after.agentPoolId !== null && after.executionMode !== "agent") return [poolWithoutAgentMode(names)];
  if (after.agentPoolId === null && after.executionMode === "agent")
    return [
      attributeFault(`${names.pool}-id`, `${human(names.pool)} must be specified when using 'agent' execution mode`),
    ];
  return [];
}

function poolWithoutAgentMode({ pool }: ExecutionNames): Fault {
  return attributeFault(`${pool}-id`, `${human(pool)} must not be specified unless using 'agent' execution mode`);
}
