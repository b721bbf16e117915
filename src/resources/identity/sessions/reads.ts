/** Reads of passwords for other modules. */
import type { Tx } from "../../../database/database.ts";

export async function loadPasswordHash(tx: Tx, userId: string): Promise<string | undefined> {
  const row = await tx.db.selectFrom("passwords").select("hash").where("userId", "=", userId).executeTakeFirst();
  return row?.hash;
}
