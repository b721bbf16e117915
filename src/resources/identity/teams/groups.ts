/**
 * Pure rules of places in teams that come from groups at a provider: who joins, whose place goes by another name now, who leaves. What
 * somebody was given by hand, or by another provider, stays as it is. See docs/decisions/0124-groups-and-teams.md.
 */
import type { Ending } from "../../shared/grants/ending.ts";

/** A team that names one of somebody's groups, or in which somebody is by one, with the person's place in it. */
export interface GroupTeam extends Ending {
  readonly teamId: string;
  readonly organizationId: string;
  readonly ssoTeamId: string | null;
  readonly isOwners: number;
  /** How many others are in it for ever. */
  readonly othersStaying: number;
  /** Null for whoever is no member of the organization yet. */
  readonly membershipId: string | null;
  /** 1 when the person is in it; and when the place has ended and was not tidied up yet. */
  readonly isIn: number;
  readonly hasEnded: number;
  /** By which provider the place came; null for one that was given by hand. */
  readonly seatProviderId: string | null;
}

/** Whose groups they are. */
export interface Groups {
  readonly providerId: string;
  readonly providerName: string;
  readonly groups: readonly string[];
}

export interface GroupSeating {
  readonly joining: readonly GroupTeam[];
  /** In the team already, by a group or a provider that was called otherwise. */
  readonly renamed: readonly GroupTeam[];
  readonly leaving: readonly GroupTeam[];
}

/** Why somebody is in a team: what explanations and memberships tell. Control characters stand between reasons in statements. */
export const byGroup = (group: string, providerName: string): string =>
  // oxlint-disable-next-line no-control-regex
  `by the group ${group.replace(/[\u0000-\u001f]/g, " ")} of ${providerName}`;

export function groupSeatingOf(
  teams: readonly GroupTeam[],
  { providerId, providerName, groups }: Groups,
): GroupSeating {
  const known = new Set(groups);
  const isWanted = ({ ssoTeamId }: GroupTeam) => ssoTeamId !== null && known.has(ssoTeamId);
  const isOurs = ({ seatProviderId }: GroupTeam) => seatProviderId === providerId;
  const reasonOf = ({ ssoTeamId }: GroupTeam) => byGroup(ssoTeamId ?? "", providerName);
  return {
    joining: teams.filter((team) => isWanted(team) && team.isIn === 0),
    renamed: teams.filter(
      (team) => isWanted(team) && team.isIn === 1 && isOurs(team) && team.reason !== reasonOf(team),
    ),
    // An organization keeps an owner who stays, whatever becomes of groups.
    leaving: teams.filter((team) => isOurs(team) && !isWanted(team) && (team.isOwners === 0 || team.othersStaying > 0)),
  };
}
