/** SQL of managed resources. A caller who can read everything gets a walk along an index; others get collected and sorted rows. */
import { type RawBuilder, sql, type SqlBool } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { hasPermission } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import type { StateResourceTable } from "../../../database/schema/state.ts";
import type { Page } from "../../../jsonapi/query.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { collectedWorkspaces } from "../../register/workspaces/readable.ts";
import { fetchPage } from "../../shared/paging.ts";
import type { ManagedResourceView } from "./definition.ts";

export async function pageOfResources(
  tx: Tx,
  stateVersionId: string,
  totalCount: number,
  page: Page,
): Promise<{ rows: StateResourceTable[]; totalCount: number }> {
  const { rows } = await fetchPage(tx, {
    rows: tx.db.selectFrom("stateResources").selectAll().where("stateVersionId", "=", stateVersionId),
    order: [{ column: "address" }],
    page,
    totals: { totalCount },
  });
  return { rows, totalCount };
}

export interface ResourceSearch {
  readonly page: Page;
  readonly descending: boolean;
  readonly type: string | undefined;
  readonly provider: string | undefined;
  readonly module: string | undefined;
}

type CountedResourceRow = ManagedResourceView & { readonly totalCount: number };

export async function pageOfOrganization(
  tx: Tx,
  actor: Actor,
  organization: Pick<OrganizationView, "id" | "standing">,
  search: ResourceSearch,
): Promise<{ views: ManagedResourceView[]; totalCount: number }> {
  const { tables, from, total } = hasPermission(organization.standing.organizationWideMask, "runs", "read")
    ? allResources(organization.id, search)
    : readableResources(organization.id, principalOf(actor), search);
  const { number, size } = search.page;
  const direction = sql.raw(search.descending ? "desc" : "asc");
  // The state version breaks ties between workspaces, as in the indexes.
  const order = (table: string) =>
    sql`order by ${sql.ref(`${table}.address`)} ${direction}, ${sql.ref(`${table}.stateVersionId`)} ${direction}`;
  const { rows } = await sql<CountedResourceRow>`
    with ${tables}
    counted as materialized (select ${total} as total_count),
    page as materialized (select r.*, w.id as workspace_id from ${from} ${order("r")} limit ${size} offset ${(number - 1) * size})
    select * from counted left join page on true ${order("page")}`.execute(tx.db);
  return { views: rows.filter((row) => row.id !== null), totalCount: Number(rows[0]?.totalCount ?? 0) };
}

/** The condition of the partial indexes, whose entries have a maximum size. Only the workspace's list has larger resources. */
const isSmall = sql<SqlBool>`octet_length(r.address) + octet_length(r.type) + octet_length(r.provider) + octet_length(r.module) <= 2400`;

interface ResourcePageQuery {
  readonly tables: RawBuilder<unknown>;
  readonly from: RawBuilder<unknown>;
  readonly total: RawBuilder<number>;
}

function allResources(organizationId: string, search: ResourceSearch): ResourcePageQuery {
  const filters = filtersOf(search);
  const from = sql`state_resources as r cross join workspaces as w
    where ${all([sql<SqlBool>`r.organization_id = ${organizationId}`, isSmall, ...filters])} and w.organization_id = ${organizationId}
      and w.current_state_version_id = r.state_version_id and w.resource_count > 0`;
  const total =
    filters.length > 0
      ? sql<number>`(select count(*) from ${from})`
      : sql<number>`(select coalesce(sum(resource_count), 0) from workspaces
          where organization_id = ${organizationId} and current_state_version_id is not null)`;
  return { tables: sql``, from, total };
}

function readableResources(organizationId: string, principal: string, search: ResourceSearch): ResourcePageQuery {
  const columns = ["current_state_version_id", "resource_count"];
  const { tables, from: readable } = collectedWorkspaces(organizationId, principal, columns);
  const conditions = [
    sql<SqlBool>`r.state_version_id = w.current_state_version_id and w.resource_count > 0`,
    isSmall,
    ...filtersOf(search),
  ];
  const from = sql`${readable} cross join state_resources as r where ${all(conditions)}`;
  return { tables: sql`${tables},`, from, total: sql<number>`(select count(*) from ${from})` };
}

function filtersOf({ type, provider, module }: ResourceSearch): RawBuilder<SqlBool>[] {
  const filters = { type, provider, module };
  return Object.entries(filters).flatMap(([column, value]) =>
    value === undefined ? [] : [sql<SqlBool>`${sql.ref(`r.${column}`)} = ${value}`],
  );
}

const all = (conditions: readonly RawBuilder<SqlBool>[]) => sql.join(conditions, sql` and `);
