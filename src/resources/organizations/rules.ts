/** Rules across an organization's fields. */
import type { OrganizationTable } from "../../database/schema/identity.ts";
import type { CreateAttributes, UpdateAttributes } from "../../jsonapi/define.ts";
import { attributeFault, type Fault, relationshipFault } from "../../kernel/errors.ts";
import { fold } from "../../kernel/text.ts";
import { stored } from "../shared/changes.ts";
import type { organizations } from "./definition.ts";

type Created = CreateAttributes<typeof organizations>;
type Changed = UpdateAttributes<typeof organizations>;

/** What a creation stores for what was not sent. */
const initially = {
  defaultExecutionMode: "remote",
  allowForceDeleteWorkspaces: 0,
  assessmentsEnforced: 0,
  collaboratorAuthPolicy: "password",
  costEstimationEnabled: 0,
  sessionRemember: null,
  sessionTimeout: null,
  ownersTeamSamlRoleId: null,
  sendPassingStatusesForUntriggeredSpeculativePlans: 0,
  aggregatedCommitStatusEnabled: 1,
  speculativePlanManagementEnabled: 1,
} as const;

export function newOrganization(
  attributes: Created,
  identity: { id: string; defaultProjectId: string; createdAt: string },
): OrganizationTable {
  const sent = Object.fromEntries(Object.entries(toColumns(attributes)).filter(([, value]) => value !== undefined));
  return {
    ...initially,
    ...(sent as Partial<OrganizationTable> & { name: string; nameKey: string; email: string }),
    ...identity,
    defaultAgentPoolId: null,
    projectCount: 1,
    version: 1,
  };
}

/** Attributes as the table stores them; absent stays absent. */
export function toColumns(attributes: Changed): Partial<OrganizationTable> {
  return {
    ...attributes,
    ...(attributes.name !== undefined && { nameKey: fold(attributes.name) }),
    allowForceDeleteWorkspaces: stored(attributes.allowForceDeleteWorkspaces),
    assessmentsEnforced: stored(attributes.assessmentsEnforced),
    costEstimationEnabled: stored(attributes.costEstimationEnabled),
    sendPassingStatusesForUntriggeredSpeculativePlans: stored(
      attributes.sendPassingStatusesForUntriggeredSpeculativePlans,
    ),
    aggregatedCommitStatusEnabled: stored(attributes.aggregatedCommitStatusEnabled),
    speculativePlanManagementEnabled: stored(attributes.speculativePlanManagementEnabled),
  } as Partial<OrganizationTable>;
}

export function executionModeFaults(
  organization: Pick<OrganizationTable, "defaultExecutionMode" | "defaultAgentPoolId">,
): Fault[] {
  if (organization.defaultExecutionMode !== "agent" || organization.defaultAgentPoolId !== null) return [];
  return [
    attributeFault(
      "default-execution-mode",
      "Default agent pool must be specified when the default execution mode is 'agent'",
    ),
  ];
}

export function nameTaken(): Fault {
  return attributeFault("name", "Name has already been taken");
}

export function poolUnknown(): Fault {
  return relationshipFault("default-agent-pool", "Default agent pool does not exist in this organization");
}
