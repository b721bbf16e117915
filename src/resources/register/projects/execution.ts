/** Where a project's workspaces run unless they say otherwise: the project's own mode and pool, or the organization's. */
import type { ProjectTable } from "../../../database/schema/projects.ts";
import type { Fault } from "../../../kernel/errors.ts";
import {
  agentPoolFaults,
  applyExecution,
  executionFaults,
  type ExecutionInput,
  type ExecutionNames,
} from "../execution.ts";

/** The settings of a workspace, under the names that they have as a project's defaults. */
const names: ExecutionNames = { mode: "default-execution-mode", pool: "default-agent-pool" };

export interface DefaultsInput {
  readonly defaultExecutionMode?: string | undefined;
  readonly defaultAgentPoolId?: string | null | undefined;
  readonly settingOverwrites?: ExecutionInput["settingOverwrites"];
}

export type DefaultsColumns = Pick<ProjectTable, "defaultExecutionMode" | "defaultAgentPoolId">;

/** A project that follows the organization. */
export const followingOrganization: DefaultsColumns = { defaultExecutionMode: null, defaultAgentPoolId: null };

const asExecution = ({
  defaultExecutionMode,
  defaultAgentPoolId,
  settingOverwrites,
}: DefaultsInput): ExecutionInput => ({
  executionMode: defaultExecutionMode,
  agentPoolId: defaultAgentPoolId,
  settingOverwrites,
});

/** What the body alone shows to be wrong. */
export function defaultsFaults(input: DefaultsInput): Fault[] {
  return executionFaults(asExecution(input), names);
}

/** The columns after the change; absent keys keep what was before. */
export function applyDefaults(before: DefaultsColumns, input: DefaultsInput): DefaultsColumns {
  const overwrites = Number(before.defaultExecutionMode !== null);
  const { executionMode, agentPoolId } = applyExecution(
    {
      executionMode: before.defaultExecutionMode,
      agentPoolId: before.defaultAgentPoolId,
      overwritesExecutionMode: overwrites,
      overwritesAgentPool: overwrites,
    },
    asExecution(input),
    names,
  );
  return { defaultExecutionMode: executionMode, defaultAgentPoolId: agentPoolId };
}

/** Agent mode needs a pool, and no other mode may have one. */
export function defaultPoolFaults({ defaultExecutionMode, defaultAgentPoolId }: DefaultsColumns): Fault[] {
  return agentPoolFaults({ executionMode: defaultExecutionMode, agentPoolId: defaultAgentPoolId }, names);
}

export interface OrganizationDefaults {
  readonly organizationExecutionMode: string;
  readonly organizationAgentPoolId: string | null;
  /** Their version. */
  readonly organizationDefaults: number;
}

/** The mode in force: the project's own, or the organization's as it is now. */
export function defaultModeOf(project: DefaultsColumns & OrganizationDefaults): string {
  return project.defaultExecutionMode ?? project.organizationExecutionMode;
}

/** The pool in force, from where the mode comes from; only agent mode has one. */
export function defaultPoolOf(project: DefaultsColumns & OrganizationDefaults): string | null {
  if (defaultModeOf(project) !== "agent") return null;
  return project.defaultExecutionMode === null ? project.organizationAgentPoolId : project.defaultAgentPoolId;
}
