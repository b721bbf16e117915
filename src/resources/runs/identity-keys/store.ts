/** SQL for the signing keys of workload identity tokens. There are only a few. */
import type { Tx } from "../../../database/database.ts";
import type { IdentityKeyTable } from "../../../database/schema/runs.ts";

export async function findKeys(tx: Tx): Promise<IdentityKeyTable[]> {
  return tx.db.selectFrom("identityKeys").selectAll().orderBy("createdAt", "desc").orderBy("id", "desc").execute();
}

export async function insertKey(tx: Tx, key: IdentityKeyTable): Promise<void> {
  await tx.db.insertInto("identityKeys").values(key).execute();
}

export async function deleteKeys(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.db.deleteFrom("identityKeys").where("id", "in", ids).execute();
}
