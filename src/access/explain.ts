/**
 * Explains access: each permission of a caller, user or team with the grants that give it. It sums the same grants as a decision,
 * with the same function (`effectiveAccess`), but one by one instead of in the database.
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

export interface Lasting {
  /** Null: it never expires. */
  readonly until: string | null;
  readonly reason: string | null;
}

/** Through a team: until the membership or the record expires, whichever comes first. */
interface ByTeam extends Lasting {
  readonly team: TeamName;
  /** The identity provider's group that put the user in the team. */
  readonly membership?: string;
}

export type Source =
  | { readonly kind: "site-admin" }
  | { readonly kind: "organization-token" }
  | ({ readonly kind: "ownership" } & ByTeam)
  | ({ readonly kind: "organization-permission"; readonly permission: OrganizationPermission } & ByTeam)
  | ({ readonly kind: "team-project" | "team-workspace"; readonly recordId: string; readonly level: string } & ByTeam);

export interface SourcedGrant extends Grant<Source> {
  readonly source: Source;
}

/** A team with its access to one project or workspace; nulls where it has no record there. */
export interface TeamHolding {
  readonly teamId: string;
  readonly teamName: string;
  readonly isOwners: number;
  readonly organizationAccess: Mask;
  /** Of the subject's membership in the team; null if the subject is the team itself. */
  readonly placeUntil?: string | null;
  readonly placeReason?: string | null;
  readonly placeGroup?: string | null;
  readonly projectRecordId: string | null;
  readonly projectLevel: string | null;
  readonly projectPermissions: Mask | null;
  readonly projectUntil: string | null;
  readonly projectReason: string | null;
  readonly workspaceRecordId: string | null;
  readonly workspaceLevel: string | null;
  readonly workspacePermissions: Mask | null;
  readonly workspaceUntil: string | null;
  readonly workspaceReason: string | null;
}

/** The bits of the organization-level permissions that give any access to projects or workspaces. */
export const organizationBitsOnThings: Mask = organizationPermissionNames
  .map(organizationBit)
  .reduce((mask, bit) => (everywhereOf(bit) === 0 ? mask : mask | bit), 0);

/** The earliest expiry with its reason; without any expiry, the last reason that was given. */
function earliestExpiry(...parts: readonly Lasting[]): Lasting {
  const ends = parts.flatMap(({ until }) => until ?? []).toSorted();
  const first = parts.find(({ until }) => until !== null && until === ends[0]);
  return first ?? { until: null, reason: parts.findLast(({ reason }) => reason !== null)?.reason ?? null };
}

const membershipOf = ({ placeUntil = null, placeReason = null }: TeamHolding): Lasting => ({
  until: placeUntil,
  reason: placeReason,
});

const membershipBy = ({ placeGroup }: TeamHolding): { membership?: string } =>
  placeGroup == null ? {} : { membership: placeGroup };

function organizationGrants(holding: TeamHolding, name: TeamName): SourcedGrant[] {
  const access = holding.organizationAccess;
  const team = { team: name, ...membershipOf(holding), ...membershipBy(holding) };
  if (holding.isOwners === 1) return [{ mask: everywhereOf(access), source: { kind: "ownership", ...team } }];
  return organizationPermissionNames
    .filter((permission) => (access & organizationBit(permission)) !== 0)
    .map((permission) => ({
      mask: everywhereOf(organizationBit(permission)),
      source: { kind: "organization-permission", ...team, permission },
    }));
}

function recordGrants(holding: TeamHolding, team: TeamName): SourcedGrant[] {
  const record = (
    kind: "team-project" | "team-workspace",
    recordId: string | null,
    level: string | null,
    mask: Mask | null,
    lasting: Lasting,
  ): SourcedGrant[] =>
    recordId === null || level === null || mask === null
      ? []
      : [
          {
            mask,
            source: {
              kind,
              team,
              recordId,
              level,
              ...earliestExpiry(membershipOf(holding), lasting),
              ...membershipBy(holding),
            },
          },
        ];
  return [
    ...record("team-project", holding.projectRecordId, holding.projectLevel, holding.projectPermissions, {
      until: holding.projectUntil,
      reason: holding.projectReason,
    }),
    ...record("team-workspace", holding.workspaceRecordId, holding.workspaceLevel, holding.workspacePermissions, {
      until: holding.workspaceUntil,
      reason: holding.workspaceReason,
    }),
  ];
}

export function grantsOf(subject: Actor, standing: Standing, holdings: readonly TeamHolding[]): SourcedGrant[] {
  const direct: SourcedGrant[] = [];
  if (isSiteAdmin(subject)) direct.push({ mask: standing.everywhere, source: { kind: "site-admin" } });
  if (subject.kind === "organization")
    direct.push({ mask: standing.everywhere, source: { kind: "organization-token" } });
  const names = holdings.map((holding) => ({ holding, team: { id: holding.teamId, name: holding.teamName } }));
  return [
    ...direct,
    ...names.flatMap(({ holding, team }) => organizationGrants(holding, team)),
    ...names.flatMap(({ holding, team }) => recordGrants(holding, team)),
  ];
}

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
  /** When the last grant that gives the value expires; null if one of them never does. */
  readonly until: string | null;
  /** The grants that give the value; empty for the lowest value, which everybody has. */
  readonly givenBy: readonly Source[];
}

export interface Explanation {
  readonly access: Access;
  readonly permissions: Readonly<Record<Permission, Explained>>;
}

function latest(sources: readonly Source[]): string | null {
  const ends = sources.map((source) => ("until" in source ? source.until : null));
  return ends.includes(null) ? null : (ends.toSorted().at(-1) ?? null);
}

export function explain(grants: readonly SourcedGrant[]): Explanation {
  const access = effective(...grants);
  const entries = permissionNames.map((permission): [Permission, Explained] => {
    const value = valueIn(access.mask, permission);
    const givenBy = value === ladders[permission][0] ? [] : grants.filter(({ mask }) => holds(mask, permission, value));
    const sources = givenBy.map(({ source }) => source);
    return [permission, { value, until: latest(sources), givenBy: sources }];
  });
  return { access, permissions: Object.fromEntries(entries) as Explanation["permissions"] };
}
