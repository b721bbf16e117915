/** Pure rules of projects. */
import type { ProjectTable } from "../../../database/schema/projects.ts";
import { changedColumns, createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type AppError, conflict, type Fault } from "../../../kernel/errors.ts";
import { counted } from "../../../kernel/text.ts";
import { factsOf, type OrganizationFacts, type OrganizationView } from "../../identity/organizations/definition.ts";
import { projects } from "./definition.ts";
import { defaultsAfter, inheritedDefaults, type OrganizationDefaults } from "./execution.ts";

export const defaultProjectName = "Default Project";

type ProjectIdentity = Pick<ProjectTable, "id" | "organizationId" | "createdAt"> &
  Partial<Pick<ProjectTable, "isDefault">>;

export function newProject(attributes: CreateAttributes<typeof projects>, identity: ProjectIdentity): ProjectTable {
  return {
    ...createdColumns(projects, attributes),
    ...defaultsAfter(inheritedDefaults, attributes),
    isDefault: 0,
    workspaceCount: 0,
    teamCount: 0,
    ...identity,
    version: 1,
    defaultsVersion: 0,
  };
}

export function changedProject(
  attributes: UpdateAttributes<typeof projects>,
  before: ProjectTable,
): Partial<ProjectTable> {
  return { ...changedColumns(projects, attributes), ...defaultsAfter(before, attributes) };
}

export function organizationColumnsOf(organization: OrganizationView): OrganizationDefaults & OrganizationFacts {
  return {
    ...factsOf(organization),
    organizationExecutionMode: organization.defaultExecutionMode,
    organizationAgentPoolId: organization.defaultAgentPoolId,
    organizationDefaultsVersion: organization.defaultsVersion,
  };
}

export function unknownPoolFault(): Fault {
  return attributeFault("default-agent-pool-id", "Default agent pool does not exist in this organization");
}

export function poolScopeFault(): Fault {
  return attributeFault(
    "default-agent-pool-id",
    "Default agent pool does not serve this project; add the project to the pool's scope, or use another pool",
  );
}

export function nameTakenFault(): Fault {
  return attributeFault("name", "Name has already been taken");
}

export function deletionObstacle(project: Pick<ProjectTable, "isDefault" | "workspaceCount">): AppError | undefined {
  if (project.isDefault === 1)
    return conflict("The default project can't be deleted. New workspaces are created in it if they name no project.");
  if (project.workspaceCount === 0) return undefined;
  return conflict(
    `The project has ${counted(project.workspaceCount, "workspace")}. Move or delete them before you delete the project.`,
  );
}
