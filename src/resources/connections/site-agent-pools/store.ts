/** SQL of the site's agent pools. */
import { type Kysely, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { SiteAgentPoolTable } from "../../../database/schema/runs.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import type { SiteAdminProof } from "../../shared/administration.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import { liveAgentCount } from "../agent-pools/reads.ts";
import type { SiteAgentPoolView } from "./definition.ts";

function pools(tx: Tx) {
  return (tx.db as Kysely<Schema>)
    .selectFrom("siteAgentPools as p")
    .selectAll("p")
    .select([
      liveAgentCount(tx.dialect, sql`a.site_agent_pool_id = p.id`).as("agentCount"),
      sql<null>`null`.as("organizationId"),
    ]);
}

export async function findSiteAgentPool(tx: Tx, id: string, lock = false): Promise<SiteAgentPoolView | undefined> {
  const end = lock ? tx.dialect.lockRows("p", "removal") : sql``;
  return pools(tx).where("p.id", "=", id).modifyEnd(end).executeTakeFirst();
}

export async function findSiteAgentPoolNamed(tx: Tx, name: string): Promise<SiteAgentPoolView | undefined> {
  return pools(tx).where("p.nameKey", "=", fold(name)).executeTakeFirst();
}

export async function listSiteAgentPoolRows(
  tx: Tx,
  page: Page,
  searchText: string | undefined,
): Promise<{ views: SiteAgentPoolView[]; totalCount: number }> {
  let rows = pools(tx);
  if (searchText) rows = rows.where(containsWords(tx.dialect, [sql.ref("p.nameKey")], searchText));
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "p.nameKey" }, { column: "p.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("p.id")) },
  });
  return { views: found.rows, totalCount: found.totals.totalCount };
}

export async function insertSiteAgentPool(tx: Tx, _by: SiteAdminProof, row: SiteAgentPoolTable): Promise<void> {
  await tx.db.insertInto("siteAgentPools").values(row).execute();
}

export async function updateSiteAgentPoolRow(
  tx: Tx,
  pool: Granted<SiteAgentPoolView, "can-administer">,
  changes: Partial<SiteAgentPoolTable>,
): Promise<void> {
  await updateRow(tx, "siteAgentPools", pool.id, changes);
}

export async function deleteSiteAgentPoolRow(
  tx: Tx,
  pool: Granted<SiteAgentPoolView, "can-administer">,
): Promise<void> {
  await tx.db.deleteFrom("siteAgentPools").where("id", "=", pool.id).execute();
}
