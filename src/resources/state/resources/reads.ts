/** Reads of managed resources for other resources. */
import type { Tx } from "../../../database/database.ts";

export async function countResources(tx: Tx, stateVersionId: string): Promise<number> {
  const { count } = await tx.db
    .selectFrom("stateResources")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("stateVersionId", "=", stateVersionId)
    .executeTakeFirstOrThrow();
  return Number(count);
}
