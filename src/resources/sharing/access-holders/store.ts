/** SQL of access holders. It sums records only; the projects' counters give the number of workspaces. */
import { type RawBuilder, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { type Access, effectiveAccess } from "../../../access/effective.ts";
import { type OrganizationStanding, checkedStandingOf, type StandingRow } from "../../../access/organization.ts";
import { allPermissions } from "../../../access/permission-set.ts";
import { visibilityBits, type TargetKind } from "../../../access/reach.ts";
import type { Tx } from "../../../database/database.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { teamIsVisible } from "../../identity/teams/visibility.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { projectGrants, standingSelection, workspaceGrants } from "../../shared/grants/reads.ts";
import { bitsGivingSql, organizationWideMaskSql, meetsRequirementSql, isOwnerSql } from "../../shared/grants/sums.ts";

export interface HolderFilter {
  readonly projectId: string | undefined;
  readonly workspaceId: string | undefined;
}

export interface HolderScope {
  readonly organizationId: string;
  readonly allowForceDeleteWorkspaces: number;
  readonly standing: OrganizationStanding;
  readonly projectId: string | null;
  readonly workspaceId: string | null;
  /** On the queried project or workspace. */
  readonly callerAccess: Access;
}

type HolderScopeRow = StandingRow &
  Omit<HolderScope, "standing" | "callerAccess"> & {
    readonly projectAccess: number | null;
    readonly workspaceAccess: number | null;
  };

export async function findHolderScope(
  tx: Tx,
  actor: Actor,
  organizationName: string,
  { projectId, workspaceId }: HolderFilter,
): Promise<HolderScope | undefined> {
  const principal = principalOf(actor);
  const organizationId = sql.ref<string>("o.id");
  const result = await sql<HolderScopeRow>`
    select o.id as organization_id, o.allow_force_delete_workspaces, p.id as project_id, w.id as workspace_id,
      ${standingSelection(organizationId, principal)},
      ${projectGrants(organizationId, sql.ref("p.id"), principal)},
      ${workspaceGrants(organizationId, sql.ref("w.id"), principal)}
    from open_organizations as o
    left join workspaces as w on w.organization_id = o.id and w.id = ${workspaceId ?? ""}
    left join projects as p on p.organization_id = o.id and p.id = coalesce(w.project_id, ${projectId ?? ""})
    where o.name_key = ${fold(organizationName)}`.execute(tx.db);
  const [row] = result.rows;
  if (row === undefined) return undefined;
  const standing = checkedStandingOf(actor, row);
  const callerAccess = effectiveAccess(standing.organizationWideMask, row.projectAccess, row.workspaceAccess);
  return { ...row, standing, callerAccess };
}

/** One row per team, record kind and level; a holder can have several. */
export interface HolderRow {
  readonly id: string;
  readonly kind: "team" | "user";
  readonly name: string;
  readonly isSiteAdmin: number;
  readonly isEverywhere: number;
  readonly projects: number;
  readonly workspaces: number;
  /** For everything if no target is named. */
  readonly mask: number;
  readonly isOwner: number;
  readonly teamId: string | null;
  readonly teamName: string | null;
  readonly isOwners: number | null;
  readonly organizationAccess: number | null;
  readonly isVisible: number | null;
  readonly recordKind: "team-project" | "team-workspace" | null;
  readonly recordLevel: string | null;
  readonly records: number | null;
  readonly recordId: string | null;
}

function membershipsTables({ organizationId, standing }: HolderScope, actor: Actor): RawBuilder<unknown> {
  return sql`
    subjects as materialized (
      select t.id as id, 'team' as kind, t.name as name, t.name_key as name_key, 0 as is_site_admin,
        case when ${teamIsVisible(actor, standing)} then 1 else 0 end as is_visible
      from teams as t where t.organization_id = ${organizationId}
      union all
      select u.id, 'user', u.username, u.username_key, u.is_site_admin, 1
      from organization_memberships as m inner join users as u on u.id = m.user_id
      where m.organization_id = ${organizationId} and m.status = 'active'),
    memberships as materialized (
      select id as holder, id as team_id from subjects where kind = 'team'
      union all
      select tm.user_id, tm.team_id from team_members as tm inner join subjects on subjects.id = tm.user_id
      where tm.organization_id = ${organizationId} and ${inForce("tm")})`;
}

function baseTable(
  { allowForceDeleteWorkspaces, workspaceId }: HolderScope,
  permission: string | undefined,
): RawBuilder<unknown> {
  const access = sql.ref<number | null>("summed.access");
  const owner = sql<boolean>`(summed.is_site_admin = 1 or ${isOwnerSql(access)})`;
  const ownership = { owner, allowForceDelete: sql<number>`cast(${allowForceDeleteWorkspaces} as bigint)` };
  return sql`base as materialized (
    select summed.id as holder, case when ${owner} then 1 else 0 end as is_owner,
      case when summed.is_site_admin = 1 then ${sql.lit(allPermissions)} else ${organizationWideMaskSql(access)} end as mask,
      ${workspaceId === null ? bitsGivingSql("project", permission, ownership) : sql`0`} as project_bits,
      ${bitsGivingSql("workspace", permission, ownership)} as workspace_bits
    from (select subjects.id as id, subjects.is_site_admin as is_site_admin, bit_or(t.organization_access) as access
      from subjects left join memberships on memberships.holder = subjects.id left join teams as t on t.id = memberships.team_id
      group by subjects.id, subjects.is_site_admin) as summed)`;
}

function scopeTable({ organizationId, projectId, workspaceId }: HolderScope): RawBuilder<unknown> {
  if (workspaceId !== null)
    return sql`scope as materialized (select cast(${projectId} as text) as id, 0 as projects, 1 as workspaces)`;
  const one = projectId === null ? sql`` : sql`and id = ${projectId}`;
  return sql`scope as materialized (select id, 1 as projects, workspace_count as workspaces from projects
    where organization_id = ${organizationId} ${one})`;
}

function sumsTables({ organizationId, projectId, workspaceId }: HolderScope): RawBuilder<unknown> {
  const chosen = workspaceId === null ? sql`` : sql`and g.workspace_id = ${workspaceId}`;
  const inProject = projectId === null ? sql`` : sql`and w.project_id = ${projectId}`;
  return sql`
    on_projects as materialized (
      select memberships.holder as holder, g.project_id as project_id, bit_or(g.permissions) as mask
      from memberships inner join team_projects as g on g.organization_id = ${organizationId} and g.team_id = memberships.team_id
        and ${inForce("g")}
      where g.project_id in (select id from scope) group by memberships.holder, g.project_id),
    on_workspaces as materialized (
      select memberships.holder as holder, w.project_id as project_id, g.workspace_id as workspace_id, bit_or(g.permissions) as mask
      from memberships inner join team_workspaces as g on g.organization_id = ${organizationId} and g.team_id = memberships.team_id
        and ${inForce("g")} ${chosen}
      inner join workspaces as w on w.id = g.workspace_id ${inProject}
      group by memberships.holder, w.project_id, g.workspace_id)`;
}

const reached = (kind: TargetKind, mask: RawBuilder<number>) =>
  meetsRequirementSql(mask, { sees: sql.lit(visibilityBits[kind]), any: sql.ref(`base.${kind}_bits`) });
const everywhereOnly = sql<number>`base.mask`;
const withProject = sql<number>`(base.mask | coalesce(op.mask, 0))`;
const withWorkspace = sql<number>`(base.mask | coalesce(op.mask, 0) | ow.mask)`;

/** Counts every target once: by access everywhere, else by its project's sum, else by its own. */
function holdersTables(): RawBuilder<unknown> {
  const all = (column: string) => sql`(select coalesce(sum(${sql.ref(column)}), 0) from scope)`;
  const either = sql`(${reached("project", everywhereOnly)} or ${reached("workspace", everywhereOnly)})`;
  return sql`
    tallies as (
      select base.holder as holder, 1 as is_everywhere,
        case when ${reached("project", everywhereOnly)} then ${all("projects")} else 0 end as projects,
        case when ${reached("workspace", everywhereOnly)} then ${all("workspaces")} else 0 end as workspaces
      from base where ${either}
      union all
      select base.holder, 0,
        case when ${reached("project", withProject)} and not ${reached("project", everywhereOnly)} then scope.projects else 0 end,
        case when ${reached("workspace", withProject)} and not ${reached("workspace", everywhereOnly)} then scope.workspaces else 0 end
      from on_projects as op inner join base on base.holder = op.holder inner join scope on scope.id = op.project_id
      where ${reached("project", withProject)} or ${reached("workspace", withProject)}
      union all
      select base.holder, 0, 0, 1 from on_workspaces as ow inner join base on base.holder = ow.holder
      left join on_projects as op on op.holder = ow.holder and op.project_id = ow.project_id
      where ${reached("workspace", withWorkspace)} and not ${reached("workspace", withProject)}),
    holders as materialized (
      select subjects.id as id, subjects.kind as kind, subjects.name as name, subjects.name_key as name_key,
        subjects.is_site_admin as is_site_admin, subjects.is_visible as is_visible, max(tallies.is_everywhere) as is_everywhere,
        cast(sum(tallies.projects) as bigint) as projects, cast(sum(tallies.workspaces) as bigint) as workspaces
      from tallies inner join subjects on subjects.id = tallies.holder
      group by subjects.id, subjects.kind, subjects.name, subjects.name_key, subjects.is_site_admin, subjects.is_visible
      having max(tallies.is_everywhere) = 1 or sum(tallies.projects) + sum(tallies.workspaces) > 0)`;
}

function recordsTable({ organizationId, projectId, workspaceId }: HolderScope): RawBuilder<unknown> {
  const onWorkspace = workspaceId === null ? sql`` : sql`and g.workspace_id = ${workspaceId}`;
  const inProject = projectId === null ? sql`` : sql`and w.project_id = ${projectId}`;
  return sql`records as materialized (
    select page.id as holder, g.team_id as team_id, 'team-project' as kind, g.access as level, count(*) as records, min(g.id) as record_id
      from page inner join base on base.holder = page.id inner join memberships on memberships.holder = page.id
      inner join team_projects as g on g.organization_id = ${organizationId} and g.team_id = memberships.team_id and ${inForce("g")}
      inner join scope on scope.id = g.project_id
      where (g.permissions & (base.project_bits | base.workspace_bits)) <> 0 group by page.id, g.team_id, g.access
    union all
    select page.id, g.team_id, 'team-workspace', g.access, count(*), min(g.id)
      from page inner join base on base.holder = page.id inner join memberships on memberships.holder = page.id
      inner join team_workspaces as g on g.organization_id = ${organizationId} and g.team_id = memberships.team_id
        and ${inForce("g")} ${onWorkspace}
      inner join workspaces as w on w.id = g.workspace_id ${inProject}
      where (g.permissions & base.workspace_bits) <> 0 group by page.id, g.team_id, g.access)`;
}

export interface HolderQuery {
  readonly permission: string | undefined;
  readonly kind: string | undefined;
}

export async function listHolders(
  tx: Tx,
  actor: Actor,
  scope: HolderScope,
  { permission, kind }: HolderQuery,
  page: Page,
): Promise<{ rows: HolderRow[]; totalCount: number; hiddenTeams: number }> {
  const { standing } = scope;
  const ofKind = kind === undefined ? sql`` : sql`and kind = ${kind}`;
  const result = await sql<HolderRow & { totalCount: number; hiddenTeams: number }>`
    with ${membershipsTables(scope, actor)}, ${baseTable(scope, permission)}, ${scopeTable(scope)}, ${sumsTables(scope)},
    ${holdersTables()},
    page as materialized (
      select * from holders where is_visible = 1 ${ofKind} order by name_key, id
      limit ${page.size} offset ${(page.number - 1) * page.size}),
    ${recordsTable(scope)}
    select totals.total_count, totals.hidden_teams, page.id, page.kind, page.name, page.is_site_admin, page.is_everywhere,
      page.projects, page.workspaces, base.is_owner, base.mask | coalesce(op.mask, 0) | coalesce(ow.mask, 0) as mask,
      t.id as team_id, t.name as team_name, t.is_owners, t.organization_access,
      case when ${teamIsVisible(actor, standing)} then 1 else 0 end as is_visible,
      records.kind as record_kind, records.level as record_level, records.records, records.record_id
    from (select coalesce(sum(is_visible), 0) as total_count, coalesce(sum(1 - is_visible), 0) as hidden_teams from holders
      where 1 = 1 ${ofKind}) as totals
    left join page on true
    left join base on base.holder = page.id
    left join on_projects as op on op.holder = page.id and op.project_id = cast(${scope.projectId} as text)
    left join on_workspaces as ow on ow.holder = page.id and ow.workspace_id = cast(${scope.workspaceId} as text)
    left join memberships on memberships.holder = page.id
    left join teams as t on t.id = memberships.team_id
    left join records on records.holder = page.id and records.team_id = t.id
    order by page.name_key, page.id, t.name_key, t.id, records.kind, records.level`.execute(tx.db);
  const [first] = result.rows;
  return {
    rows: result.rows.filter((row) => row.id !== null),
    totalCount: Number(first?.totalCount ?? 0),
    hiddenTeams: Number(first?.hiddenTeams ?? 0),
  };
}
