/** SQL of Terraform versions. */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { setFact } from "../../../database/meta.ts";
import { prepared } from "../../../database/prepared.ts";
import type { EngineVersionTable } from "../../../database/schema/connections.ts";
import type { Page } from "../../../jsonapi/query.ts";
import type { SiteAdminProof } from "../../shared/administration.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type { VersionCandidate } from "./rules.ts";

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
  search: { page: Page; version: string | undefined; searchText: string | undefined },
): Promise<{ views: EngineVersionTable[]; totalCount: number }> {
  let rows = tx.db.selectFrom("engineVersions as v").selectAll("v");
  if (search.version) rows = rows.where("v.engineVersion", "=", search.version);
  else if (search.searchText) rows = rows.where(tx.dialect.contains(sql.ref("v.engineVersion"), search.searchText));
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

export async function candidateRows(tx: Tx): Promise<VersionCandidate[]> {
  return tx.db.selectFrom("engineVersions").select(["engineVersion", "enabled", "beta"]).execute();
}

const lastChange = "engine-versions-changed";

/** Changes with the versions, so that they can be cached. For a statement that reads more, too. */
export const versionsFingerprint = sql<string>`(
  (select count(*) from migrations) || ' ' || coalesce((select value from meta where name = ${sql.lit(lastChange)}), ''))`;

const fingerprint = prepared<object, { fingerprint: string }>((db) =>
  db.selectNoFrom(versionsFingerprint.as("fingerprint")),
);

export async function findFingerprint(tx: Tx): Promise<string> {
  const [row] = await fingerprint(tx, {});
  return row?.fingerprint ?? "";
}

/** Random, because a rolled-back transaction would reuse a counter's value. */
const markVersionsChanged = (tx: Tx) => setFact(tx, lastChange, randomUUID());

export async function isVersionTaken(tx: Tx, engineVersion: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("engineVersions")
    .select("id")
    .where("engineVersion", "=", engineVersion)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertVersion(tx: Tx, _by: SiteAdminProof, row: EngineVersionTable): Promise<void> {
  await tx.db.insertInto("engineVersions").values(row).execute();
  await markVersionsChanged(tx);
}

export async function updateVersionRow(
  tx: Tx,
  _by: SiteAdminProof,
  row: EngineVersionTable,
  changes: Partial<EngineVersionTable>,
): Promise<void> {
  await updateRow(tx, "engineVersions", row.id, changes);
  await markVersionsChanged(tx);
}

export async function deleteVersionRow(tx: Tx, _by: SiteAdminProof, row: EngineVersionTable): Promise<void> {
  await tx.db.deleteFrom("engineVersions").where("id", "=", row.id).execute();
  await markVersionsChanged(tx);
}
