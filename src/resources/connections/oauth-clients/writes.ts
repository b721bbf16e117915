/** What neighbours have done to OAuth clients. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { updateRow } from "../../shared/versions.ts";

/** A token of the client came or went, and its document names the tokens. */
export async function touchOauthClient(
  tx: Tx,
  { oauthClientId }: Granted<{ readonly oauthClientId: string }, "can-update-oauth">,
): Promise<void> {
  await updateRow(tx, "oauthClients", oauthClientId, {});
}
