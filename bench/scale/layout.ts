/**
 * The shape of a database of a given size: a hundred organizations, the first of which has 30% of all workspaces, and projects with a hundred
 * workspaces. A small database also has full projects and enough of everything for the longest page; otherwise a page of a large one would
 * cost more only because it shows more.
 */

export interface Layout {
  readonly workspaces: number;
  readonly organizations: number;
  /** In the first organization; the rest is divided evenly among the others. */
  readonly large: Share;
  readonly small: Share;
}

/** Per organization. */
export interface Share {
  readonly workspaces: number;
  readonly projects: number;
  /** Number of projects with workspaces. */
  readonly inhabited: number;
  readonly teams: number;
  readonly members: number;
}

export const projectsOfTeam = 10;
const workspacesOfProject = 100;
const membersOfTeam = 3;

/** The longest page. */
const pageMax = 100;

export function layoutOf(workspaces: number): Layout {
  const organizations = 100;
  const ofTeam = projectsOfTeam * workspacesOfProject;
  const large = Math.max(Math.floor(workspaces * 0.3), Math.min(workspaces - organizations + 1, ofTeam));
  const small = Math.ceil((workspaces - large) / (organizations - 1));
  return {
    workspaces,
    organizations,
    large: shareOf(large, { projects: pageMax, inhabited: projectsOfTeam, teams: pageMax }),
    small: shareOf(small, { projects: 1, inhabited: 1, teams: 2 }),
  };
}

function shareOf(workspaces: number, least: Omit<Share, "workspaces" | "members">): Share {
  const inhabited = Math.max(least.inhabited, Math.ceil(workspaces / workspacesOfProject));
  const teams = Math.max(least.teams, Math.round(workspaces / 1000));
  return {
    workspaces,
    projects: Math.max(least.projects, inhabited),
    inhabited,
    teams,
    members: membersOfTeam * teams,
  };
}

/** The total over all organizations. */
export function totalOf(
  { organizations, large, small }: Layout,
  what: Exclude<keyof Share, "workspaces" | "inhabited">,
): number {
  return large[what] + (organizations - 1) * small[what];
}
