/** Names the first targets of each effect that the caller can see. */
import { type Access, effectiveAccess } from "../../../access/effective.ts";
import { projectPermissions } from "../../../access/permissions/project.ts";
import { canSeeWorkspace } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import { type SubjectDifference, namedMax, type PermissionShare } from "./definition.ts";
import type { PreviewEffect, PermissionGroup } from "./effects.ts";
import type { TrackedWorkspace, SnapshotComparison, PreviewSubject } from "./snapshots.ts";
import { firstInProjects, individuallyGrantedWorkspaces, type PreviewWorkspaceRow } from "./store.ts";

export interface SubjectEffect {
  readonly subject: PreviewSubject;
  readonly effect: PreviewEffect;
}

/** Further projects to search, because all workspaces of some may have records of their own. */
const extraProjects = 5;

/** At most two statements, after the transaction. Projects are named by the caller's access before the changes. */
export async function nameEffects(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  comparison: SnapshotComparison,
  subjectEffects: readonly SubjectEffect[],
  isApplied: boolean,
): Promise<SubjectDifference[]> {
  const lookup = await nameLookupFor(tx, context, organization, comparison, subjectEffects, isApplied);
  // Subjects in the same teams share their groups.
  const known = new Map<PermissionGroup, PermissionShare>();
  const named = (
    group: PermissionGroup,
    name: (group: PermissionGroup) => PermissionShare["named"],
  ): PermissionShare => {
    const share = known.get(group) ?? { permissions: group.permissions, count: group.count, named: name(group) };
    known.set(group, share);
    return share;
  };
  return subjectEffects.map(({ subject, effect }): SubjectDifference => {
    const { type, id, name, before, after } = subject;
    const isCountedIndividually = (workspaceId: string) =>
      comparison.previewed.movedIds.has(workspaceId) ||
      [before, after].some(({ teams }) => teams.some((team) => team.workspaces.has(workspaceId)));
    return {
      subject: { type, id, name },
      organization: effect.organization,
      projects: effect.projects.map((group) => named(group, lookup.projects)),
      workspaces: effect.workspaces.map((group) =>
        named(group, (one) => lookup.workspaces(one, isCountedIndividually)),
      ),
    };
  });
}

interface NameLookup {
  readonly projects: (group: PermissionGroup) => PermissionShare["named"];
  /** `isCountedIndividually`: for the subject, not with its project. */
  readonly workspaces: (
    group: PermissionGroup,
    isCountedIndividually: (workspaceId: string) => boolean,
  ) => PermissionShare["named"];
}

async function nameLookupFor(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  { known, projects }: SnapshotComparison,
  subjectEffects: readonly SubjectEffect[],
  isApplied: boolean,
): Promise<NameLookup> {
  const names = new Map(projects.map(({ id, name }) => [id, name]));
  const callerAccess = new Map(
    projects.map(({ id, projectAccess }) => [
      id,
      effectiveAccess(organization.standing.organizationWideMask, projectAccess),
    ]),
  );
  const sizes = new Map(projects.map(({ id, workspaceCount }) => [id, workspaceCount]));
  const seesAll = (id: string) => canSeeWorkspace(callerAccess.get(id) ?? nothing);
  const groups = new Set(subjectEffects.flatMap(({ effect }) => effect.workspaces));
  const searchedIn = new Map([...groups].map((group) => [group, projectsToSearch(group, sizes, seesAll)]));
  const searched = [...new Set([...searchedIn.values()].flat())];
  const unreadable = groups.size === 0 ? [] : [...sizes.keys()].filter((id) => !seesAll(id));
  const first = searched.length === 0 ? [] : await firstInProjects(tx, organization.id, searched, [...known.keys()]);
  const granted =
    unreadable.length === 0 ? [] : await individuallyGrantedWorkspaces(tx, context, organization.id, unreadable);
  const grantedIds = new Set(granted.map(({ workspaceId }) => workspaceId));
  const isSeen = ({ workspaceId, projectBefore, projectId }: TrackedWorkspace) =>
    grantedIds.has(workspaceId) || seesAll(isApplied ? projectId : projectBefore);
  const countedWithProject = byProject([...first, ...granted.filter(({ workspaceId }) => !known.has(workspaceId))]);
  const individual = byProject([...known.values()].filter(isSeen));
  const partlyReadable = new Set(granted.map(({ projectId }) => projectId));
  return {
    projects: ({ ids }) =>
      ids
        .filter((id) => projectPermissions(callerAccess.get(id) ?? nothing)["can-read"])
        .slice(0, namedMax)
        .map((id) => ({ id, name: names.get(id) ?? "" })),
    workspaces: (group, isCountedIndividually) => {
      const projectIds = [...(searchedIn.get(group) ?? []), ...group.projectIds.filter((id) => partlyReadable.has(id))];
      const others = projectIds.flatMap((id) => [
        ...(countedWithProject.get(id) ?? []),
        ...(individual.get(id) ?? []).filter(({ workspaceId }) => !isCountedIndividually(workspaceId)),
      ]);
      const own = group.ids.flatMap((id) => known.get(id) ?? []).filter(isSeen);
      return firstOf([...own, ...others]);
    },
  };
}

const nothing: Access = { mask: 0 };

const firstOf = (rows: readonly PreviewWorkspaceRow[]): PermissionShare["named"] =>
  rows
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, namedMax)
    .map(({ workspaceId, name }) => ({ id: workspaceId, name }));

function projectsToSearch(
  { projectIds }: PermissionGroup,
  sizes: ReadonlyMap<string, number>,
  seesAll: (projectId: string) => boolean,
): string[] {
  const open = projectIds.filter(seesAll);
  let [reached, taken] = [0, 0];
  while (taken < open.length && reached < namedMax) reached += sizes.get(open[taken++] ?? "") ?? 0;
  return open.slice(0, taken + extraProjects);
}

function byProject(rows: readonly PreviewWorkspaceRow[]): Map<string, PreviewWorkspaceRow[]> {
  const found = new Map<string, PreviewWorkspaceRow[]>();
  for (const row of rows) {
    const known = found.get(row.projectId);
    if (known === undefined) found.set(row.projectId, [row]);
    else known.push(row);
  }
  return found;
}
