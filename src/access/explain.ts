/** Explains access: each permission with the grants that give it. It must sum with the function that decides (`effectiveAccess`). */
import { type Actor, isSiteAdmin } from "./actor.ts";
import { type Access, effectiveAccess, type Grant } from "./effective.ts";
import {
  everywhereOf,
  noRestrictions,
  organizationBit,
  type OrganizationPermission,
  organizationPermissionNames,
  type OrganizationStanding,
  standingOf,
} from "./organization.ts";
import {
  hasPermission,
  permissionLadders,
  type Mask,
  type Permission,
  permissionNames,
  permissionValue,
} from "./permission-set.ts";

export interface TeamReference {
  readonly id: string;
  readonly name: string;
}

export interface GrantDuration {
  readonly until: string | null;
  readonly reason: string | null;
}

interface TeamGrantSource extends GrantDuration {
  readonly team: TeamReference;
  /** The identity provider's group. */
  readonly membership?: string;
}

export type GrantSource =
  | { readonly kind: "site-admin" }
  | { readonly kind: "organization-token" }
  | ({ readonly kind: "ownership" } & TeamGrantSource)
  | ({ readonly kind: "organization-permission"; readonly permission: OrganizationPermission } & TeamGrantSource)
  | ({
      readonly kind: "team-project" | "team-workspace";
      readonly recordId: string;
      readonly level: string;
    } & TeamGrantSource);

export interface SourcedGrant extends Grant<GrantSource> {
  readonly source: GrantSource;
}

export interface TeamAccessRow {
  readonly teamId: string;
  readonly teamName: string;
  readonly isOwners: number;
  readonly organizationAccess: Mask;
  /** Null if the subject is the team itself. */
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

export const organizationBitsGivingAccess: Mask = organizationPermissionNames
  .map(organizationBit)
  .reduce((mask, bit) => (everywhereOf(bit) === 0 ? mask : mask | bit), 0);

function earliestExpiry(...parts: readonly GrantDuration[]): GrantDuration {
  const ends = parts.flatMap(({ until }) => until ?? []).toSorted();
  const first = parts.find(({ until }) => until !== null && until === ends[0]);
  return first ?? { until: null, reason: parts.findLast(({ reason }) => reason !== null)?.reason ?? null };
}

const membershipOf = ({ placeUntil = null, placeReason = null }: TeamAccessRow): GrantDuration => ({
  until: placeUntil,
  reason: placeReason,
});

const membershipBy = ({ placeGroup }: TeamAccessRow): { membership?: string } =>
  placeGroup == null ? {} : { membership: placeGroup };

function organizationGrants(holding: TeamAccessRow, name: TeamReference): SourcedGrant[] {
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

function recordGrants(holding: TeamAccessRow, team: TeamReference): SourcedGrant[] {
  const record = (
    kind: "team-project" | "team-workspace",
    recordId: string | null,
    level: string | null,
    mask: Mask | null,
    lasting: GrantDuration,
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

export function sourcedGrantsOf(
  subject: Actor,
  standing: OrganizationStanding,
  holdings: readonly TeamAccessRow[],
): SourcedGrant[] {
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

export function standingFromTeams(
  subject: Actor,
  organizationId: string,
  isMember: number,
  holdings: readonly TeamAccessRow[],
): OrganizationStanding {
  const teamAccess =
    holdings.length === 0 ? null : holdings.reduce((mask, holding) => mask | holding.organizationAccess, 0);
  return standingOf(subject, { organizationId, teamAccess, isMember, ...noRestrictions });
}

export interface ExplainedPermission {
  readonly value: string | boolean;
  /** Null if one of the grants never expires. */
  readonly until: string | null;
  readonly givenBy: readonly GrantSource[];
}

export interface AccessExplanation {
  readonly access: Access;
  readonly permissions: Readonly<Record<Permission, ExplainedPermission>>;
}

function latest(sources: readonly GrantSource[]): string | null {
  const ends = sources.map((source) => ("until" in source ? source.until : null));
  return ends.includes(null) ? null : (ends.toSorted().at(-1) ?? null);
}

export function explainGrants(grants: readonly SourcedGrant[]): AccessExplanation {
  const access = effectiveAccess(...grants);
  const entries = permissionNames.map((permission): [Permission, ExplainedPermission] => {
    const value = permissionValue(access.mask, permission);
    const givenBy =
      value === permissionLadders[permission][0]
        ? []
        : grants.filter(({ mask }) => hasPermission(mask, permission, value));
    const sources = givenBy.map(({ source }) => source);
    return [permission, { value, until: latest(sources), givenBy: sources }];
  });
  return { access, permissions: Object.fromEntries(entries) as AccessExplanation["permissions"] };
}
