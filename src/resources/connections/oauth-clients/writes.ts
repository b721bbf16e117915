/** Changes to OAuth clients that other modules request. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { updateRow } from "../../shared/versions.ts";

/** Call when a token is added or deleted, because the client's document lists its tokens. */
export async function touchOauthClient(
  tx: Tx,
  { oauthClientId }: Granted<{ readonly oauthClientId: string }, "can-update-oauth">,
): Promise<void> {
  await updateRow(tx, "oauthClients", oauthClientId, {});
}
