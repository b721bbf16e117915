/** Decides how team memberships follow an SSO provider's groups. It must not change manual memberships or those of another provider. */
import type { GrantExpiry } from "../../shared/grants/expiry.ts";

export interface GroupTeam extends GrantExpiry {
  readonly teamId: string;
  readonly organizationId: string;
  readonly enabledRuleCount: number;
  readonly ssoTeamId: string | null;
  readonly isOwners: number;
  readonly otherPermanentOwnerCount: number;
  readonly membershipId: string | null;
  readonly isMember: number;
  readonly hasEnded: number;
  readonly membershipProviderId: string | null;
}

export interface ProviderGroups {
  readonly providerId: string;
  readonly providerName: string;
  readonly groups: readonly string[];
}

export interface GroupSyncPlan {
  readonly joining: readonly GroupTeam[];
  readonly renamed: readonly GroupTeam[];
  readonly leaving: readonly GroupTeam[];
}

/** Statements use control characters as separators. */
export const groupReason = (group: string, providerName: string): string =>
  // oxlint-disable-next-line no-control-regex
  `by the group ${group.replace(/[\u0000-\u001f]/g, " ")} of ${providerName}`;

export function planGroupSync(
  teams: readonly GroupTeam[],
  { providerId, providerName, groups }: ProviderGroups,
): GroupSyncPlan {
  const userGroups = new Set(groups);
  const isMapped = ({ ssoTeamId }: GroupTeam) => ssoTeamId !== null && userGroups.has(ssoTeamId);
  const isOurs = ({ membershipProviderId }: GroupTeam) => membershipProviderId === providerId;
  const reasonOf = ({ ssoTeamId }: GroupTeam) => groupReason(ssoTeamId ?? "", providerName);
  return {
    joining: teams.filter((team) => isMapped(team) && team.isMember === 0),
    renamed: teams.filter(
      (team) => isMapped(team) && team.isMember === 1 && isOurs(team) && team.reason !== reasonOf(team),
    ),
    // Keeps the last permanent owner.
    leaving: teams.filter(
      (team) => isOurs(team) && !isMapped(team) && (team.isOwners === 0 || team.otherPermanentOwnerCount > 0),
    ),
  };
}
