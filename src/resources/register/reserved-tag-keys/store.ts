/** SQL of reserved tag keys. */
import { sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { ReservedTagKeyTable } from "../../../database/schema/workspaces.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { factsColumns, factsOf, type OrganizationView } from "../../identity/organizations/definition.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type { ReservedTagKeyView } from "./definition.ts";
import { openWithId } from "../../shared/open-organizations.ts";

export async function findReservedTagKey(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock,
): Promise<ReservedTagKeyView | undefined> {
  const row = await tx.db
    .selectFrom("reservedTagKeys as r")
    .innerJoin("organizations as o", openWithId("r.organizationId"))
    .selectAll("r")
    .select(factsColumns)
    .select(standingColumns(sql.ref("r.organizationId"), principalOf(actor)))
    .where("r.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "r", lock))
    .executeTakeFirst();
  return row && { ...row, standing: checkedStandingOf(actor, row) };
}

export async function listReservedTagKeyRows(tx: Tx, organization: OrganizationView, page: Page) {
  const rows = tx.db.selectFrom("reservedTagKeys").selectAll().where("organizationId", "=", organization.id);
  const result = await fetchPage(tx, {
    rows,
    order: [{ column: "key" }, { column: "id" }],
    page,
    totals: { totalCount: countOf(rows) },
  });
  return {
    views: result.rows.map((row): ReservedTagKeyView => reservedTagKeyViewIn(row, organization)),
    totalCount: result.totals.totalCount,
  };
}

export function reservedTagKeyViewIn(row: ReservedTagKeyTable, organization: OrganizationView): ReservedTagKeyView {
  return { ...row, ...factsOf(organization), standing: organization.standing };
}

export async function isKeyTaken(tx: Tx, organizationId: string, key: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("reservedTagKeys")
    .select("id")
    .where("organizationId", "=", organizationId)
    .where("key", "=", key)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertReservedTagKey(
  tx: Tx,
  _into: Granted<OrganizationView, "can-update">,
  row: ReservedTagKeyTable,
): Promise<void> {
  await tx.db.insertInto("reservedTagKeys").values(row).execute();
}

export async function updateReservedTagKeyRow(
  tx: Tx,
  reserved: Granted<ReservedTagKeyView, "can-update">,
  changes: Partial<ReservedTagKeyTable>,
): Promise<void> {
  await updateRow(tx, "reservedTagKeys", reserved.id, changes);
}

export async function deleteReservedTagKeyRow(
  tx: Tx,
  reserved: Granted<ReservedTagKeyView, "can-update">,
): Promise<void> {
  await tx.db.deleteFrom("reservedTagKeys").where("id", "=", reserved.id).execute();
}
