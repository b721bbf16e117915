/** SQL of a page of reach: finds the ids in index order, then joins the records. The strategy depends on the number of matches. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { organizationBitsGivingAccess, type TeamAccessRow } from "../../../access/explain.ts";
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { Mask } from "../../../access/permission-set.ts";
import { meetsRequirement, visibilityBits, type TargetKind, type MaskRequirement } from "../../../access/reach.ts";
import type { Tx } from "../../../database/database.ts";
import { type PreparedStatement, prepared } from "../../../database/prepared.ts";
import { teamIsVisibleTo } from "../../identity/teams/visibility.ts";
import { membershipGroup } from "../../shared/grants/expiry.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { meetsRequirementSql, grantTables, bigintMask } from "../../shared/grants/sums.ts";

export interface ReachSearch {
  readonly organizationId: string;
  readonly principal: string;
  readonly everywhere: Mask;
  readonly required: Readonly<Record<TargetKind, MaskRequirement>>;
  readonly actor: Actor;
  readonly standing: OrganizationStanding;
  /** For the choice of a strategy. */
  readonly matching: number;
  readonly workspaces: number;
}

export type ReachPage = { readonly descending: boolean; readonly limit: number } & (
  | { readonly offset: number }
  | { readonly after: ReachPosition | undefined }
);

/** A project and a workspace can have the same name, so the id decides. */
export interface ReachPosition {
  readonly id: string;
  readonly name: string;
}

export interface ReachedTarget extends ReachPosition {
  readonly kind: TargetKind;
  readonly projectId: string;
  readonly projectName: string;
  readonly teamRows: readonly (TeamAccessRow & { readonly isVisibleToCaller: number })[];
}

/**
 * `granted`: the projects with a grant. `index-scan`: all workspaces in order, each checked. `sorted`: collects the matches, then sorts
 * them.
 */
type SearchStrategy = "none" | "all" | "granted" | "index-scan" | "sorted";

interface ReachStatementShape {
  readonly search: Readonly<Record<TargetKind, SearchStrategy>>;
  /** Whether the caller may be unable to see some of the matches. */
  readonly canHaveHidden: Readonly<Record<TargetKind, boolean>>;
  readonly seesSecretTeams: boolean;
  readonly descending: boolean;
  /** Shorter for pages past the middle; the order of the result is the same. */
  readonly fromEnd: boolean;
  readonly isAfter: boolean;
  /** Some engines plan only for a literal limit. */
  readonly first: number | undefined;
}

interface ReachParameters {
  readonly organizationId: string;
  readonly principal: string;
  readonly caller: string;
  readonly everywhere: Mask;
  readonly projectSees: Mask;
  readonly projectAny: Mask;
  readonly workspaceSees: Mask;
  readonly workspaceAny: Mask;
  readonly limit: number;
  readonly offset: number;
  readonly afterName: string;
  readonly afterId: string;
}

const requirementIn = (kind: TargetKind, p: ReachParameters) =>
  kind === "project"
    ? { sees: bigintMask(p.projectSees), any: bigintMask(p.projectAny) }
    : { sees: bigintMask(p.workspaceSees), any: bigintMask(p.workspaceAny) };

const projectsGiving = (kind: TargetKind, p: ReachParameters) =>
  sql`(select project_id from s_project_grants
    where ${meetsRequirementSql(sql<number>`(${bigintMask(p.everywhere)} | mask)`, requirementIn(kind, p))})`;

/** Workspaces that only their own grants give, not those of their project. */
function individualGrantsTable(p: ReachParameters): RawBuilder<unknown> {
  const onProject = sql<number>`(${bigintMask(p.everywhere)} | coalesce(g.mask, 0))`;
  const bits = requirementIn("workspace", p);
  return sql`individual_grants as materialized (
    select w.id as id, w.name as name from s_workspace_grants as x cross join workspaces as w
    left join s_project_grants as g on g.project_id = w.project_id
    where w.id = x.workspace_id and ${meetsRequirementSql(sql<number>`(${onProject} | x.mask)`, bits)}
      and not ${meetsRequirementSql(onProject, bits)})`;
}

function visibleConditions(shape: ReachStatementShape, kind: TargetKind, alias: "p" | "v"): RawBuilder<SqlBool>[] {
  if (!shape.canHaveHidden[kind]) return [];
  const bit = sql.lit(visibilityBits[kind]);
  const inProjects = sql`(select project_id from c_project_grants where (mask & ${bit}) <> 0)`;
  if (kind === "project") return [sql<SqlBool>`${sql.ref(`${alias}.id`)} in ${inProjects}`];
  return [
    sql<SqlBool>`(${sql.ref(`${alias}.project_id`)} in ${inProjects}
      or ${sql.ref(`${alias}.id`)} in (select workspace_id from c_workspace_grants where (mask & ${bit}) <> 0))`,
  ];
}

