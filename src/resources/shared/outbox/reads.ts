/** What neighbours show of what was told by something of theirs. */
import type { Tx } from "../../../database/database.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { type KeptNotice, pageOfNotices } from "./store.ts";

export async function pageOfDeliveries(
  tx: Tx,
  by: { readonly organizationId: string; readonly id: string },
  page: Page,
): Promise<{ views: KeptNotice[]; totalCount: number }> {
  const { rows, totalCount } = await pageOfNotices(tx, by, page);
  return { views: rows, totalCount };
}
