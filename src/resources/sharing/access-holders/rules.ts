/** Pure rules of access holders. */
import { organizationWideMaskOf, organizationBit, organizationPermissionNames } from "../../../access/organization.ts";
import { authorize } from "../../../access/granted.ts";
import { projectRightsOf } from "../../../access/permissions/project.ts";
import { workspaceRightsOf } from "../../../access/permissions/workspace.ts";
import {
  bitsGiving,
  meetsRequirement,
  canListAccessHolders,
  permissionsOn,
  maskRequirementFor,
} from "../../../access/reach.ts";
import { permissionSetOf } from "../../../access/permission-set.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import { kebab } from "../../../kernel/names.ts";
import type { HolderSource, HolderView } from "./definition.ts";
import type { HolderRow, HolderFilter, HolderScope } from "./store.ts";

export function parseHolderFilter(projectId: string | undefined, workspaceId: string | undefined): HolderFilter {
  if (projectId === undefined || workspaceId === undefined) return { projectId, workspaceId };
  const parameter = "filter[workspace][id]";
  const detail = "Send either filter[project][id] or filter[workspace][id], not both.";
  throw new AppError("bad-request", [{ parameter, detail }]);
}

const nonOwner = { owner: false, allowForceDeleteWorkspaces: 0 };

/** Throws `not-found` unless the caller manages teams, memberships, or access to the queried target. */
export function authorizeHolders(
  scope: HolderScope | undefined,
  { projectId, workspaceId }: HolderFilter,
): HolderScope {
  if (scope === undefined || !scope.standing.member) throw notFound("organization");
  const { callerAccess, standing } = scope;
  const isQueried = projectId !== undefined || workspaceId !== undefined;
  const kind = workspaceId === undefined ? "project" : "workspace";
  const isFound = (kind === "project" ? scope.projectId : scope.workspaceId) !== null;
  if (isQueried && !(isFound && meetsRequirement(callerAccess.mask, maskRequirementFor(kind, undefined, nonOwner))))
    throw notFound(kind);
  const rights = kind === "project" ? projectRightsOf(callerAccess) : workspaceRightsOf(callerAccess);
  return authorize(scope, {
    thing: isQueried ? kind : "organization",
    permission: "can-manage-team-access",
    visible: true,
    allowed: canListAccessHolders(standing) || (isQueried && rights["can-manage-team-access"]),
    needs:
      "the organization permission 'manage-teams' or 'manage-membership', or permission to manage the access to the queried project or workspace",
    whenDenied: "hide",
  });
}

function organizationSources(row: HolderRow, bits: number): HolderSource[] {
  if (row.teamId === null || row.teamName === null) return [];
  const team = { id: row.teamId, name: row.teamName };
  if (row.isOwners === 1) return [{ kind: "ownership", team }];
  return organizationPermissionNames
    .filter((name) => ((row.organizationAccess ?? 0) & organizationBit(name)) !== 0)
    .filter((name) => (organizationWideMaskOf(organizationBit(name)) & bits) !== 0)
    .map((permission) => ({ kind: "organization-permission", team, permission }));
}

/** Identifies a single record only if the query is about one workspace, which the caller can see. */
function recordSources(row: HolderRow, isOneWorkspace: boolean): HolderSource[] {
  const { teamId, teamName, recordKind: kind, recordLevel: level, recordId: id } = row;
  if (teamId === null || teamName === null || kind === null || level === null || id === null) return [];
  const type = `${kind}s`;
  const details = isOneWorkspace
    ? { type, id, links: { related: `/api/v2/${type}/${id}` } }
    : { records: Number(row.records) };
  return [{ kind, team: { id: teamId, name: teamName }, level, ...details }];
}

const valuesOf = (mask: number): Record<string, string | boolean> =>
  Object.fromEntries(Object.entries(permissionSetOf(mask)).map(([name, value]) => [kebab(name), value]));

function viewOf(
  scope: HolderScope,
  permission: string | undefined,
  rows: readonly [HolderRow, ...HolderRow[]],
): HolderView {
  const [first] = rows;
  const { allowForceDeleteWorkspaces, workspaceId, projectId } = scope;
  const ownership = { owner: first.isOwner === 1, allowForceDeleteWorkspaces };
  const kind = workspaceId === null ? "project" : "workspace";
  const bitsOn = (of: "project" | "workspace") =>
    permission === undefined ? maskRequirementFor(of, undefined, ownership).any : bitsGiving(of, permission, ownership);
  const bits = bitsOn("workspace") | (workspaceId === null ? bitsOn("project") : 0);
  const teams = [
    ...Map.groupBy(
      rows.filter((row) => row.teamId !== null),
      (row) => row.teamId,
    ).values(),
  ];
  const bySource = teams.map((ofTeam) => ({
    isVisible: ofTeam[0]?.isVisible === 1,
    sources: [
      ...ofTeam.slice(0, 1).flatMap((row) => organizationSources(row, bits)),
      ...ofTeam.flatMap((row) => recordSources(row, workspaceId !== null)),
    ],
  }));
  const giving = bySource.filter(({ sources }) => sources.length > 0);
  const asSiteAdmin: HolderSource[] = first.isSiteAdmin === 1 ? [{ kind: "site-admin" }] : [];
  return {
    kind: first.kind,
    id: first.id,
    name: first.name,
    organizationId: scope.organizationId,
    everywhere: first.isEverywhere === 1,
    projectsCount: Number(first.projects),
    workspacesCount: Number(first.workspaces),
    permissions: projectId === null ? undefined : permissionsOn(kind, { mask: Number(first.mask) }, ownership),
    values: projectId === null ? undefined : valuesOf(Number(first.mask)),
    givenBy: [...asSiteAdmin, ...giving.filter((each) => each.isVisible).flatMap((each) => each.sources)],
    hiddenSources: giving.filter((each) => !each.isVisible).length,
  };
}

/** Needs the rows of a holder to be consecutive. */
export function viewsOf(scope: HolderScope, permission: string | undefined, rows: readonly HolderRow[]): HolderView[] {
  return [...Map.groupBy(rows, (row) => row.id).values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [viewOf(scope, permission, [first, ...others])],
  );
}
