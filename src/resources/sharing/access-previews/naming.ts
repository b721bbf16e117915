/** Adds names to effects: those of the first targets of each group that the caller can see. */
import { type Access, effective } from "../../../access/effective.ts";
import { projectPermissions } from "../../../access/permissions/project.ts";
import { seesWorkspace } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import { type Difference, namedMax, type Share } from "./definition.ts";
import type { Effect, Group } from "./effects.ts";
import type { KnownWorkspace, Picture, Subject } from "./picture.ts";
import { firstInProjects, givenOneByOne, type WorkspaceRow } from "./store.ts";

export interface Told {
  readonly subject: Subject;
  readonly effect: Effect;
}

/** How many more projects of a group are searched than seem necessary, because all workspaces of some may have records of their own. */
const spare = 5;

/** At most two statements, after the transaction, with what the caller can see then. */
export async function withNames(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  comparison: Picture,
  subjectEffects: readonly Told[],
  isApplied: boolean,
): Promise<Difference[]> {
  const lookup = await nameLookupFor(tx, context, organization, comparison, subjectEffects, isApplied);
  // Subjects in the same teams share their groups.
  const known = new Map<Group, Share>();
  const named = (group: Group, name: (group: Group) => Share["named"]): Share => {
    const share = known.get(group) ?? { permissions: group.permissions, count: group.count, named: name(group) };
    known.set(group, share);
    return share;
  };
  return subjectEffects.map(({ subject, effect }): Difference => {
    const { type, id, name, before, after } = subject;
    const isSingled = (workspaceId: string) =>
      comparison.previewed.movedIds.has(workspaceId) ||
      [before, after].some(({ teams }) => teams.some((team) => team.workspaces.has(workspaceId)));
    return {
      subject: { type, id, name },
      organization: effect.organization,
      projects: effect.projects.map((group) => named(group, lookup.projects)),
      workspaces: effect.workspaces.map((group) => named(group, (one) => lookup.workspaces(one, isSingled))),
    };
  });
}

interface Sight {
  readonly projects: (group: Group) => Share["named"];
  /** `isSingled`: whether a workspace is counted individually for the subject, not with its project. */
  readonly workspaces: (group: Group, isSingled: (workspaceId: string) => boolean) => Share["named"];
}

async function nameLookupFor(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  { known, projects }: Picture,
  subjectEffects: readonly Told[],
  isApplied: boolean,
): Promise<Sight> {
  const names = new Map(projects.map(({ id, name }) => [id, name]));
  const held = new Map(
    projects.map(({ id, projectAccess }) => [id, effective(organization.standing.everywhere, projectAccess)]),
  );
  const sizes = new Map(projects.map(({ id, workspaceCount }) => [id, workspaceCount]));
  const seesAll = (id: string) => seesWorkspace(held.get(id) ?? nothing);
  const groups = new Set(subjectEffects.flatMap(({ effect }) => effect.workspaces));
  const open = new Map([...groups].map((group) => [group, lookedInto(group, sizes, seesAll)]));
  const looked = [...new Set([...open.values()].flat())];
  const closed = groups.size === 0 ? [] : [...sizes.keys()].filter((id) => !seesAll(id));
  const first = looked.length === 0 ? [] : await firstInProjects(tx, organization.id, looked, [...known.keys()]);
  const given = closed.length === 0 ? [] : await givenOneByOne(tx, context, organization.id, closed);
  const givenIds = new Set(given.map(({ workspaceId }) => workspaceId));
  const isSeen = ({ workspaceId, projectBefore, projectId }: KnownWorkspace) =>
    givenIds.has(workspaceId) || seesAll(isApplied ? projectId : projectBefore);
  const plain = byProject([...first, ...given.filter(({ workspaceId }) => !known.has(workspaceId))]);
  const singled = byProject([...known.values()].filter(isSeen));
  const partly = new Set(given.map(({ projectId }) => projectId));
  return {
    projects: ({ ids }) =>
      ids
        .filter((id) => projectPermissions(held.get(id) ?? nothing)["can-read"])
        .slice(0, namedMax)
        .map((id) => ({ id, name: names.get(id) ?? "" })),
    workspaces: (group, isSingled) => {
      const looking = [...(open.get(group) ?? []), ...group.projectIds.filter((id) => partly.has(id))];
      // Counted individually for others, but with their project for this subject.
      const others = looking.flatMap((id) => [
        ...(plain.get(id) ?? []),
        ...(singled.get(id) ?? []).filter(({ workspaceId }) => !isSingled(workspaceId)),
      ]);
      const own = group.ids.flatMap((id) => known.get(id) ?? []).filter(isSeen);
      return firstOf([...own, ...others]);
    },
  };
}

const nothing: Access = { mask: 0 };

const firstOf = (rows: readonly WorkspaceRow[]): Share["named"] =>
  rows
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, namedMax)
    .map(({ workspaceId, name }) => ({ id: workspaceId, name }));

/** As many projects, in order, as the names may need. */
function lookedInto(
  { projectIds }: Group,
  sizes: ReadonlyMap<string, number>,
  seesAll: (projectId: string) => boolean,
): string[] {
  const open = projectIds.filter(seesAll);
  let [reached, taken] = [0, 0];
  while (taken < open.length && reached < namedMax) reached += sizes.get(open[taken++] ?? "") ?? 0;
  return open.slice(0, taken + spare);
}

function byProject(rows: readonly WorkspaceRow[]): Map<string, WorkspaceRow[]> {
  const found = new Map<string, WorkspaceRow[]>();
  for (const row of rows) {
    const known = found.get(row.projectId);
    if (known === undefined) found.set(row.projectId, [row]);
    else known.push(row);
  }
  return found;
}
