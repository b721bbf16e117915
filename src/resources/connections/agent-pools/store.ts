/** SQL of agent pools and of the projects and workspaces that they serve. */
import { crc32 } from "node:zlib";
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import { permissionBit, hasPermission } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import { containsWords, type Dialect } from "../../../database/dialect.ts";
import type { AgentPoolScopeTable, AgentPoolTable } from "../../../database/schema/connections.ts";
import type { Page, Sort } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { hasProjectGrant, hasWorkspaceGrant, standingColumns } from "../../shared/grants/reads.ts";
import { factsColumns, type OrganizationView } from "../../identity/organizations/definition.ts";
import type { ScopeTarget } from "../../shared/hooks.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { countOf, fetchPage, type SortColumn } from "../../shared/paging.ts";
import { readableCondition } from "../../register/workspaces/reads.ts";
import { updateRow } from "../../shared/versions.ts";
import type { AgentPoolView, PoolScopeKind, PoolScopes, UsingWorkspaces } from "./definition.ts";
import type { PoolUse } from "./rules.ts";
import { openWithId } from "../../shared/open-organizations.ts";

/** Ids joined by commas, which ids don't contain. */
const scopeList = (kind: PoolScopeKind) => sql<string | null>`(
  select string_agg(target_id, ',' order by target_id) from agent_pool_scopes
  where agent_pool_id = p.id and kind = ${kind})`;

/** No id begins with it. */
const hiddenPrefix = "-";

/** Prefixes each workspace that the caller's teams can't read with `hiddenPrefix`. */
function workspacesUsingPool(organizationId: Expression<string>, principal: string): RawBuilder<string | null> {
  const bit = permissionBit("runs", "read");
  return sql<string | null>`(
    select string_agg(case when ${hasProjectGrant(organizationId, sql.ref("w.projectId"), principal, bit)}
      or ${hasWorkspaceGrant(organizationId, sql.ref("w.id"), principal, bit)}
      then '' else ${sql.lit(hiddenPrefix)} end || w.id, ',' order by w.id)
    from workspaces as w where w.organization_id = p.organization_id and w.agent_pool_id = p.id)`;
}

export const agentTimeoutMs = 30_000;

export function liveAgentCount({ nowMs }: Dialect, ofPool: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`(
    select count(*) from agents as a
    where ${ofPool} and a.status in ('idle', 'busy') and a.last_ping_ms > ${nowMs} - ${sql.lit(agentTimeoutMs)})`;
}

function pools({ db, dialect }: Tx, organizationId: Expression<string>, principal: string) {
  return db
    .selectFrom("agentPools as p")
    .innerJoin("organizations as o", openWithId("p.organizationId"))
    .selectAll("p")
    .select(factsColumns)
    .select([
      scopeList("allowed-workspaces").as("allowedWorkspaces"),
      scopeList("allowed-projects").as("allowedProjects"),
      scopeList("excluded-workspaces").as("excludedWorkspaces"),
      workspacesUsingPool(organizationId, principal).as("usingList"),
      liveAgentCount(dialect, sql`a.agent_pool_id = p.id`).as("agentCount"),
    ]);
}
type PoolRow = Awaited<ReturnType<ReturnType<typeof pools>["executeTakeFirstOrThrow"]>>;

const idsIn = (list: string | null): string[] => (list === null ? [] : list.split(","));

function toPoolView(row: PoolRow, standing: OrganizationStanding): AgentPoolView {
  const { allowedWorkspaces, allowedProjects, excludedWorkspaces, usingList, ...pool } = row;
  const scopes: PoolScopes = {
    "allowed-workspaces": idsIn(allowedWorkspaces),
    "allowed-projects": idsIn(allowedProjects),
    "excluded-workspaces": idsIn(excludedWorkspaces),
  };
  return {
    ...pool,
    standing,
    scopes,
    usingWorkspaces: usingWorkspacesOf(idsIn(usingList), hasPermission(standing.organizationWideMask, "runs", "read")),
  };
}

function usingWorkspacesOf(marked: readonly string[], readsAll: boolean): UsingWorkspaces {
  const idOf = (id: string) => (id.startsWith(hiddenPrefix) ? id.slice(hiddenPrefix.length) : id);
  const readable = marked.filter((id) => readsAll || !id.startsWith(hiddenPrefix));
  return {
    ids: readable.map(idOf).sort(),
    checksum: marked.length === 0 ? 0 : crc32(marked.map(idOf).sort().join()),
  };
}

export interface PoolLoadOptions {
  readonly lock?: RowLock;
}

