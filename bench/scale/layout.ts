/**
 * How much there is of everything in a register of a given size, and where the n-th of it belongs. The shape is the same at every
 * size: a hundred organizations, of which the first has three tenths of all workspaces, and projects of a hundred. But a team's ten projects
 * are full in a small register too, and its first organization has enough of everything for the longest page: otherwise a page would be
 * dearer in a large one because there is more on it, or because its caller may read more.
 */

export interface Layout {
  readonly workspaces: number;
  readonly organizations: number;
  /** In the first organization; the others share the rest evenly. */
  readonly large: Share;
  readonly small: Share;
}

/** What one organization has. */
export interface Share {
  readonly workspaces: number;
  readonly projects: number;
  /** So many projects have all the workspaces. */
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

/** How many there are of something that each organization has its share of. */
export function totalOf(
  { organizations, large, small }: Layout,
  what: Exclude<keyof Share, "workspaces" | "inhabited">,
): number {
  return large[what] + (organizations - 1) * small[what];
}
