/**
 * Why a caller, a person or a team may do something: each permission with the grants that gave it. The sum is made by the same
 * function that decides (`effective`), from the same grants, one by one instead of added up by the database.
 */
import { type Actor, isSiteAdmin } from "./actor.ts";
import { type Access, effective, type Grant } from "./effective.ts";
import {
  everywhereOf,
  open,
  organizationBit,
  type OrganizationPermission,
  organizationPermissionNames,
  type Standing,
  standingOf,
} from "./organization.ts";
import { holds, ladders, type Mask, type Permission, permissionNames, valueIn } from "./permission-set.ts";

export interface TeamName {
  readonly id: string;
  readonly name: string;
}

/** Where a grant comes from. */
export type Source =
  | { readonly kind: "site-admin" }
  | { readonly kind: "organization-token" }
  | { readonly kind: "ownership"; readonly team: TeamName }
  | { readonly kind: "organization-permission"; readonly team: TeamName; readonly permission: OrganizationPermission }
  | { readonly kind: "team-project"; readonly team: TeamName; readonly recordId: string; readonly level: string }
  | { readonly kind: "team-workspace"; readonly team: TeamName; readonly recordId: string; readonly level: string };

export interface SourcedGrant extends Grant<Source> {
  readonly source: Source;
}

/** A team with all that it holds on one thing; nulls where it has no record there. */
export interface TeamHolding {
  readonly teamId: string;
  readonly teamName: string;
  readonly isOwners: number;
  readonly organizationAccess: Mask;
  readonly projectRecordId: string | null;
  readonly projectLevel: string | null;
  readonly projectPermissions: Mask | null;
  readonly workspaceRecordId: string | null;
  readonly workspaceLevel: string | null;
  readonly workspacePermissions: Mask | null;
}

/** The organization-level permissions that give anything on projects or workspaces, as the database asks for them. */
export const organizationBitsOnThings: Mask = organizationPermissionNames
  .map(organizationBit)
  .reduce((mask, bit) => (everywhereOf(bit) === 0 ? mask : mask | bit), 0);

function organizationGrants(holding: TeamHolding, team: TeamName): SourcedGrant[] {
  const access = holding.organizationAccess;
  if (holding.isOwners === 1) return [{ mask: everywhereOf(access), source: { kind: "ownership", team } }];
  return organizationPermissionNames
    .filter((permission) => (access & organizationBit(permission)) !== 0)
    .map((permission) => ({
      mask: everywhereOf(organizationBit(permission)),
      source: { kind: "organization-permission", team, permission },
    }));
}

function recordGrants(holding: TeamHolding, team: TeamName): SourcedGrant[] {
  const record = (
    kind: "team-project" | "team-workspace",
    recordId: string | null,
    level: string | null,
    mask: Mask | null,
  ): SourcedGrant[] =>
    recordId === null || level === null || mask === null ? [] : [{ mask, source: { kind, team, recordId, level } }];
  return [
    ...record("team-project", holding.projectRecordId, holding.projectLevel, holding.projectPermissions),
    ...record("team-workspace", holding.workspaceRecordId, holding.workspaceLevel, holding.workspacePermissions),
  ];
}

/** Everything that a subject holds on a thing, grant by grant. */
export function grantsOf(subject: Actor, standing: Standing, holdings: readonly TeamHolding[]): SourcedGrant[] {
  const itself: SourcedGrant[] = [];
  if (isSiteAdmin(subject)) itself.push({ mask: standing.everywhere, source: { kind: "site-admin" } });
  if (subject.kind === "organization")
    itself.push({ mask: standing.everywhere, source: { kind: "organization-token" } });
  const names = holdings.map((holding) => ({ holding, team: { id: holding.teamId, name: holding.teamName } }));
  return [
    ...itself,
    ...names.flatMap(({ holding, team }) => organizationGrants(holding, team)),
    ...names.flatMap(({ holding, team }) => recordGrants(holding, team)),
  ];
}

/** What a subject is in an organization, from its teams one by one. */
export function standingFrom(
  subject: Actor,
  organizationId: string,
  isMember: number,
  holdings: readonly TeamHolding[],
): Standing {
  const teamAccess =
    holdings.length === 0 ? null : holdings.reduce((mask, holding) => mask | holding.organizationAccess, 0);
  return standingOf(subject, { organizationId, teamAccess, isMember, ...open });
}

export interface Explained {
  readonly value: string | boolean;
  /** The grants that reach the value; none where it is the lowest, which everybody has. */
  readonly givenBy: readonly Source[];
}

export interface Explanation {
  readonly access: Access;
  readonly permissions: Readonly<Record<Permission, Explained>>;
}

export function explain(grants: readonly SourcedGrant[]): Explanation {
  const access = effective(...grants);
  const entries = permissionNames.map((permission): [Permission, Explained] => {
    const value = valueIn(access.mask, permission);
    const givenBy = value === ladders[permission][0] ? [] : grants.filter(({ mask }) => holds(mask, permission, value));
    return [permission, { value, givenBy: givenBy.map(({ source }) => source) }];
  });
  return { access, permissions: Object.fromEntries(entries) as Explanation["permissions"] };
}
