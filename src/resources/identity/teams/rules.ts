/** Pure rules of teams. */
import {
  missingOrganizationPermissions,
  organizationMaskOf,
  ownersAccess,
  type OrganizationStanding,
} from "../../../access/organization.ts";
import type { OrganizationTable, TeamTable } from "../../../database/schema/identity.ts";
import { changedColumns, createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, forbidden } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { teams } from "./definition.ts";

const ownersTeamName = "owners";

export function newTeam(attributes: CreateAttributes<typeof teams>, organizationId: string): TeamTable {
  return {
    id: newId("teams"),
    organizationId,
    ...createdColumns(teams, attributes),
    isOwners: 0,
    organizationAccess: organizationMaskOf(attributes.organizationAccess ?? {}),
    usersCount: 0,
    createdAt: now(),
    version: 1,
  };
}

export function newOwnersTeam(organization: OrganizationTable, usersCount: number): TeamTable {
  return {
    ...newTeam({ name: ownersTeamName, visibility: "organization" }, organization.id),
    isOwners: 1,
    organizationAccess: ownersAccess,
    usersCount,
    createdAt: organization.createdAt,
  };
}

export function teamChangesOf(attributes: UpdateAttributes<typeof teams>, team: TeamTable): Partial<TeamTable> {
  const { organizationAccess = {} } = attributes;
  return {
    ...changedColumns(teams, attributes),
    organizationAccess: organizationMaskOf(organizationAccess, team.organizationAccess),
  };
}

export function nameTaken(): Fault {
  return attributeFault("name", "Name has already been taken");
}

export function ownersFaults(team: TeamTable, changes: Partial<TeamTable>): Fault[] {
  if (team.isOwners !== 1) return [];
  const faults: Fault[] = [];
  if (changes.name !== undefined) faults.push(attributeFault("name", "Name of the owners team can't be changed"));
  if (changes.organizationAccess !== undefined)
    faults.push(
      attributeFault(
        "organization-access",
        "Organization access of the owners team can't be changed: owners have every permission",
      ),
    );
  return faults;
}

export function refuseGrantingMore(standing: OrganizationStanding, before: number, after: number): void {
  const missing = missingOrganizationPermissions(standing, after & ~before);
  if (missing.length > 0)
    throw forbidden(`You can't grant permissions that you don't have: ${missing.join(", ")}. Ask an owner.`);
}

/** `permanentStanding` is the caller's access without grants that expire. Throws `forbidden`. */
export function refuseGrantingLonger(permanentStanding: OrganizationStanding, before: number, after: number): void {
  const missing = missingOrganizationPermissions(permanentStanding, after & ~before);
  if (missing.length > 0)
    throw forbidden(
      `You have these permissions only for a limited time, so you can't grant them permanently: ${missing.join(", ")}. Ask an owner whose own access has no expiry.`,
    );
}

const namesMax = 5;

export function listNames(names: readonly string[]): string {
  const sorted = names.toSorted();
  if (sorted.length > namesMax) return `${sorted.slice(0, namesMax).join(", ")} and ${sorted.length - namesMax} more`;
  return sorted.join(", ");
}
