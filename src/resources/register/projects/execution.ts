/** The default execution mode and agent pool of a project's workspaces. */
import type { ProjectTable } from "../../../database/schema/projects.ts";
import type { Fault } from "../../../kernel/errors.ts";
import {
  agentPoolFaults,
  executionAfter,
  executionFaults,
  type ExecutionInput,
  type ExecutionSettingNames,
} from "../execution.ts";

const names: ExecutionSettingNames = { mode: "default-execution-mode", pool: "default-agent-pool" };

export interface ProjectDefaultsInput {
  readonly defaultExecutionMode?: string | undefined;
  readonly defaultAgentPoolId?: string | null | undefined;
  readonly settingOverwrites?: ExecutionInput["settingOverwrites"];
}

export type ProjectDefaultsColumns = Pick<ProjectTable, "defaultExecutionMode" | "defaultAgentPoolId">;

export const inheritedDefaults: ProjectDefaultsColumns = { defaultExecutionMode: null, defaultAgentPoolId: null };

const toExecutionInput = ({
  defaultExecutionMode,
  defaultAgentPoolId,
  settingOverwrites,
}: ProjectDefaultsInput): ExecutionInput => ({
  executionMode: defaultExecutionMode,
  agentPoolId: defaultAgentPoolId,
  settingOverwrites,
});

export function defaultsFaults(input: ProjectDefaultsInput): Fault[] {
  return executionFaults(toExecutionInput(input), names);
}

export function defaultsAfter(before: ProjectDefaultsColumns, input: ProjectDefaultsInput): ProjectDefaultsColumns {
  const overwrites = Number(before.defaultExecutionMode !== null);
  const { executionMode, agentPoolId } = executionAfter(
    {
      executionMode: before.defaultExecutionMode,
      agentPoolId: before.defaultAgentPoolId,
      overwritesExecutionMode: overwrites,
      overwritesAgentPool: overwrites,
    },
    toExecutionInput(input),
    names,
  );
  return { defaultExecutionMode: executionMode, defaultAgentPoolId: agentPoolId };
}

export function defaultPoolFaults({ defaultExecutionMode, defaultAgentPoolId }: ProjectDefaultsColumns): Fault[] {
  return agentPoolFaults({ executionMode: defaultExecutionMode, agentPoolId: defaultAgentPoolId }, names);
}

export interface OrganizationDefaults {
  readonly organizationExecutionMode: string;
  readonly organizationAgentPoolId: string | null;
  readonly organizationDefaultsVersion: number;
}

export function defaultModeOf(project: ProjectDefaultsColumns & OrganizationDefaults): string {
  return project.defaultExecutionMode ?? project.organizationExecutionMode;
}

/** The pool comes from the same level (project or organization) as the mode. */
export function defaultPoolOf(project: ProjectDefaultsColumns & OrganizationDefaults): string | null {
  if (defaultModeOf(project) !== "agent") return null;
  return project.defaultExecutionMode === null ? project.organizationAgentPoolId : project.defaultAgentPoolId;
}
