/** Lists of runs for a workspace, an organization, the queue and the site, with their filters. One statement each. */
import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from "kysely";
import { principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { nowMs } from "../../../kernel/time.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { readableCondition } from "../../register/workspaces/reads.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import type { SiteAdminProof } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import { countOf, fetchPage, type SortColumn } from "../../shared/paging.ts";
import { discardableStatuses } from "./state-machine.ts";
import { type RunCaller, runsForActor, type RunRow, toRunView } from "./store.ts";
import type { RunView } from "./view.ts";
import { openWithId } from "../../shared/open-organizations.ts";

type RunCondition = RawBuilder<SqlBool>;
type RunSelection = SelectQueryBuilder<any, any, any>;

export interface RunListQuery extends RunFilters {
  readonly page: Page;
}

const newestFirst: readonly SortColumn[] = [
  { column: "r.createdAt", descending: true },
  { column: "r.id", descending: true },
];
const withConditions = (query: RunSelection, conditions: readonly RunCondition[]): RunSelection =>
  conditions.reduce((found, condition) => found.where(condition), query);

const matchingIds = (tx: Tx, conditions: readonly RunCondition[]): RunSelection =>
  withConditions(
    tx.db
      .selectFrom("runs as r")
      .innerJoin("workspaces as w", "w.id", "r.workspaceId")
      .innerJoin("organizations as o", openWithId("r.organizationId"))
      .select("r.id"),
    conditions,
  );

async function pageOf(
  tx: Tx,
  context: RunCaller,
  conditions: readonly RunCondition[],
  { page, order }: { readonly page: Page; readonly order: readonly SortColumn[] },
): Promise<{ views: RunView[]; totalCount: number }> {
  const rows = withConditions(runsForActor(tx.db, principalOf(context.actor), tx.dialect), conditions);
  const found = await fetchPage<RunRow, "totalCount">(tx, {
    rows,
    order,
    page,
    totals: { totalCount: countOf(matchingIds(tx, conditions)) },
  });
  return { views: found.rows.map((row) => toRunView(row, context)), totalCount: found.totals.totalCount };
}

export async function pageOfWorkspaceRuns(
  tx: Tx,
  context: RunCaller,
  workspace: Granted<WorkspaceView, "can-read-run">,
  { page, ...filters }: RunListQuery,
): Promise<{ views: RunView[]; totalCount: number }> {
  const conditions = [
    sql<SqlBool>`r.organization_id = ${workspace.organizationId} and r.workspace_id = ${workspace.id}`,
    ...(filters.operations === undefined ? [sql<SqlBool>`r.plan_only = 0`] : []),
    ...conditionsOf(tx, workspace.organizationId, filters),
  ];
  return pageOf(tx, context, conditions, { page, order: [{ column: "r.position", descending: true }] });
}

const organizationConditions = (actor: Context["actor"], organization: OrganizationView): RunCondition[] => {
  const readable = readableCondition(actor, organization);
  return [
    sql<SqlBool>`r.organization_id = ${organization.id}`,
    ...(readable === undefined ? [] : [readable as unknown as RunCondition]),
  ];
};

/** Not counted, because there may be very many: one extra row shows whether there is another page. */
export async function pageOfOrganizationRuns(
  tx: Tx,
  context: RunCaller,
  organization: OrganizationView,
  { page, ...filters }: RunListQuery,
): Promise<{ views: RunView[]; hasMore: boolean }> {
  const conditions = [
    ...organizationConditions(context.actor, organization),
    ...conditionsOf(tx, organization.id, filters),
  ];
  const rows = (await withConditions(runsForActor(tx.db, principalOf(context.actor), tx.dialect), conditions)
    .orderBy("r.createdAt", "desc")
    .orderBy("r.id", "desc")
    .limit(page.size + 1)
    .offset((page.number - 1) * page.size)
    .execute()) as RunRow[];
  return { views: rows.slice(0, page.size).map((row) => toRunView(row, context)), hasMore: rows.length > page.size };
}

export async function pageOfQueue(
  tx: Tx,
  context: RunCaller,
  organization: OrganizationView,
  page: Page,
): Promise<{ views: RunView[]; totalCount: number }> {
  const isQueued = sql<SqlBool>`r.id in (
    select waiting.run_id from run_phases as waiting
    where waiting.organization_id = ${organization.id} and waiting.status = 'queued')`;
  return pageOf(tx, context, [...organizationConditions(context.actor, organization), isQueued], {
    page,
    order: [{ column: "positionInQueue" }],
  });
}

export interface SiteRunQuery {
  readonly page: Page;
  readonly statuses: readonly string[] | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly search: string | undefined;
}

export async function pageOfSiteRuns(
  tx: Tx,
  context: RunCaller,
  _by: SiteAdminProof,
  { page, statuses, from, to, search }: SiteRunQuery,
): Promise<{ views: RunView[]; totalCount: number }> {
  const conditions = conditionsOf(tx, undefined, { statuses });
  if (from !== undefined) conditions.push(sql<SqlBool>`r.created_at >= ${from}`);
  if (to !== undefined) conditions.push(sql<SqlBool>`r.created_at <= ${to}`);
  if (search) {
    const isNamed = containsWords(tx.dialect, [sql.ref("w.nameKey"), sql.ref("o.nameKey")], search);
    conditions.push(sql<SqlBool>`(r.id = ${search.trim()} or ${isNamed})`);
  }
  return pageOf(tx, context, conditions, { page, order: newestFirst });
}

export interface RunFilters {
  readonly operations?: readonly string[] | undefined;
  readonly statuses?: readonly string[] | undefined;
  readonly statusGroup?: string | undefined;
  readonly sources?: readonly string[] | undefined;
  readonly timeframe?: string | undefined;
  readonly agentPoolNames?: readonly string[] | undefined;
  readonly workspaceNames?: readonly string[] | undefined;
  readonly user?: string | undefined;
  readonly commit?: string | undefined;
  readonly basic?: string | undefined;
}

const matchesNone = sql<SqlBool>`1 = 0`;

function conditionsOf({ dialect }: Tx, organizationId: string | undefined, filters: RunFilters): RunCondition[] {
  const isOneOf = (column: string, values: readonly string[]) => dialect.isOneOf(sql.ref(column), values);
  const conditions: RunCondition[] = [];
  if (filters.operations !== undefined) conditions.push(isOneOf("r.operation", filters.operations));
  if (filters.statuses !== undefined) conditions.push(statusCondition(dialect.isOneOf, filters.statuses));
  if (filters.statusGroup !== undefined) conditions.push(groupCondition(filters.statusGroup));
  if (filters.sources !== undefined) conditions.push(isOneOf("r.source", filters.sources));
  if (filters.timeframe !== undefined) conditions.push(timeCondition(filters.timeframe));
  if (filters.workspaceNames !== undefined) conditions.push(isOneOf("w.name", filters.workspaceNames));
  if (filters.agentPoolNames !== undefined)
    conditions.push(sql<SqlBool>`r.agent_pool_id in (
      select id from agent_pools where organization_id = ${organizationId ?? ""}
        and ${dialect.isOneOf(sql.ref("name"), filters.agentPoolNames)})`);
  return [...conditions, ...searchConditions(dialect, filters)];
}

function statusCondition(isOneOf: Tx["dialect"]["isOneOf"], statuses: readonly string[]): RunCondition {
  const plain = isOneOf(sql.ref("r.status"), statuses);
  // A documented value; such runs show the status `canceled`.
  if (!statuses.includes("force_canceled")) return plain;
  return sql<SqlBool>`(${plain} or (r.status = 'canceled' and r.force_canceled_at is not null))`;
}

function groupCondition(group: string): RunCondition {
  if (group === "non_final") return sql<SqlBool>`r.ended_at is null`;
  if (group === "final") return sql<SqlBool>`r.ended_at is not null`;
  if (group === "discardable")
    return sql<SqlBool>`r.status in (${sql.join(discardableStatuses.map((status) => sql.lit(status)))})`;
  return matchesNone;
}

function timeCondition(timeframe: string): RunCondition {
  if (timeframe === "year") {
    const since = new Date(nowMs());
    since.setUTCFullYear(since.getUTCFullYear() - 1);
    return sql<SqlBool>`r.created_at >= ${since.toISOString()}`;
  }
  if (!/^[0-9]{4}$/.test(timeframe)) return matchesNone;
  return sql<SqlBool>`(r.created_at >= ${`${timeframe}-01-01`} and r.created_at < ${`${String(Number(timeframe) + 1).padStart(4, "0")}-01-01`})`;
}

function searchConditions(dialect: Tx["dialect"], { user, commit, basic }: RunFilters): RunCondition[] {
  // `lower` of both databases only changes ASCII letters.
  const lowerAscii = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  const textOf = (column: string) => sql<string>`lower(coalesce(${sql.ref(column)}, ''))`;
  const containsIn = (columns: readonly string[], search: string) =>
    containsWords(dialect, columns.map(textOf), search, lowerAscii);
  const found: RunCondition[] = [];
  if (user) found.push(containsIn(["r.createdByName"], user));
  if (commit) found.push(containsIn(["r.commitSha"], commit));
  if (basic && !user && !commit) found.push(containsIn(["r.createdByName", "r.commitSha", "r.id", "r.message"], basic));
  return found;
}
