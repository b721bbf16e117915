/** SQL of engine versions. */
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { EngineVersionTable } from "../../../database/schema/connections.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";

export async function findVersion(tx: Tx, id: string, lock = false): Promise<EngineVersionTable | undefined> {
  return tx.db
    .selectFrom("engineVersions as v")
    .selectAll("v")
    .where("v.id", "=", id)
    .$if(lock, (query) => query.modifyEnd(tx.dialect.lockRows("v")))
    .executeTakeFirst();
}

export async function listVersionRows(
  tx: Tx,
  search: { page: Page; version: string | undefined; part: string | undefined },
): Promise<{ views: EngineVersionTable[]; totalCount: number }> {
  let rows = tx.db.selectFrom("engineVersions as v").selectAll("v");
  if (search.version) rows = rows.where("v.engineVersion", "=", search.version);
  if (search.part) rows = rows.where(tx.dialect.contains(sql.ref("v.engineVersion"), search.part));
  const found = await fetchPage(tx, {
    rows,
    order: [
      { column: "createdAt", descending: true },
      { column: "id", descending: true },
    ],
    page: search.page,
    totals: { totalCount: countOf(rows.clearSelect().select("v.id")) },
  });
  return { views: found.rows, totalCount: found.totals.totalCount };
}

/** All that were added, with what decides whether one may be the newest release. */
export async function addedVersions(tx: Tx): Promise<Pick<EngineVersionTable, "engineVersion" | "enabled" | "beta">[]> {
  return tx.db.selectFrom("engineVersions").select(["engineVersion", "enabled", "beta"]).execute();
}

export async function isVersionTaken(tx: Tx, engineVersion: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("engineVersions")
    .select("id")
    .where("engineVersion", "=", engineVersion)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertVersion(tx: Tx, row: Granted<EngineVersionTable, "can-update">): Promise<void> {
  await tx.db.insertInto("engineVersions").values(row).execute();
}

export async function updateVersionRow(
  tx: Tx,
  row: Granted<EngineVersionTable, "can-update">,
  changes: Partial<EngineVersionTable>,
): Promise<void> {
  await tx.db
    .updateTable("engineVersions")
    .set({ ...changes, version: row.version + 1 })
    .where("id", "=", row.id)
    .execute();
}

export async function deleteVersionRow(tx: Tx, row: Granted<EngineVersionTable, "can-destroy">): Promise<void> {
  await tx.db.deleteFrom("engineVersions").where("id", "=", row.id).execute();
}
