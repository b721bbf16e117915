/** SQL of authorizations. Codes are stored as hashes. */
import type { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow } from "../../../database/prepared.ts";
import type { AuthorizationTable, UserTable } from "../../../database/schema/identity.ts";
import type { InteractiveUser } from "./rules.ts";

export async function insertAuthorization(tx: Tx, _by: InteractiveUser, row: AuthorizationTable): Promise<void> {
  await insertRow(tx, "authorizations", row);
}

export async function findAuthorization(tx: Tx, hash: string): Promise<AuthorizationTable | undefined> {
  return tx.db.selectFrom("authorizations").selectAll().where("hash", "=", hash).executeTakeFirst();
}

export async function lockTokenUser(tx: Tx, userId: string): Promise<UserTable | undefined> {
  return tx.db
    .selectFrom("users as u")
    .selectAll("u")
    .where("u.id", "=", userId)
    .modifyEnd(tx.dialect.lockRows("u", "reference"))
    .executeTakeFirst();
}

export async function markUsed(
  tx: Tx,
  _by: Granted<UserTable, "can-sign-in">,
  id: string,
  tokenId: string,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("authorizations")
    .set({ tokenId })
    .where("id", "=", id)
    .where("tokenId", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function deleteOldAuthorizations(
  tx: Tx,
  _by: Capability<"job">,
  before: string,
  limit: number,
): Promise<number> {
  const removed = await tx.db
    .deleteFrom("authorizations")
    .where("id", "in", (rows) =>
      rows
        .selectFrom("authorizations as a")
        .select("a.id")
        .where("a.createdAt", "<", before)
        .orderBy("a.createdAt")
        .limit(limit)
        .modifyEnd(tx.dialect.lockRowsSkipLocked("a", "removal")),
    )
    .executeTakeFirst();
  return Number(removed.numDeletedRows);
}
