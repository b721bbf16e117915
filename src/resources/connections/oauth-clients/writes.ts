/** What neighbours have done to OAuth clients. */
import type { Tx } from "../../../database/database.ts";
import { updateRow } from "../../shared/versions.ts";

/** A token of the client came or went, and its document names the tokens. */
export async function touchOauthClient(tx: Tx, id: string): Promise<void> {
  await updateRow(tx, "oauthClients", id, {});
}
