/** Computes the effects of changes with the functions of `access/`. Pure; the time depends on the number of grants only. */
import type { Actor } from "../../../access/actor.ts";
import { effectiveAccess } from "../../../access/effective.ts";
import { noRestrictions, type OrganizationStanding, standingOf } from "../../../access/organization.ts";
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

const flagsOnlyIn = (than: PermissionFlags, flags: PermissionFlags): string[] =>
  Object.keys(flags).filter((name) => flags[name] === true && than[name] !== true);

interface SubjectAccess {
  readonly standing: OrganizationStanding;
  readonly projects: ReadonlyMap<string, Mask>;
  readonly workspaces: ReadonlyMap<string, Mask>;
}

function accessAt(subject: Actor, organizationId: string, { isMember, teams }: SubjectPosition): SubjectAccess {
  const teamAccess = teams.length === 0 ? null : effectiveAccess(...teams.map((team) => team.organizationAccess)).mask;
  return {
    standing: standingOf(subject, { organizationId, teamAccess, isMember: Number(isMember), ...noRestrictions }),
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

  /** `counted`: so many workspaces of the project, instead of the target itself. */
  add(difference: PermissionDifference, id: string, counted?: number): void {
    for (const [groups, permissions] of [
      [this.gains, difference.gained],
      [this.losses, difference.lost],
    ] as const) {
      if (permissions.length === 0) continue;
      const key = permissions.join();
      const group = groups.get(key) ?? { permissions, count: 0, ids: [], projectIds: [] };
      groups.set(key, group);
      group.count += counted ?? 1;
      (counted === undefined ? group.ids : group.projectIds).push(id);
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
  flagsOf: (held: SubjectAccess, mask: Mask) => PermissionFlags,
) {
  const known = new Map<string, PermissionDifference>();
  return (
    grantsBefore: readonly (Mask | undefined)[],
    grantsAfter: readonly (Mask | undefined)[],
  ): PermissionDifference => {
    const [was, is] = [
      effectiveAccess(before.standing.everywhere, ...grantsBefore).mask,
      effectiveAccess(after.standing.everywhere, ...grantsAfter).mask,
    ];
    const key = `${was} ${is}`;
    let difference = known.get(key);
    if (difference === undefined) {
      const [had, has] = [flagsOf(before, was), flagsOf(after, is)];
      difference = { gained: flagsOnlyIn(had, has), lost: flagsOnlyIn(has, had) };
      known.set(key, difference);
    }
    return difference;
  };
}

export function effectsOn(
  subject: Actor,
  previewed: PreviewedOrganization,
  was: SubjectPosition,
  is: SubjectPosition,
): PreviewEffects {
  const { organizationId, allowForceDeleteWorkspaces } = previewed;
  const [before, after] = [accessAt(subject, organizationId, was), accessAt(subject, organizationId, is)];
  const onProject = comparer(before, after, (_, mask) => ({
    ...projectPermissions({ mask }),
    ...projectRightsOf({ mask }),
  }));
  const onWorkspace = comparer(before, after, ({ standing: { owner } }, mask) => ({
    ...workspacePermissions({ access: { mask }, owner, allowForceDeleteWorkspaces }),
    ...workspaceRightsOf({ mask }),
  }));
  const [projects, workspaces] = [new EffectGroups(), new EffectGroups()];
  const singled = new Set([...before.workspaces.keys(), ...after.workspaces.keys(), ...previewed.movedIds]);
  const singledIn = new Map<string, number>();
  for (const id of singled) {
    const location = previewed.workspaceProjects.get(id);
    if (location === undefined) continue;
    singledIn.set(location.after, (singledIn.get(location.after) ?? 0) + 1);
    const held = (at: SubjectAccess, projectId: string) => [at.projects.get(projectId), at.workspaces.get(id)];
    workspaces.add(onWorkspace(held(before, location.before), held(after, location.after)), id);
  }
  for (const { id, workspaceCount } of affectedProjects(previewed, before, after)) {
    const [had, has] = [[before.projects.get(id)], [after.projects.get(id)]];
    projects.add(onProject(had, has), id);
    const others = workspaceCount - (singledIn.get(id) ?? 0);
    if (others > 0) workspaces.add(onWorkspace(had, has), id, others);
  }
  const [had, has] = [organizationPermissions(before.standing), organizationPermissions(after.standing)];
  const effectOf = (side: "gains" | "losses", organization: string[]): PreviewEffect => ({
    organization,
    projects: [...projects[side].values()],
    workspaces: [...workspaces[side].values()],
  });
  return { gains: effectOf("gains", flagsOnlyIn(had, has)), losses: effectOf("losses", flagsOnlyIn(has, had)) };
}

function affectedProjects(
  { projects }: PreviewedOrganization,
  before: SubjectAccess,
  after: SubjectAccess,
): PreviewedOrganization["projects"] {
  const isSame =
    before.standing.everywhere === after.standing.everywhere && before.standing.owner === after.standing.owner;
  return isSame ? projects.filter(({ id }) => before.projects.has(id) || after.projects.has(id)) : projects;
}

export const isNothing = ({ organization, projects, workspaces }: PreviewEffect): boolean =>
  organization.length + projects.length + workspaces.length === 0;
