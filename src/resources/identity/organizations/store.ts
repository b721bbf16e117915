/** SQL of organizations. */
import { sql } from "kysely";
import { type Actor, isSiteAdmin, principalOf } from "../../../access/actor.ts";
import type { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { now } from "../../../kernel/time.ts";
import { isOpenTo, standingColumns, type StandingInput } from "../../shared/grants/reads.ts";
import { type RowLock, lockableStatement } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { executionDefaultColumns, incrementedWhenChanged, updateRow } from "../../shared/versions.ts";
import type { OrganizationView } from "./definition.ts";

export interface OrganizationRow extends OrganizationTable, StandingInput {}

const retentionColumns = (["id", "kind"] as const).map((column) =>
  sql<string | null>`(
    select ${sql.ref(column)} from data_retention_policies where organization_id = o.id and workspace_id is null)`.as(
    column === "id" ? "retentionId" : "retentionKind",
  ),
);

const byName = lockableStatement<{ nameKey: string; principal: string }, OrganizationRow>(
  "o",
  (db, { nameKey, principal }) =>
    db
      .selectFrom("openOrganizations as o")
      .selectAll("o")
      .select(standingColumns(sql.ref("o.id"), principal))
      .select(retentionColumns)
      .select(sql<number>`(select count(*) from site_operations)`.as("hasSiteRunners"))
      .where("o.nameKey", "=", nameKey),
);

/** A `change` lock blocks changes of the organization and exclusive locks in it; an `exclusive` one blocks every write in it. */
export async function findOrganization(
  tx: Tx,
  actor: Actor,
  name: string,
  lock: RowLock = false,
): Promise<OrganizationView | undefined> {
  const [row] = await byName(tx, { nameKey: fold(name), principal: principalOf(actor) }, lock);
  return row && toOrganizationView(actor, row);
}

export function toOrganizationView(actor: Actor, row: OrganizationRow): OrganizationView {
  return { ...row, standing: checkedStandingOf(actor, { ...row, organizationId: row.id }) };
}

export async function listOrganizationRows(
  tx: Tx,
  actor: Actor,
  page: Page,
  search: { q?: string | undefined; name?: string | undefined },
) {
  const principal = principalOf(actor);
  let rows = tx.db
    .selectFrom("openOrganizations as o")
    .selectAll("o")
    .select(standingColumns(sql.ref("o.id"), principal))
    .select(retentionColumns);
  if (actor.kind === "organization" || actor.kind === "team") rows = rows.where("o.id", "=", actor.organizationId);
  else if (!isSiteAdmin(actor)) {
    rows = rows.where("o.id", "in", (query) =>
      query
        .selectFrom("organizationMemberships as m")
        .select("m.organizationId")
        .where("m.userId", "=", principal)
        .where("m.status", "=", "active"),
    );
  }
  rows = rows.where(isOpenTo(actor));
  if (search.name) rows = rows.where(containsWords(tx.dialect, [sql.ref("o.nameKey")], search.name));
  if (search.q) rows = rows.where(containsWords(tx.dialect, [sql.ref("o.nameKey"), sql`lower(o.email)`], search.q));
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "nameKey" }, { column: "id" }],
    page,
    totals: { totalCount: countOf(rows) },
  });
  return { views: found.rows.map((row) => toOrganizationView(actor, row)), totalCount: found.totals.totalCount };
}

export async function insertOrganization(
  tx: Tx,
  _by: Granted<Actor, "can-create-organizations">,
  row: OrganizationTable,
): Promise<void> {
  await tx.db.insertInto("organizations").values(row).execute();
}

export async function isNameTaken(tx: Tx, name: string): Promise<boolean> {
  const row = await tx.db.selectFrom("organizations").select("id").where("nameKey", "=", fold(name)).executeTakeFirst();
  return row !== undefined;
}

/** Also increments the versions of documents that show the organization's name and defaults. */
export async function updateOrganizationRow(
  tx: Tx,
  organization: Granted<OrganizationTable, "can-update" | "can-administer">,
  changes: Partial<OrganizationTable>,
): Promise<void> {
  await updateRow(tx, "organizations", organization.id, {
    ...changes,
    ...incrementedWhenChanged(changes, "factsVersion", ["name", "assessmentsEnforced"]),
    ...incrementedWhenChanged(changes, "defaultsVersion", executionDefaultColumns),
  });
}

/** The job `closed-organizations` deletes what is in it. */
export async function closeOrganizationRow(
  tx: Tx,
  organization: Granted<OrganizationTable, "can-destroy" | "can-administer">,
): Promise<void> {
  await updateRow(tx, "organizations", organization.id, {
    closedAt: now(),
    // No name can be like this, so the name is free.
    nameKey: `/${organization.id}`,
    // Servers of an older version hide disabled organizations.
    isDisabled: 1,
  });
}

export async function findClosedOrganization({ db }: Tx): Promise<string | undefined> {
  const row = await db
    .selectFrom("organizations")
    .select("id")
    .where("closedAt", "is not", null)
    .orderBy("closedAt")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

export async function deleteClosedOrganization({ db }: Tx, _by: Capability<"job">, id: string): Promise<boolean> {
  const deletion = db.deleteFrom("organizations").where("id", "=", id).where("closedAt", "is not", null);
  return Number((await deletion.executeTakeFirst()).numDeletedRows) > 0;
}

export async function hasAgentPool(tx: Tx, organizationId: string, id: string): Promise<boolean> {
  const pool = await tx.db
    .selectFrom("agentPools")
    .select("id")
    .where("organizationId", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return pool !== undefined;
}

export async function deleteRowsOfClosed(
  { db, dialect }: Tx,
  _by: Capability<"job">,
  table: keyof Schema,
  organizationId: string,
  limit: number,
): Promise<number> {
  const rows = sql`select ${dialect.rowId} from ${sql.table(table)}
    where organization_id = ${organizationId} limit ${sql.lit(limit)}`;
  const deleted = await sql`delete from ${sql.table(table)} where ${dialect.rowIds(rows)}`.execute(db);
  return Number(deleted.numAffectedRows ?? 0);
}