function afterConditions(shape: ReachStatementShape, p: ReachParameters, alias: "p" | "v"): RawBuilder<SqlBool>[] {
  if (!shape.isAfter) return [];
  const [nameOf, idOf] = [sql.ref(`${alias}.name`), sql.ref(`${alias}.id`)];
  return [sql<SqlBool>`(${nameOf}, ${idOf}) ${sql.raw(shape.descending ? "<" : ">")} (${p.afterName}, ${p.afterId})`];
}

const where = (conditions: readonly RawBuilder<SqlBool>[]) => sql`where ${sql.join(conditions, sql` and `)}`;
const inOrganization = ({ organizationId }: ReachParameters, alias: "p" | "v") =>
  sql<SqlBool>`${sql.ref(`${alias}.organization_id`)} = ${organizationId}`;

function projectParts(shape: ReachStatementShape, p: ReachParameters): RawBuilder<unknown>[] {
  const { project: search } = shape.search;
  if (search === "none") return [];
  const conditions = [
    inOrganization(p, "p"),
    ...(search === "all" ? [] : [sql<SqlBool>`p.id in ${projectsGiving("project", p)}`]),
    ...visibleConditions(shape, "project", "p"),
    ...afterConditions(shape, p, "p"),
  ];
  return [sql`select p.id as id, p.name as name from projects as p ${where(conditions)}`];
}

function workspaceParts(shape: ReachStatementShape, p: ReachParameters): RawBuilder<unknown>[] {
  const { workspace: search } = shape.search;
  if (search === "none") return [];
  const shared = [...visibleConditions(shape, "workspace", "v"), ...afterConditions(shape, p, "v")];
  const among = (conditions: readonly RawBuilder<SqlBool>[], from = sql`workspaces as v`) =>
    sql`select v.id as id, v.name as name from ${from}
      ${where([inOrganization(p, "v"), ...conditions, ...shared])}`;
  if (search === "all") return [among([])];
  const inProjects = sql<SqlBool>`v.project_id in ${projectsGiving("workspace", p)}`;
  if (search === "index-scan")
    return [among([sql<SqlBool>`(${inProjects} or v.id in (select id from individual_grants))`])];
  return [
    among([inProjects]),
    among([sql<SqlBool>`v.id = individual.id`], sql`individual_grants as individual cross join workspaces as v`),
  ];
}

const inOrder = (table: "" | "targets.", descending: boolean) => {
  const direction = sql.raw(descending ? "desc" : "asc");
  return sql`order by ${sql.raw(`${table}name`)} ${direction}, ${sql.raw(`${table}id`)} ${direction}`;
};

/** SQLite merges the parts in index order. PostgreSQL would sort all of them, unless a literal limits each part. */
function pageTable(shape: ReachStatementShape, p: ReachParameters): RawBuilder<unknown> {
  const parts = [...projectParts(shape, p), ...workspaceParts(shape, p)];
  const order = inOrder("", shape.descending !== shape.fromEnd);
  const limited = parts.map(
    (part, at) =>
      sql`select id, name from (${part} ${order} limit ${sql.lit(shape.first)}) as ${sql.table(`part_${at}`)}`,
  );
  return sql`${sql.join(shape.first === undefined ? parts : limited, sql` union all `)}
    ${order} limit ${p.limit} offset ${p.offset}`;
}

/** Includes a row without a team, for a site admin's access. */
function teamsTable(shape: ReachStatementShape, p: ReachParameters): RawBuilder<unknown> {
  return sql`subject_teams as materialized (
    select t.id as id, t.name as name, t.name_key as name_key, t.is_owners as is_owners, t.organization_access as organization_access,
      case when ${teamIsVisibleTo(p.caller, shape)} then 1 else 0 end as is_visible_to_caller,
      m.expires_at as membership_until, m.reason as membership_reason, ${membershipGroup("m")} as membership_group
    from s_own_teams cross join teams as t
    left join team_members as m
      on m.organization_id = t.organization_id and m.user_id = ${p.principal} and m.team_id = t.id and ${inForce("m")}
    where t.id = s_own_teams.team_id
    union all select null, null, null, null, null, null, null, null, null)`;
}

function statement(shape: ReachStatementShape, p: ReachParameters): RawBuilder<ReachRow> {
  const organizationId = sql<string>`${p.organizationId}`;
  return sql<ReachRow>`
    with ${grantTables("s_", organizationId, p.principal)}, ${grantTables("c_", organizationId, p.caller)},
    ${individualGrantsTable(p)},
    page as materialized (${pageTable(shape, p)}),
    targets as materialized (
      select page.id as id, page.name as name, w.id as workspace_id, p.id as project_id, p.name as project_name
      from page left join workspaces as w on w.id = page.id inner join projects as p on p.id = coalesce(w.project_id, page.id)),
    ${teamsTable(shape, p)}
    select targets.*, st.id as team_id, st.name as team_name, st.is_owners, st.organization_access, st.is_visible_to_caller,
      st.membership_until, st.membership_reason, st.membership_group,
      tp.id as project_record_id, tp.access as project_level, tp.permissions as project_permissions,
      tp.expires_at as project_until, tp.reason as project_reason,
      tw.id as workspace_record_id, tw.access as workspace_level, tw.permissions as workspace_permissions,
      tw.expires_at as workspace_until, tw.reason as workspace_reason
    from targets cross join subject_teams as st
    left join team_projects as tp
      on tp.organization_id = ${organizationId} and tp.project_id = targets.project_id and tp.team_id = st.id
        and ${inForce("tp")}
    left join team_workspaces as tw
      on tw.organization_id = ${organizationId} and tw.workspace_id = targets.workspace_id and tw.team_id = st.id
        and ${inForce("tw")}
    where st.id is null or tp.id is not null or tw.id is not null
      or (st.organization_access & ${sql.lit(organizationBitsGivingAccess)}) <> 0
    ${inOrder("targets.", shape.descending)}, st.name_key, st.id`;
}

