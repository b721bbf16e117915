/** Gives names to what an effect counts, as far as the caller may see it: the first of each group, never one more. */
import { effective } from "../../../access/effective.ts";
import { projectPermissions, seesWorkspace } from "../../../access/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import { type Difference, namedMax, type Share } from "./definition.ts";
import type { Effect, Group } from "./effects.ts";
import type { Picture, Subject } from "./picture.ts";
import { firstInProjects, givenOneByOne, type WorkspaceRow } from "./store.ts";

export interface Told {
  readonly subject: Subject;
  readonly effect: Effect;
}

/** How many projects of a group are looked into beside those that fill the names: of some all workspaces are singled out. */
const spare = 5;

/** Two statements at the most, after the transaction: what the caller may see now. */
export async function withNames(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  picture: Picture,
  told: readonly Told[],
  isApplied: boolean,
): Promise<Difference[]> {
  const { known, projects } = picture;
  const held = new Map(
    projects.map(({ id, projectAccess }) => [id, effective(organization.standing.everywhere, projectAccess)]),
  );
  const seesAll = (projectId: string) => seesWorkspace(held.get(projectId) ?? { mask: 0 });
  const groups = told.flatMap(({ effect }) => effect.workspaces);
  const sizes = new Map(projects.map(({ id, workspaceCount }) => [id, workspaceCount]));
  const looked = new Set(groups.flatMap((group) => lookedInto(group, sizes, seesAll)));
  const hidden = [...sizes.keys()].filter((id) => !seesAll(id));
  const first = looked.size === 0 ? [] : await firstInProjects(tx, organization.id, [...looked], [...known.keys()]);
  const given =
    groups.length === 0 || hidden.length === 0 ? [] : await givenOneByOne(tx, context, organization.id, hidden);
  const givenIds = new Set(given.map(({ workspaceId }) => workspaceId));
  const inProjects = byProject([...first, ...given.filter(({ workspaceId }) => !known.has(workspaceId))]);
  const placeNow = (id: string) => (isApplied ? known.get(id)?.projectId : known.get(id)?.projectBefore) ?? "";
  const singledOut = byProject([...known.values()]);
  const projectNames = new Map(projects.map(({ id, name }) => [id, name]));

  const namedWorkspaces = (group: Group, own: ReadonlySet<string>): Share["named"] => {
    // Singled out for somebody else, for this subject they are like all others of their project.
    const others = group.projectIds.flatMap((id) => [
      ...(inProjects.get(id) ?? []),
      ...(singledOut.get(id) ?? []).filter(({ workspaceId }) => !own.has(workspaceId) && isSeen(workspaceId)),
    ]);
    const singled = group.ids.filter(isSeen).flatMap((id) => known.get(id) ?? []);
    return [...singled, ...others]
      .map(({ workspaceId, name }) => ({ id: workspaceId, name }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, namedMax);
  };
  const isSeen = (id: string) => givenIds.has(id) || seesAll(placeNow(id));
  const namedProjects = ({ ids }: Group): Share["named"] =>
    ids
      .filter((id) => projectPermissions(held.get(id) ?? { mask: 0 })["can-read"])
      .slice(0, namedMax)
      .map((id) => ({ id, name: projectNames.get(id) ?? "" }));

  return told.map(({ subject: { type, id, name, before, after }, effect }): Difference => {
    const own = new Set([
      ...[...before.teams, ...after.teams].flatMap((team) => [...team.workspaces.keys()]),
      ...picture.world.moved,
    ]);
    return {
      subject: { type, id, name },
      organization: effect.organization,
      projects: effect.projects.map((group) => shareOf(group, namedProjects(group))),
      workspaces: effect.workspaces.map((group) => shareOf(group, namedWorkspaces(group, own))),
    };
  });
}

const shareOf = ({ permissions, count }: Group, named: Share["named"]): Share => ({ permissions, count, named });

/** As many projects, in their order, as may be needed for the names. */
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

function byProject<Row extends WorkspaceRow>(rows: readonly Row[]): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) found.set(row.projectId, [...(found.get(row.projectId) ?? []), row]);
  return found;
}
