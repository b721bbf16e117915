/** Computes the effects of changes with the functions of `access/`. Pure; the time depends on the number of grants only. */
import type { Actor } from "../../../access/actor.ts";
import { effectiveAccess } from "../../../access/effective.ts";
import { noRestrictions, type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import type { Mask } from "../../../access/permission-set.ts";
import { organizationPermissions } from "../../../access/permissions/organization.ts";
import { projectPermissions, projectRightsOf } from "../../../access/permissions/project.ts";
import { workspacePermissions, workspaceRightsOf } from "../../../access/permissions/workspace.ts";

export interface TeamGrants {
  readonly organizationAccess: Mask;
  readonly projects: ReadonlyMap<string, Mask>;
  readonly workspaces: ReadonlyMap<string, Mask>;
}

export interface SubjectPosition {
  readonly isMember: boolean;
  readonly teams: readonly TeamGrants[];
}

export interface PreviewedOrganization {
  readonly organizationId: string;
  readonly allowForceDeleteWorkspaces: number;
  readonly projects: readonly { readonly id: string; readonly workspaceCount: number }[];
  /** Only workspaces with a record or a move of their own. */
  readonly workspaceProjects: ReadonlyMap<string, { readonly before: string; readonly after: string }>;
  readonly movedIds: ReadonlySet<string>;
}

export interface PermissionGroup {
  readonly permissions: readonly string[];
  count: number;
  readonly ids: string[];
  /** All workspaces of these projects count, except for those that are counted individually. */
  readonly projectIds: string[];
}

export interface PreviewEffect {
  readonly organization: readonly string[];
  readonly projects: readonly PermissionGroup[];
  readonly workspaces: readonly PermissionGroup[];
}

export interface PreviewEffects {
  readonly gains: PreviewEffect;
  readonly losses: PreviewEffect;
}

type PermissionFlags = Readonly<Record<string, boolean>>;

const flagsOnlyIn = (flags: PermissionFlags, others: PermissionFlags): string[] =>
  Object.keys(flags).filter((name) => flags[name] === true && others[name] !== true);

interface SubjectAccess {
  readonly standing: OrganizationStanding;
  readonly projects: ReadonlyMap<string, Mask>;
  readonly workspaces: ReadonlyMap<string, Mask>;
}

function accessAt(subject: Actor, organizationId: string, { isMember, teams }: SubjectPosition): SubjectAccess {
  const teamAccess = teams.length === 0 ? null : effectiveAccess(...teams.map((team) => team.organizationAccess)).mask;
  return {
    standing: checkedStandingOf(subject, { organizationId, teamAccess, isMember: Number(isMember), ...noRestrictions }),
    projects: combined(teams.map((team) => team.projects)),
    workspaces: combined(teams.map((team) => team.workspaces)),
  };
}

function combined(grants: readonly ReadonlyMap<string, Mask>[]): ReadonlyMap<string, Mask> {
  const [first, ...others] = grants;
  if (others.length === 0) return first ?? new Map<string, Mask>();
  const sum = new Map(first);
  for (const other of others) for (const [id, mask] of other) sum.set(id, effectiveAccess(sum.get(id), mask).mask);
  return sum;
}

class EffectGroups {
  readonly gains = new Map<string, PermissionGroup>();
  readonly losses = new Map<string, PermissionGroup>();

  /** With `workspaceCount`, `id` is a project, and so many of its workspaces count. */
  add(difference: PermissionDifference, id: string, workspaceCount?: number): void {
    for (const [groups, permissions] of [
      [this.gains, difference.gained],
      [this.losses, difference.lost],
    ] as const) {
      if (permissions.length === 0) continue;
      const key = permissions.join();
      const group = groups.get(key) ?? { permissions, count: 0, ids: [], projectIds: [] };
      groups.set(key, group);
      group.count += workspaceCount ?? 1;
      (workspaceCount === undefined ? group.ids : group.projectIds).push(id);
    }
  }
}

interface PermissionDifference {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/** Few pairs of masks differ, so each is computed once. */
function comparer(
  before: SubjectAccess,
  after: SubjectAccess,
  flagsOf: (access: SubjectAccess, mask: Mask) => PermissionFlags,
) {
  const differences = new Map<string, PermissionDifference>();
  return (
    grantsBefore: readonly (Mask | undefined)[],
    grantsAfter: readonly (Mask | undefined)[],
  ): PermissionDifference => {
    const [maskBefore, maskAfter] = [
      effectiveAccess(before.standing.organizationWideMask, ...grantsBefore).mask,
      effectiveAccess(after.standing.organizationWideMask, ...grantsAfter).mask,
    ];
    const key = `${maskBefore} ${maskAfter}`;
    let difference = differences.get(key);
    if (difference === undefined) {
      const [flagsBefore, flagsAfter] = [flagsOf(before, maskBefore), flagsOf(after, maskAfter)];
      difference = {
        gained: flagsOnlyIn(flagsAfter, flagsBefore),
        lost: flagsOnlyIn(flagsBefore, flagsAfter),
      };
      differences.set(key, difference);
    }
    return difference;
  };
}

export function effectsOn(
  subject: Actor,
  previewed: PreviewedOrganization,
  positionBefore: SubjectPosition,
  positionAfter: SubjectPosition,
): PreviewEffects {
  const { organizationId, allowForceDeleteWorkspaces } = previewed;
  const before = accessAt(subject, organizationId, positionBefore);
  const after = accessAt(subject, organizationId, positionAfter);
  const onProject = comparer(before, after, (_, mask) => ({
    ...projectPermissions({ mask }),
    ...projectRightsOf({ mask }),
  }));
  const onWorkspace = comparer(before, after, ({ standing: { owner } }, mask) => ({
    ...workspacePermissions({ access: { mask }, owner, allowForceDeleteWorkspaces }),
    ...workspaceRightsOf({ mask }),
  }));
  const [projects, workspaces] = [new EffectGroups(), new EffectGroups()];
  const individualIds = new Set([...before.workspaces.keys(), ...after.workspaces.keys(), ...previewed.movedIds]);
  const individualCounts = new Map<string, number>();
  for (const id of individualIds) {
    const location = previewed.workspaceProjects.get(id);
    if (location === undefined) continue;
    individualCounts.set(location.after, (individualCounts.get(location.after) ?? 0) + 1);
    const grantsOn = (access: SubjectAccess, projectId: string) => [
      access.projects.get(projectId),
      access.workspaces.get(id),
    ];
    workspaces.add(onWorkspace(grantsOn(before, location.before), grantsOn(after, location.after)), id);
  }
  for (const { id, workspaceCount } of affectedProjects(previewed, before, after)) {
    const [grantsBefore, grantsAfter] = [[before.projects.get(id)], [after.projects.get(id)]];
    projects.add(onProject(grantsBefore, grantsAfter), id);
    const others = workspaceCount - (individualCounts.get(id) ?? 0);
    if (others > 0) workspaces.add(onWorkspace(grantsBefore, grantsAfter), id, others);
  }
  const flagsBefore = organizationPermissions(before.standing);
  const flagsAfter = organizationPermissions(after.standing);
  const effectOf = (side: "gains" | "losses", organization: string[]): PreviewEffect => ({
    organization,
    projects: [...projects[side].values()],
    workspaces: [...workspaces[side].values()],
  });
  return {
    gains: effectOf("gains", flagsOnlyIn(flagsAfter, flagsBefore)),
    losses: effectOf("losses", flagsOnlyIn(flagsBefore, flagsAfter)),
  };
}

function affectedProjects(
  { projects }: PreviewedOrganization,
  before: SubjectAccess,
  after: SubjectAccess,
): PreviewedOrganization["projects"] {
  const isSame =
    before.standing.organizationWideMask === after.standing.organizationWideMask &&
    before.standing.owner === after.standing.owner;
  return isSame ? projects.filter(({ id }) => before.projects.has(id) || after.projects.has(id)) : projects;
}

export const isEmptyEffect = ({ organization, projects, workspaces }: PreviewEffect): boolean =>
  organization.length + projects.length + workspaces.length === 0;
