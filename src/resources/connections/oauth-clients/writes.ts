/** What neighbours have done to OAuth clients. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";

/** A token of the client came or went, and its document names the tokens. */
export async function touchOauthClient(tx: Tx, id: string): Promise<void> {
  await tx.db
    .updateTable("oauthClients")
    .set({ version: sql`version + 1` })
    .where("id", "=", id)
    .execute();
}
