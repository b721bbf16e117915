/**
 * Decides how a user's team memberships follow the groups of an SSO provider. Leaves memberships alone that were granted manually or come
 * from another provider. See docs/sign-in.md#single-sign-on.
 */
import type { GrantExpiry } from "../../shared/grants/expiry.ts";

/** A team mapped to one of the user's groups, or one that the user is in because of a group, with that membership. */
export interface GroupTeam extends GrantExpiry {
  readonly teamId: string;
  readonly organizationId: string;
  readonly ssoTeamId: string | null;
  readonly isOwners: number;
  readonly othersStaying: number;
  readonly membershipId: string | null;
  readonly isIn: number;
  readonly hasEnded: number;
  /** The SSO provider that the membership comes from; null if it was granted manually. */
  readonly seatProviderId: string | null;
}

export interface ProviderGroups {
  readonly providerId: string;
  readonly providerName: string;
  readonly groups: readonly string[];
}

export interface GroupSyncPlan {
  readonly joining: readonly GroupTeam[];
  /** Already members, but the group or the provider has a new name. */
  readonly renamed: readonly GroupTeam[];
  readonly leaving: readonly GroupTeam[];
}

/** The reason stored with the membership. Control characters are removed because statements use them as separators. */
export const groupReason = (group: string, providerName: string): string =>
  // oxlint-disable-next-line no-control-regex
  `by the group ${group.replace(/[\u0000-\u001f]/g, " ")} of ${providerName}`;

export function planGroupSync(
  teams: readonly GroupTeam[],
  { providerId, providerName, groups }: ProviderGroups,
): GroupSyncPlan {
  const userGroups = new Set(groups);
  const isMapped = ({ ssoTeamId }: GroupTeam) => ssoTeamId !== null && userGroups.has(ssoTeamId);
  const isOurs = ({ seatProviderId }: GroupTeam) => seatProviderId === providerId;
  const reasonOf = ({ ssoTeamId }: GroupTeam) => groupReason(ssoTeamId ?? "", providerName);
  return {
    joining: teams.filter((team) => isMapped(team) && team.isIn === 0),
    renamed: teams.filter(
      (team) => isMapped(team) && team.isIn === 1 && isOurs(team) && team.reason !== reasonOf(team),
    ),
    // Keeps the last permanent owner, even if the group no longer includes them.
    leaving: teams.filter((team) => isOurs(team) && !isMapped(team) && (team.isOwners === 0 || team.othersStaying > 0)),
  };
}
