/** Rules across an organization's fields. */
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
    operations: 0,
    version: 1,
    factsVersion: 0,
    defaultsVersion: 0,
  };
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
