/** SQL of organizations for site admins, and of module consumers. */
import { type Kysely, type SqlBool, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import type { AdminOrganizationView } from "./definition.ts";
import type { OrganizationRef } from "./rules.ts";

interface AdminOrganizationRow extends OrganizationTable {
  readonly owners: string | null;
  readonly ownersVersion: number;
}

/** Includes organizations that are disabled or reject the caller's token. */
function selectOrganizations(db: Kysely<Schema>) {
  return db
    .selectFrom("openOrganizations as o")
    .selectAll("o")
    .select(
      sql<string | null>`(
        select string_agg(tm.user_id, ',' order by tm.user_id) from team_members as tm
        inner join teams as t on t.id = tm.team_id
        where t.organization_id = o.id and t.is_owners = 1 and tm.user_id is not null and ${inForce("tm")})`.as(
        "owners",
      ),
    )
    .select(
      sql<number>`(select version from teams where organization_id = o.id and is_owners = 1)`.as("ownersVersion"),
    );
}

function toView({ owners, ...row }: AdminOrganizationRow): AdminOrganizationView {
  return { ...row, ownerIds: owners === null ? [] : owners.split(",") };
}

export async function findAdminOrganization(
  tx: Tx,
  name: string,
  lock: RowLock = false,
): Promise<AdminOrganizationView | undefined> {
  const row = await selectOrganizations(tx.db)
    .where("o.nameKey", "=", fold(name))
    .modifyEnd(lockClause(tx.dialect, "o", lock))
    .executeTakeFirst();
  return row && toView(row);
}

export async function findAdminOrganizations(tx: Tx, ids: readonly string[]): Promise<AdminOrganizationView[]> {
  const rows = await selectOrganizations(tx.db)
    .where(tx.dialect.isOneOf(sql.ref("o.id"), ids))
    .orderBy("o.id")
    .execute();
  return rows.map(toView);
}

export interface AdminOrganizationSearch {
  readonly q: string | undefined;
  readonly name: string | undefined;
  readonly email: string | undefined;
  readonly sharesModules: boolean | undefined;
  readonly sharesProviders: boolean | undefined;
}

export async function listAdminOrganizationRows(tx: Tx, page: Page, search: AdminOrganizationSearch) {
  const [names, addresses] = [sql.ref<string>("o.nameKey"), sql<string>`lower(o.email)`];
  const { q, name, email, sharesModules, sharesProviders } = search;
  let rows = selectOrganizations(tx.db);
  if (q) rows = rows.where(containsWords(tx.dialect, [names, addresses], q));
  else {
    if (name) rows = rows.where(containsWords(tx.dialect, [names], name));
    if (email) rows = rows.where(containsWords(tx.dialect, [addresses], email));
  }
  if (sharesModules !== undefined) {
    const shares = sql<SqlBool>`(o.global_module_sharing = 1
      or exists (select 1 from module_consumers where organization_id = o.id))`;
    rows = rows.where(sharesModules ? shares : sql<SqlBool>`not ${shares}`);
  }
  if (sharesProviders !== undefined) rows = rows.where("o.globalProviderSharing", "=", Number(sharesProviders));
  return pageOf(tx, page, rows);
}

export async function listModuleConsumerRows(tx: Tx, page: Page, organizationId: string) {
  const rows = selectOrganizations(tx.db).where("o.id", "in", (query) =>
    query.selectFrom("moduleConsumers").select("consumerId").where("organizationId", "=", organizationId),
  );
  return pageOf(tx, page, rows);
}

async function pageOf(tx: Tx, page: Page, rows: ReturnType<typeof selectOrganizations>) {
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "nameKey" }, { column: "id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("o.id")) },
  });
  return { views: found.rows.map(toView), totalCount: found.totals.totalCount };
}

/** Locks in the order of ids. Writes that refer to other organizations must lock all of them first. */
export async function lockOrganizationsByName(
  tx: Tx,
  _by: Granted<unknown, "can-administer">,
  names: readonly string[],
): Promise<void> {
  await tx.db
    .selectFrom("openOrganizations as o")
    .select("o.id")
    .where(tx.dialect.isOneOf(sql.ref("o.nameKey"), names.map(fold)))
    .orderBy("o.id")
    .modifyEnd(tx.dialect.lockRows("o"))
    .execute();
}

export async function findOrganizationsByName(tx: Tx, names: readonly string[]): Promise<OrganizationRef[]> {
  return tx.db
    .selectFrom("openOrganizations")
    .select(["id", "nameKey"])
    .where(tx.dialect.isOneOf(sql.ref("nameKey"), names.map(fold)))
    .orderBy("id")
    .execute();
}

type AdministeredOrganization = Granted<AdminOrganizationView, "can-administer">;

export async function deleteModuleConsumers(tx: Tx, organization: AdministeredOrganization): Promise<string[]> {
  const removed = await tx.db
    .deleteFrom("moduleConsumers")
    .where("organizationId", "=", organization.id)
    .returning(sql<string>`(select name from organizations where id = consumer_id)`.as("name"))
    .execute();
  return removed.map(({ name }) => name).toSorted();
}

export async function insertModuleConsumers(
  tx: Tx,
  organization: AdministeredOrganization,
  consumers: readonly OrganizationRef[],
): Promise<void> {
  if (consumers.length === 0) return;
  await tx.db
    .insertInto("moduleConsumers")
    .values(consumers.map(({ id: consumerId }) => ({ organizationId: organization.id, consumerId })))
    .execute();
}