const compiled = new Map<string, PreparedStatement<ReachParameters, ReachRow>>();

function statementFor(shape: ReachStatementShape): PreparedStatement<ReachParameters, ReachRow> {
  const key = JSON.stringify(shape);
  let found = compiled.get(key);
  if (found === undefined) {
    found = prepared<ReachParameters, ReachRow>((db, p) => {
      const text = statement(shape, p);
      return { compile: () => text.compile(db) };
    });
    compiled.set(key, found);
  }
  return found;
}

/** An index scan passes several workspaces for each match; sorting reads all matches. */
function isIndexScanShorter({ matching, workspaces }: ReachSearch, page: ReachPage): boolean {
  if ("after" in page) return true;
  const passed = ((page.offset + page.limit) * workspaces) / Math.max(matching, 1);
  return passed < matching;
}

function strategyFor(kind: TargetKind, search: ReachSearch, page: ReachPage): SearchStrategy {
  const requirement = search.required[kind];
  if (requirement.any === 0) return "none";
  if (meetsRequirement(search.everywhere, requirement)) return "all";
  if (kind === "project") return "granted";
  return isIndexScanShorter(search, page) ? "index-scan" : "sorted";
}

const canHaveHidden = ({ actor, standing, principal }: ReachSearch, kind: TargetKind): boolean =>
  (standing.organizationWideMask & visibilityBits[kind]) === 0 && principalOf(actor) !== principal;

/** Rounded, so that there are few different statements. */
const roundedLimit = (count: number): number => 2 ** Math.ceil(Math.log2(Math.max(count, 16)));

interface ReachWindow {
  readonly limit: number;
  readonly offset: number;
  readonly fromEnd: boolean;
}

function windowOf(page: ReachPage, matching: number): ReachWindow {
  if (!("offset" in page)) return { limit: page.limit, offset: 0, fromEnd: false };
  if (page.offset <= matching / 2) return { limit: page.limit, offset: page.offset, fromEnd: false };
  const limit = Math.min(page.limit, Math.max(0, matching - page.offset));
  return { limit, offset: Math.max(0, matching - page.offset - limit), fromEnd: true };
}

type ReachRow = Omit<ReachedTarget, "teamRows" | "kind"> & { readonly workspaceId: string | null } & {
  [Name in keyof TeamAccessRow]: TeamAccessRow[Name] | null;
} & { readonly isVisibleToCaller: number };

export async function findReached(tx: Tx, search: ReachSearch, page: ReachPage): Promise<ReachedTarget[]> {
  const { limit, offset, fromEnd } = windowOf(page, search.matching);
  const after = "after" in page ? page.after : undefined;
  const read: ReachPage = "offset" in page ? { ...page, limit, offset } : page;
  const shape: ReachStatementShape = {
    search: { project: strategyFor("project", search, read), workspace: strategyFor("workspace", search, read) },
    canHaveHidden: { project: canHaveHidden(search, "project"), workspace: canHaveHidden(search, "workspace") },
    seesSecretTeams: search.standing.seesSecretTeams,
    descending: page.descending,
    fromEnd,
    isAfter: after !== undefined,
    first: tx.dialect.plansBoundLimits ? undefined : roundedLimit(offset + limit),
  };
  if (shape.search.project === "none" && shape.search.workspace === "none") return [];
  const { organizationId, principal, everywhere, required } = search;
  const rows = await statementFor(shape)(tx, {
    organizationId,
    principal,
    caller: principalOf(search.actor),
    everywhere,
    projectSees: required.project.sees,
    projectAny: required.project.any,
    workspaceSees: required.workspace.sees,
    workspaceAny: required.workspace.any,
    limit,
    offset,
    afterName: after?.name ?? "",
    afterId: after?.id ?? "",
  });
  return groupByTarget(rows);
}

function groupByTarget(rows: readonly ReachRow[]): ReachedTarget[] {
  const found = new Map<string, ReachedTarget & { readonly teamRows: ReachedTarget["teamRows"][number][] }>();
  for (const { id, name, projectId, projectName, workspaceId, ...teamRow } of rows) {
    const kind: TargetKind = workspaceId === null ? "project" : "workspace";
    const target = found.get(id) ?? { id, name, kind, projectId, projectName, teamRows: [] };
    found.set(id, target);
    if (teamRow.teamId !== null) target.teamRows.push(teamRow as ReachedTarget["teamRows"][number]);
  }
  return [...found.values()];
}
