/** Pure rules of projects. */
import type { ProjectTable } from "../../../database/schema/projects.ts";
import type { UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type AppError, conflict, type Fault } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { projects } from "./definition.ts";
import { applyDefaults, followingOrganization, type DefaultsColumns, type OrganizationDefaults } from "./execution.ts";

export const defaultProjectName = "Default Project";

export function newProject(
  facts: Pick<ProjectTable, "id" | "organizationId" | "name" | "createdAt"> & Partial<ProjectTable>,
): ProjectTable {
  return {
    description: null,
    autoDestroyActivityDuration: null,
    isDefault: 0,
    workspaceCount: 0,
    teamCount: 0,
    ...followingOrganization,
    ...facts,
    nameKey: fold(facts.name),
    version: 1,
  };
}

/** Attributes as the table stores them; absent stays absent. */
export function toColumns(
  attributes: UpdateAttributes<typeof projects>,
  before: DefaultsColumns = followingOrganization,
): Partial<ProjectTable> {
  const { settingOverwrites: _, ...plain } = attributes;
  return {
    ...plain,
    ...(plain.name !== undefined && { nameKey: fold(plain.name) }),
    ...applyDefaults(before, attributes),
  };
}

/** What the organization gives to projects that follow it. */
export function defaultsOf(organization: OrganizationView): OrganizationDefaults {
  return {
    organizationExecutionMode: organization.defaultExecutionMode,
    organizationAgentPoolId: organization.defaultAgentPoolId,
  };
}

export function poolUnknown(): Fault {
  return attributeFault("default-agent-pool-id", "Default agent pool does not exist in this organization");
}

export function nameTaken(): Fault {
  return attributeFault("name", "Name has already been taken");
}

/** Why a project can't be deleted, if it can't. */
export function deletionObstacle(project: Pick<ProjectTable, "isDefault" | "workspaceCount">): AppError | undefined {
  if (project.isDefault === 1)
    return conflict("The default project can't be deleted: workspaces that name no project go there.");
  if (project.workspaceCount === 0) return undefined;
  return conflict(
    `The project holds ${project.workspaceCount} workspaces. Move or delete them first, then delete the project.`,
  );
}
