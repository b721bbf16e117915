/** SQL of engine versions. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { EngineVersionTable } from "../../../database/schema/connections.ts";
import type { Page } from "../../../jsonapi/query.ts";
import type { Administration } from "../../shared/administration.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";

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
  else if (search.part) rows = rows.where(tx.dialect.contains(sql.ref("v.engineVersion"), search.part));
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

/** All of them, with what decides whether one may be the newest release. */
/** All of them as one text, because every new workspace asks and they hardly ever change: see `candidatesIn`. */
export async function knownVersions(tx: Tx): Promise<string> {
  const [row] = await findKnown(tx, {});
  return row?.known ?? "";
}

const findKnown = prepared<object, { known: string | null }>((db) =>
  db
    .selectFrom("engineVersions")
    .select(sql<string | null>`string_agg(engine_version || '/' || enabled || '/' || beta, ' ')`.as("known")),
);

export async function isVersionTaken(tx: Tx, engineVersion: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("engineVersions")
    .select("id")
    .where("engineVersion", "=", engineVersion)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertVersion(tx: Tx, _by: Administration, row: EngineVersionTable): Promise<void> {
  await tx.db.insertInto("engineVersions").values(row).execute();
}

export async function updateVersionRow(
  tx: Tx,
  _by: Administration,
  row: EngineVersionTable,
  changes: Partial<EngineVersionTable>,
): Promise<void> {
  await updateRow(tx, "engineVersions", row.id, changes);
}

export async function deleteVersionRow(tx: Tx, _by: Administration, row: EngineVersionTable): Promise<void> {
  await tx.db.deleteFrom("engineVersions").where("id", "=", row.id).execute();
}
