/**
 * What a change of access does to those whom it concerns: what each may do before, what after, and the difference. Both are decided by
 * `access/`, as for a request of their own. Pure; workspaces that nothing singles out are counted project by project, so that it
 * takes as long as there are grants, however many workspaces there are.
 */
import type { Actor } from "../../../access/actor.ts";
import { effective } from "../../../access/effective.ts";
import { open, type Standing, standingOf } from "../../../access/organization.ts";
import type { Mask } from "../../../access/permission-set.ts";
import { organizationPermissions } from "../../../access/permissions/organization.ts";
import { projectPermissions, projectRightsOf } from "../../../access/permissions/project.ts";
import { workspacePermissions, workspaceRightsOf } from "../../../access/permissions/workspace.ts";

/** What a team holds: in the organization, and on each project and workspace by its records. */
export interface TeamGrants {
  readonly organizationAccess: Mask;
  readonly projects: ReadonlyMap<string, Mask>;
  readonly workspaces: ReadonlyMap<string, Mask>;
}

/** What a subject is at one of the two moments. */
export interface Position {
  readonly isMember: boolean;
  readonly teams: readonly TeamGrants[];
}

/** The organization, as far as it matters to the change. */
export interface World {
  readonly organizationId: string;
  readonly allowForceDeleteWorkspaces: number;
  /** In order; with how many workspaces each has after the change. */
  readonly projects: readonly { readonly id: string; readonly workspaceCount: number }[];
  /** The project of each workspace that is singled out by a record or by a move, before and after. */
  readonly places: ReadonlyMap<string, { readonly before: string; readonly after: string }>;
  /** Those of them that move. */
  readonly movedIds: ReadonlySet<string>;
}

/** Permissions that come, or go, together. */
export interface Group {
  readonly permissions: readonly string[];
  count: number;
  /** Things that are known one by one. */
  readonly ids: string[];
  /** Projects of which all workspaces are meant that are not singled out for this subject. */
  readonly projectIds: string[];
}

export interface Effect {
  readonly organization: readonly string[];
  readonly projects: readonly Group[];
  readonly workspaces: readonly Group[];
}

export interface Effects {
  readonly gains: Effect;
  readonly losses: Effect;
}

type Flags = Readonly<Record<string, boolean>>;

/** What only one of the two allows. */
const more = (than: Flags, flags: Flags): string[] =>
  Object.keys(flags).filter((name) => flags[name] === true && than[name] !== true);

/** Everything that a subject holds at one moment, added up. */
interface Held {
  readonly standing: Standing;
  readonly projects: ReadonlyMap<string, Mask>;
  readonly workspaces: ReadonlyMap<string, Mask>;
}

function heldAt(subject: Actor, organizationId: string, { isMember, teams }: Position): Held {
  const teamAccess = teams.length === 0 ? null : effective(...teams.map((team) => team.organizationAccess)).mask;
  return {
    standing: standingOf(subject, { organizationId, teamAccess, isMember: Number(isMember), ...open }),
    projects: added(teams.map((team) => team.projects)),
    workspaces: added(teams.map((team) => team.workspaces)),
  };
}

function added(grants: readonly ReadonlyMap<string, Mask>[]): ReadonlyMap<string, Mask> {
  const [first, ...others] = grants;
  if (others.length === 0) return first ?? new Map<string, Mask>();
  const sum = new Map(first);
  for (const other of others) for (const [id, mask] of other) sum.set(id, effective(sum.get(id), mask).mask);
  return sum;
}

/** Gains and losses on things of one kind, put together where the same permissions come or go. */
class Groups {
  readonly gains = new Map<string, Group>();
  readonly losses = new Map<string, Group>();

  /** `counted` instead of the thing itself: that many workspaces of the project. */
  add(difference: Difference, id: string, counted?: number): void {
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

interface Difference {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/** The difference of two positions on a thing. There are few different ones, so each is worked out once. */
function comparing(before: Held, after: Held, flagsOf: (held: Held, mask: Mask) => Flags) {
  const known = new Map<string, Difference>();
  return (grantsBefore: readonly (Mask | undefined)[], grantsAfter: readonly (Mask | undefined)[]): Difference => {
    const [was, is] = [
      effective(before.standing.everywhere, ...grantsBefore).mask,
      effective(after.standing.everywhere, ...grantsAfter).mask,
    ];
    const key = `${was} ${is}`;
    let difference = known.get(key);
    if (difference === undefined) {
      const [had, has] = [flagsOf(before, was), flagsOf(after, is)];
      difference = { gained: more(had, has), lost: more(has, had) };
      known.set(key, difference);
    }
    return difference;
  };
}

/** What the change does to one subject: a team, or a person as the sum of teams. */
export function effectsOn(subject: Actor, world: World, was: Position, is: Position): Effects {
  const { organizationId, allowForceDeleteWorkspaces } = world;
  const [before, after] = [heldAt(subject, organizationId, was), heldAt(subject, organizationId, is)];
  const onProject = comparing(before, after, (_, mask) => ({
    ...projectPermissions({ mask }),
    ...projectRightsOf({ mask }),
  }));
  const onWorkspace = comparing(before, after, ({ standing: { owner } }, mask) => ({
    ...workspacePermissions({ access: { mask }, owner, allowForceDeleteWorkspaces }),
    ...workspaceRightsOf({ mask }),
  }));
  const [projects, workspaces] = [new Groups(), new Groups()];
  const singled = new Set([...before.workspaces.keys(), ...after.workspaces.keys(), ...world.movedIds]);
  const singledIn = new Map<string, number>();
  for (const id of singled) {
    const place = world.places.get(id);
    if (place === undefined) continue;
    singledIn.set(place.after, (singledIn.get(place.after) ?? 0) + 1);
    const held = (at: Held, projectId: string) => [at.projects.get(projectId), at.workspaces.get(id)];
    workspaces.add(onWorkspace(held(before, place.before), held(after, place.after)), id);
  }
  for (const { id, workspaceCount } of concerned(world, before, after)) {
    const [had, has] = [[before.projects.get(id)], [after.projects.get(id)]];
    projects.add(onProject(had, has), id);
    const others = workspaceCount - (singledIn.get(id) ?? 0);
    if (others > 0) workspaces.add(onWorkspace(had, has), id, others);
  }
  const [had, has] = [organizationPermissions(before.standing), organizationPermissions(after.standing)];
  const told = (side: "gains" | "losses", organization: string[]): Effect => ({
    organization,
    projects: [...projects[side].values()],
    workspaces: [...workspaces[side].values()],
  });
  return { gains: told("gains", more(had, has)), losses: told("losses", more(has, had)) };
}

/** The projects on which it may make a difference: all, where something changes that is held everywhere. */
function concerned({ projects }: World, before: Held, after: Held): World["projects"] {
  const isSame =
    before.standing.everywhere === after.standing.everywhere && before.standing.owner === after.standing.owner;
  return isSame ? projects.filter(({ id }) => before.projects.has(id) || after.projects.has(id)) : projects;
}

export const isNothing = ({ organization, projects, workspaces }: Effect): boolean =>
  organization.length + projects.length + workspaces.length === 0;
