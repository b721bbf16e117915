/** Rules across an organization's fields. */
import type { Actor } from "../../../access/actor.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, forbidden, relationshipFault } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import { stored } from "../../shared/changes.ts";
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
  userTokensEnabled: 1,
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
    userTokensEnabled: stored(attributes.userTokensEnabled),
  } as Partial<OrganizationTable>;
}

/** The default agent pool after a change: it leaves with the agent mode. Undefined where it stays. */
export function poolAfter(mode: string | undefined, sent: string | null | undefined): string | null | undefined {
  return sent === undefined && mode !== undefined && mode !== "agent" ? null : sent;
}

/** A pool that is sent must be used: a default execution mode that ignores it would hide the mistake. */
export function unusedPoolFaults(mode: string, sent: string | null | undefined): Fault[] {
  if (mode === "agent" || !sent) return [];
  return [
    relationshipFault(
      "default-agent-pool",
      "Default agent pool must not be specified unless using 'agent' execution mode",
    ),
  ];
}

/** Whoever switches users' tokens off must hold a token that goes on working. Raises `forbidden`. */
export function refuseLockingOut(actor: Actor, changes: Pick<Partial<OrganizationTable>, "userTokensEnabled">): void {
  if (actor.kind === "user" && changes.userTokensEnabled === 0)
    throw forbidden(
      "Your own token would be refused from now on: switch users' tokens off with a token of the organization or of its owners team.",
    );
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
