/** Explains access: each permission with the grants that give it. It must sum with the function that decides (`effectiveAccess`). */
import { type Actor, isSiteAdmin } from "./actor.ts";
import { type Access, effectiveAccess, type Grant } from "./effective.ts";
import {
  organizationWideMaskOf,
  noRestrictions,
  organizationBit,
  type OrganizationPermission,
  organizationPermissionNames,
  type OrganizationStanding,
  checkedStandingOf,
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
  /** Of the subject's membership in the team; null or absent if the subject is the team itself. */
  readonly membershipUntil?: string | null;
  readonly membershipReason?: string | null;
  readonly membershipGroup?: string | null;
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
  .reduce((mask, bit) => (organizationWideMaskOf(bit) === 0 ? mask : mask | bit), 0);

function earliestExpiry(...parts: readonly GrantDuration[]): GrantDuration {
  const ends = parts.flatMap(({ until }) => until ?? []).toSorted();
  const first = parts.find(({ until }) => until !== null && until === ends[0]);
  return first ?? { until: null, reason: parts.findLast(({ reason }) => reason !== null)?.reason ?? null };
}

const membershipDuration = ({ membershipUntil = null, membershipReason = null }: TeamAccessRow): GrantDuration => ({
  until: membershipUntil,
  reason: membershipReason,
});

const membershipSource = ({ membershipGroup }: TeamAccessRow): { membership?: string } =>
  membershipGroup == null ? {} : { membership: membershipGroup };

function organizationGrants(row: TeamAccessRow, team: TeamReference): SourcedGrant[] {
  const access = row.organizationAccess;
  const source = { team, ...membershipDuration(row), ...membershipSource(row) };
  if (row.isOwners === 1) return [{ mask: organizationWideMaskOf(access), source: { kind: "ownership", ...source } }];
  return organizationPermissionNames
    .filter((permission) => (access & organizationBit(permission)) !== 0)
    .map((permission) => ({
      mask: organizationWideMaskOf(organizationBit(permission)),
      source: { kind: "organization-permission", ...source, permission },
    }));
}

function recordGrants(row: TeamAccessRow, team: TeamReference): SourcedGrant[] {
  const record = (
    kind: "team-project" | "team-workspace",
    recordId: string | null,
    level: string | null,
    mask: Mask | null,
    duration: GrantDuration,
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
              ...earliestExpiry(membershipDuration(row), duration),
              ...membershipSource(row),
            },
          },
        ];
  return [
    ...record("team-project", row.projectRecordId, row.projectLevel, row.projectPermissions, {
      until: row.projectUntil,
      reason: row.projectReason,
    }),
    ...record("team-workspace", row.workspaceRecordId, row.workspaceLevel, row.workspacePermissions, {
      until: row.workspaceUntil,
      reason: row.workspaceReason,
    }),
  ];
}

export function sourcedGrantsOf(
  subject: Actor,
  standing: OrganizationStanding,
  rows: readonly TeamAccessRow[],
): SourcedGrant[] {
  const direct: SourcedGrant[] = [];
  if (isSiteAdmin(subject)) direct.push({ mask: standing.organizationWideMask, source: { kind: "site-admin" } });
  if (subject.kind === "organization")
    direct.push({ mask: standing.organizationWideMask, source: { kind: "organization-token" } });
  const named = rows.map((row) => ({ row, team: { id: row.teamId, name: row.teamName } }));
  return [
    ...direct,
    ...named.flatMap(({ row, team }) => organizationGrants(row, team)),
    ...named.flatMap(({ row, team }) => recordGrants(row, team)),
  ];
}

export function standingFromTeams(
  subject: Actor,
  organizationId: string,
  isMember: number,
  rows: readonly TeamAccessRow[],
): OrganizationStanding {
  const teamAccess = rows.length === 0 ? null : rows.reduce((mask, row) => mask | row.organizationAccess, 0);
  return checkedStandingOf(subject, { organizationId, teamAccess, isMember, ...noRestrictions });
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

function latestExpiry(sources: readonly GrantSource[]): string | null {
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
    return [permission, { value, until: latestExpiry(sources), givenBy: sources }];
  });
  return { access, permissions: Object.fromEntries(entries) as AccessExplanation["permissions"] };
}
