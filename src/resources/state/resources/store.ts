/** SQL of managed resources. */
import type { Tx } from "../../../database/database.ts";
import type { StateResourceTable } from "../../../database/schema/state.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fetchPage } from "../../shared/paging.ts";

/** The workspace keeps the number of its resources, so that nothing is counted. */
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
