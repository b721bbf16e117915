/** Lists of runs: of a workspace, of an organization, of the site, and what waits. One statement each. */
import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from "kysely";
import { principalOf } from "../../../access/actor.ts";
import { standingOf } from "../../../access/organization.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { readableCondition } from "../../register/workspaces/reads.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import type { Administration } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { countOf, fetchPage, type Order } from "../../shared/paging.ts";
import { conditionsOf, type RunFilters } from "./search.ts";
import { runsForActor, type RunRow, toRunView } from "./store.ts";
import type { RunView } from "./view.ts";

type Caller = Pick<Context, "actor" | "vault">;
type Condition = RawBuilder<SqlBool>;
type Rows = SelectQueryBuilder<any, any, any>;

export interface RunSearch extends RunFilters {
  readonly page: Page;
}

const newest: readonly Order[] = [
  { column: "r.createdAt", descending: true },
  { column: "r.id", descending: true },
];
const only = (query: Rows, conditions: readonly Condition[]): Rows =>
  conditions.reduce((found, condition) => found.where(condition), query);

/** Every run that is meant, with no more than what the conditions are about. */
const counted = (tx: Tx, conditions: readonly Condition[]): Rows =>
  only(
    tx.db
      .selectFrom("runs as r")
      .innerJoin("workspaces as w", "w.id", "r.workspaceId")
      .innerJoin("organizations as o", "o.id", "r.organizationId")
      .select("r.id"),
    conditions,
  );

async function pageOf(
  tx: Tx,
  context: Caller,
  conditions: readonly Condition[],
  { page, order }: { readonly page: Page; readonly order: readonly Order[] },
): Promise<{ views: RunView[]; totalCount: number }> {
  const rows = only(runsForActor(tx.db, principalOf(context.actor), tx.dialect), conditions);
  const found = await fetchPage<RunRow, "totalCount">(tx, {
    rows,
    order,
    page,
    totals: { totalCount: countOf(counted(tx, conditions)) },
  });
  return { views: found.rows.map((row) => toRunView(row, context)), totalCount: found.totals.totalCount };
}

/** The newest first. Plans alone are left out unless they are asked for by name. */
export async function pageOfWorkspaceRuns(
  tx: Tx,
  context: Caller,
  workspace: Granted<WorkspaceView, "can-read-run">,
  { page, ...filters }: RunSearch,
): Promise<{ views: RunView[]; totalCount: number }> {
  const conditions = [
    sql<SqlBool>`r.organization_id = ${workspace.organizationId} and r.workspace_id = ${workspace.id}`,
    ...(filters.operations === undefined ? [sql<SqlBool>`r.plan_only = 0`] : []),
    ...conditionsOf(tx, workspace.organizationId, filters),
  ];
  return pageOf(tx, context, conditions, { page, order: [{ column: "r.position", descending: true }] });
}

const inOrganization = (actor: Context["actor"], organization: OrganizationView): Condition[] => {
  const readable = readableCondition(actor, organization);
  return [
    sql<SqlBool>`r.organization_id = ${organization.id}`,
    ...(readable === undefined ? [] : [readable as unknown as Condition]),
  ];
};

/** The newest first, without a count of all: there may be very many. One more than the page holds tells whether there is another. */
export async function pageOfOrganizationRuns(
  tx: Tx,
  context: Caller,
  organization: OrganizationView,
  { page, ...filters }: RunSearch,
): Promise<{ views: RunView[]; hasMore: boolean }> {
  const conditions = [...inOrganization(context.actor, organization), ...conditionsOf(tx, organization.id, filters)];
  const rows = (await only(runsForActor(tx.db, principalOf(context.actor), tx.dialect), conditions)
    .orderBy("r.createdAt", "desc")
    .orderBy("r.id", "desc")
    .limit(page.size + 1)
    .offset((page.number - 1) * page.size)
    .execute()) as RunRow[];
  return { views: rows.slice(0, page.size).map((row) => toRunView(row, context)), hasMore: rows.length > page.size };
}

/** What waits to be executed, in the order in which it is handed out. */
export async function pageOfQueue(
  tx: Tx,
  context: Caller,
  organization: OrganizationView,
  page: Page,
): Promise<{ views: RunView[]; totalCount: number }> {
  const waits = sql<SqlBool>`r.id in (
    select waiting.run_id from run_phases as waiting
    where waiting.organization_id = ${organization.id} and waiting.status = 'queued')`;
  return pageOf(tx, context, [...inOrganization(context.actor, organization), waits], {
    page,
    order: [{ column: "positionInQueue" }],
  });
}

export interface Capacity {
  readonly organizationName: string;
  readonly pending: number;
  readonly running: number;
}

/** How many jobs of an organization wait, and how many are executed. One statement; undefined where the caller may not know of it. */
export async function capacityOf(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  organizationName: string,
): Promise<Capacity | undefined> {
  const count = (status: string) =>
    sql<number>`(select count(*) from run_phases where organization_id = o.id and status = ${sql.lit(status)})`;
  const row = await tx.db
    .selectFrom("organizations as o")
    .select(["o.id as organizationId", "o.name as organizationName"])
    .select([count("queued").as("pending"), count("running").as("running")])
    .select(standingColumns(sql.ref("o.id"), principalOf(actor)))
    .where("o.nameKey", "=", fold(organizationName))
    .executeTakeFirst();
  if (row === undefined || !standingOf(actor, row).member) return undefined;
  return { organizationName: row.organizationName, pending: Number(row.pending), running: Number(row.running) };
}

export interface AdminSearch {
  readonly page: Page;
  readonly statuses: readonly string[] | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly part: string | undefined;
}

/** Of all organizations, for whoever administers the site. */
export async function pageOfSiteRuns(
  tx: Tx,
  context: Caller,
  _by: Administration,
  { page, statuses, from, to, part }: AdminSearch,
): Promise<{ views: RunView[]; totalCount: number }> {
  const conditions = conditionsOf(tx, undefined, { statuses });
  if (from !== undefined) conditions.push(sql<SqlBool>`r.created_at >= ${from}`);
  if (to !== undefined) conditions.push(sql<SqlBool>`r.created_at <= ${to}`);
  if (part) {
    const isNamed = containsWords(tx.dialect, [sql.ref("w.nameKey"), sql.ref("o.nameKey")], part);
    conditions.push(sql<SqlBool>`(r.id = ${part.trim()} or ${isNamed})`);
  }
  return pageOf(tx, context, conditions, { page, order: newest });
}
