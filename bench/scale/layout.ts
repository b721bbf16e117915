/**
 * How much there is of everything in a register of a given size, and where the n-th of it belongs. The shape is the same at every
 * size: a hundred organizations, of which the first has three tenths of all workspaces, and projects of a hundred.
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
  readonly teams: number;
  readonly members: number;
}

export const projectsOfTeam = 10;
const workspacesOfProject = 100;
const membersOfTeam = 3;

export function layoutOf(workspaces: number): Layout {
  const organizations = 100;
  const large = Math.floor(workspaces * 0.3);
  const small = Math.ceil((workspaces - large) / (organizations - 1));
  return {
    workspaces,
    organizations,
    large: shareOf(large, 2 * projectsOfTeam, Math.max(projectsOfTeam, Math.round(large / 1000))),
    small: shareOf(small, 1, Math.max(2, Math.round(small / 1000))),
  };
}

function shareOf(workspaces: number, projectsMin: number, teams: number): Share {
  const projects = Math.max(projectsMin, Math.ceil(workspaces / workspacesOfProject));
  return { workspaces, projects, teams, members: membersOfTeam * teams };
}

/** How many there are of something that each organization has its share of. */
export function totalOf({ organizations, large, small }: Layout, what: Exclude<keyof Share, "workspaces">): number {
  return large[what] + (organizations - 1) * small[what];
}
