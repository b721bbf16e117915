/** Execution settings of workspaces and the defaults of projects. See docs/decisions/0019-inherited-settings-are-resolved-on-read.md. */
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

export interface ExecutionSettingNames {
  readonly mode: string;
  readonly pool: string;
}

const workspaceExecution: ExecutionSettingNames = { mode: "execution-mode", pool: "agent-pool" };

export const inheritedExecution: ExecutionColumns = {
  executionMode: null,
  agentPoolId: null,
  overwritesExecutionMode: 0,
  overwritesAgentPool: 0,
};

export function executionFaults(input: ExecutionInput, names = workspaceExecution): Fault[] {
  const { executionMode, operations, agentPoolId, settingOverwrites = {} } = input;
  const overwritesMode = settingOverwrites[names.mode];
  const overwritesPool = settingOverwrites[names.pool];
  const usesDefaults = (overwritesMode ?? overwritesPool) === false;
  // A mode with its own overwrite set to false is no fault: clients send the effective value with it.
  const usesDefaultPool = overwritesMode === undefined && overwritesPool === false;
  const modeSent = executionMode !== undefined || operations !== undefined;
  const modeFault = (detail: string) => attributeFault(names.mode, `${human(names.mode)} ${detail}`);
  const faults: Fault[] = [];
  if (executionMode !== undefined && operations !== undefined)
    faults.push(
      attributeFault("operations", "Operations can't be sent together with execution-mode; send only execution-mode"),
    );
  if (overwritesMode === true && !modeSent)
    faults.push(modeFault(`must be sent when setting-overwrites.${names.mode} is true`));
  if (usesDefaultPool && modeSent)
    faults.push(
      modeFault(`can't be sent when setting-overwrites.${names.pool} is false, because then the default applies`),
    );
  if (overwritesMode !== undefined && overwritesPool !== undefined && overwritesMode !== overwritesPool)
    faults.push(
      attributeFault(
        "setting-overwrites",
        "If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.",
      ),
    );
  const isOtherMode = (executionMode !== undefined && executionMode !== "agent") || operations === true;
  if (!usesDefaults && isOtherMode && agentPoolId) faults.push(poolWithoutAgentModeFault(names));
  return faults;
}

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

export function executionAfter(
  before: ExecutionColumns,
  input: ExecutionInput,
  names = workspaceExecution,
): ExecutionColumns {
  const sentMode =
    input.executionMode ?? (input.operations === undefined ? undefined : input.operations ? "remote" : "local");
  const overwrites = input.settingOverwrites?.[names.mode] ?? input.settingOverwrites?.[names.pool];
  if (overwrites === false) return inheritedExecution;
  if (sentMode === undefined && input.agentPoolId === undefined) return executionOf(before);
  const executionMode = sentMode ?? before.executionMode;
  const agentPoolId =
    input.agentPoolId === undefined ? (executionMode === "agent" ? before.agentPoolId : null) : input.agentPoolId;
  const hasOwnMode = Number(executionMode !== null);
  return { executionMode, agentPoolId, overwritesExecutionMode: hasOwnMode, overwritesAgentPool: hasOwnMode };
}

export function agentPoolFaults(
  after: Pick<ExecutionColumns, "executionMode" | "agentPoolId">,
  names = workspaceExecution,
): Fault[] {
  if (after.agentPoolId !== null && after.executionMode !== "agent") return [poolWithoutAgentModeFault(names)];
  if (after.agentPoolId === null && after.executionMode === "agent")
    return [
      attributeFault(`${names.pool}-id`, `${human(names.pool)} must be specified when using 'agent' execution mode`),
    ];
  return [];
}

function poolWithoutAgentModeFault({ pool }: ExecutionSettingNames): Fault {
  return attributeFault(`${pool}-id`, `${human(pool)} must not be specified unless using 'agent' execution mode`);
}
