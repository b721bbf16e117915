/** Rules that involve several attributes of an organization. */
import type { Actor } from "../../../access/actor.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, forbidden, relationshipFault } from "../../../kernel/errors.ts";
import { adminOrganizations } from "../admin-organizations/definition.ts";
import { organizations } from "./definition.ts";

export function newOrganization(
  attributes: CreateAttributes<typeof organizations>,
  identity: { id: string; defaultProjectId: string; createdAt: string },
): OrganizationTable {
  return {
    ...createdColumns(organizations, attributes),
    ...createdColumns(adminOrganizations, {}),
    ...identity,
    defaultAgentPoolId: null,
    projectCount: 1,
    enabledRuleCount: 0,
    operations: 0,
    closedAt: null,
    version: 1,
    factsVersion: 0,
    defaultsVersion: 0,
  };
}

/** Leaving agent mode clears the pool. Undefined if it doesn't change. */
export function defaultPoolAfter(mode: string | undefined, sent: string | null | undefined): string | null | undefined {
  return sent === undefined && mode !== undefined && mode !== "agent" ? null : sent;
}

/** A pool that the execution mode ignores would hide a mistake. */
export function unusedPoolFaults(mode: string, sent: string | null | undefined): Fault[] {
  if (mode === "agent" || !sent) return [];
  return [
    relationshipFault(
      "default-agent-pool",
      "Default agent pool must not be specified unless using 'agent' execution mode",
    ),
  ];
}

/** Disabling user tokens with a user token would lock the caller out. Throws `forbidden`. */
export function refuseLockingOut(actor: Actor, changes: Pick<Partial<OrganizationTable>, "userTokensEnabled">): void {
  if (actor.kind === "user" && changes.userTokensEnabled === 0)
    throw forbidden(
      "Disabling user tokens would disable the token you are using. Use an organization token, or a token of the owners team.",
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

export function unknownPool(): Fault {
  return relationshipFault("default-agent-pool", "Default agent pool does not exist in this organization");
}