/** A separate statement, because a statement that waits for a row lock reads its subqueries as of before the wait. */
async function lockPool(tx: Tx, id: string, lock: RowLock): Promise<void> {
  await tx.db
    .selectFrom("agentPools as p")
    .innerJoin("organizations as o", openWithId("p.organizationId"))
    .select("p.id")
    .where("p.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "p", lock))
    .execute();
}

/** Not a column of `p`, so that the engines evaluate it once and not for each workspace. */
const organizationOf = (id: string) => sql<string>`(select organization_id from agent_pools where id = ${id})`;

export async function findAgentPool(
  tx: Tx,
  actor: Actor,
  id: string,
  { lock = false }: PoolLoadOptions = {},
): Promise<AgentPoolView | undefined> {
  if (lock !== false) await lockPool(tx, id, lock);
  const row = await pools(tx, organizationOf(id), principalOf(actor))
    .select(standingColumns(sql.ref("p.organizationId"), principalOf(actor)))
    .where("p.id", "=", id)
    .executeTakeFirst();
  return row && toPoolView(row, checkedStandingOf(actor, row));
}

export interface AgentPoolSearch {
  readonly page: Page;
  readonly sort: Sort<"name" | "created-at"> | undefined;
  readonly searchText: string | undefined;
  readonly workspaceName: string | undefined;
  readonly projectName: string | undefined;
}

export async function listAgentPoolRows(
  tx: Tx,
  actor: Actor,
  organization: OrganizationView,
  search: AgentPoolSearch,
): Promise<{ views: AgentPoolView[]; totalCount: number }> {
  let rows = pools(tx, sql<string>`${organization.id}`, principalOf(actor)).where(
    "p.organizationId",
    "=",
    organization.id,
  );
  if (search.searchText) rows = rows.where(containsWords(tx.dialect, [sql.ref("p.nameKey")], search.searchText));
  if (search.workspaceName) rows = rows.where(servesNamedWorkspace(actor, organization, search.workspaceName));
  if (search.projectName) rows = rows.where(servesNamedProject(actor, organization, search.projectName));
  const found = await fetchPage(tx, {
    rows,
    order: orderOf(search.sort),
    page: search.page,
    totals: { totalCount: countOf(rows.clearSelect().select("p.id")) },
  });
  return {
    views: found.rows.map((row) => toPoolView(row, organization.standing)),
    totalCount: found.totals.totalCount,
  };
}

function orderOf(sort: AgentPoolSearch["sort"]): SortColumn[] {
  const descending = sort?.descending ?? false;
  return [
    { column: sort?.key === "created-at" ? "p.createdAt" : "p.nameKey", descending },
    { column: "p.id", descending },
  ];
}

export function usesAnyPool(tx: Tx, views: readonly AgentPoolView[]): RawBuilder<boolean> {
  const ids = views.map((pool) => pool.id);
  return tx.dialect.isOneOf(sql.ref("w.agentPoolId"), ids) as RawBuilder<boolean>;
}

export function poolServesCondition(
  projectId: Expression<string>,
  workspaceId?: Expression<string>,
): RawBuilder<SqlBool> {
  const isListed = (kind: PoolScopeKind, id: Expression<string>) => sql<SqlBool>`exists (
    select 1 from agent_pool_scopes as s where s.agent_pool_id = p.id and s.kind = ${kind} and s.target_id = ${id})`;
  const ofProject = sql<SqlBool>`p.organization_scoped = 1 or ${isListed("allowed-projects", projectId)}`;
  if (workspaceId === undefined) return sql<SqlBool>`(${ofProject})`;
  return sql<SqlBool>`((${ofProject} or ${isListed("allowed-workspaces", workspaceId)})
    and not ${isListed("excluded-workspaces", workspaceId)})`;
}

/** No pool serves a workspace that the caller can't read, as if it didn't exist. */
function servesNamedWorkspace(actor: Actor, organization: OrganizationView, name: string): RawBuilder<SqlBool> {
  const readable = readableCondition(actor, organization) ?? sql<SqlBool>`1 = 1`;
  return sql<SqlBool>`exists (
    select 1 from workspaces as w
    where w.organization_id = ${organization.id} and w.name = ${name} and ${readable}
      and ${poolServesCondition(sql.ref("w.project_id"), sql.ref("w.id"))})`;
}

function servesNamedProject(actor: Actor, { id, standing }: OrganizationView, name: string): RawBuilder<SqlBool> {
  const bit = permissionBit("settings", "read");
  const readable =
    (standing.organizationWideMask & bit) === bit
      ? sql<SqlBool>`1 = 1`
      : hasProjectGrant(sql<string>`${id}`, sql.ref("j.id"), principalOf(actor), bit);
  return sql<SqlBool>`exists (
    select 1 from projects as j
    where j.organization_id = ${id} and j.name_key = ${fold(name)} and ${readable} and ${poolServesCondition(sql.ref("j.id"))})`;
}

export async function isServingTarget(tx: Tx, target: ScopeTarget, agentPoolId: string): Promise<boolean> {
  const { organizationId, projectId, workspaceId } = target;
  const workspace = workspaceId === undefined ? undefined : sql<string>`${workspaceId}`;
  const row = await tx.db
    .selectFrom("agentPools as p")
    .select(
      sql<number>`case when ${poolServesCondition(sql<string>`${projectId}`, workspace)} then 1 else 0 end`.as(
        "serving",
      ),
    )
    .where("p.organizationId", "=", organizationId)
    .where("p.id", "=", agentPoolId)
    .executeTakeFirst();
  return row === undefined || row.serving === 1;
}

/** The caller has locked the organization and the pool, so that no project, workspace or organization default can start to use the pool. */
export async function findPoolUse(tx: Tx, pool: Granted<AgentPoolView, "can-update-agent-pools">): Promise<PoolUse> {
  const count = (table: string, column: string) =>
    sql<number>`(select count(*) from ${sql.table(table)} where organization_id = o.id and ${sql.ref(column)} = ${pool.id})`;
  const row = await tx.db
    .selectFrom("openOrganizations as o")
    .select("o.defaultAgentPoolId")
    .select([
      count("projects", "default_agent_pool_id").as("projectCount"),
      count("workspaces", "agent_pool_id").as("workspaceCount"),
    ])
    .where("o.id", "=", pool.organizationId)
    .executeTakeFirstOrThrow();
  return {
    isDefault: row.defaultAgentPoolId === pool.id,
    projectCount: Number(row.projectCount),
    workspaceCount: Number(row.workspaceCount),
  };
}

export async function isAgentPoolNameTaken(tx: Tx, organizationId: string, name: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("agentPools")
    .select("id")
    .where("organizationId", "=", organizationId)
    .where("nameKey", "=", fold(name))
    .executeTakeFirst();
  return row !== undefined;
}

export async function findTargets(
  tx: Tx,
  organizationId: string,
  ids: { readonly workspaces: readonly string[]; readonly projects: readonly string[] },
): Promise<{ workspaces: Set<string>; projects: Set<string> }> {
  const { isOneOf } = tx.dialect;
  const { rows } = await sql<{ kind: string; id: string }>`
    select 'workspaces' as kind, id from workspaces
    where organization_id = ${organizationId} and ${isOneOf(sql.ref("id"), ids.workspaces)}
    union all
    select 'projects' as kind, id from projects
    where organization_id = ${organizationId} and ${isOneOf(sql.ref("id"), ids.projects)}`.execute(tx.db);
  const idsOf = (kind: string) => new Set(rows.filter((row) => row.kind === kind).map((row) => row.id));
  return { workspaces: idsOf("workspaces"), projects: idsOf("projects") };
}

export async function insertAgentPool(
  tx: Tx,
  into: Granted<OrganizationView, "can-update-agent-pools">,
  row: AgentPoolTable,
  scopes: readonly AgentPoolScopeTable[],
): Promise<void> {
  await tx.db.insertInto("agentPools").values(row).execute();
  await insertScopes(tx, into, scopes);
}

/** `_of` is the pool or, for a new pool, the organization. */
export async function insertScopes(
  tx: Tx,
  _of: Granted<object, "can-update-agent-pools">,
  rows: readonly AgentPoolScopeTable[],
): Promise<void> {
  if (rows.length > 0) await tx.db.insertInto("agentPoolScopes").values(rows).execute();
}

export async function deleteScopes(
  tx: Tx,
  pool: Granted<AgentPoolView, "can-update-agent-pools">,
  kinds: readonly string[],
): Promise<void> {
  if (kinds.length === 0) return;
  await tx.db
    .deleteFrom("agentPoolScopes")
    .where("agentPoolId", "=", pool.id)
    .where(tx.dialect.isOneOf(sql.ref("kind"), kinds))
    .execute();
}

export async function updateAgentPoolRow(
  tx: Tx,
  pool: Granted<AgentPoolView, "can-update-agent-pools">,
  changes: Partial<AgentPoolTable>,
): Promise<void> {
  await updateRow(tx, "agentPools", pool.id, changes);
}

export async function deleteAgentPoolRow(
  tx: Tx,
  pool: Granted<AgentPoolView, "can-update-agent-pools">,
): Promise<void> {
  await tx.db.deleteFrom("agentPools").where("id", "=", pool.id).execute();
}
