/** Changes to OAuth clients that other modules request. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { updateRow } from "../../shared/versions.ts";

/** Increments the version when a token is added or deleted, because the document lists the tokens. */
export async function touchOauthClient(
  tx: Tx,
  { oauthClientId }: Granted<{ readonly oauthClientId: string }, "can-update-oauth">,
): Promise<void> {
  await updateRow(tx, "oauthClients", oauthClientId, {});
}
