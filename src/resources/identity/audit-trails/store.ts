/** SQL that reads the audit log by page number. */
import type { Tx } from "../../../database/database.ts";
import type { AuditEventTable } from "../../../database/schema/audit.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";

/** New events move older ones to later pages, so a client that reads all pages misses none. */
export async function listAuditTrailPage(
  tx: Tx,
  organizationId: string,
  since: string | undefined,
  page: Page,
): Promise<{ events: AuditEventTable[]; totalCount: number }> {
  let found = tx.db.selectFrom("auditEvents as e").where("e.organizationId", "=", organizationId);
  if (since !== undefined) found = found.where("e.createdAt", ">", since);
  const { rows, totals } = await fetchPage(tx, {
    rows: found.selectAll("e"),
    order: [
      { column: "e.createdAt", descending: true },
      { column: "e.id", descending: true },
    ],
    page,
    totals: { totalCount: countOf(found.select("e.id")) },
  });
  return { events: rows, totalCount: totals.totalCount };
}
