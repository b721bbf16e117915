/** Changes to OAuth tokens that other modules request. */
import type { Granted } from "../../../access/granted.ts";
import { RetryTransaction, type Tx } from "../../../database/database.ts";
import type { OauthTokenTable } from "../../../database/schema/connections.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { Context } from "../../shared/context.ts";
import { newToken, secretOwner, sshKeyOwner } from "./rules.ts";
import { insertOauthToken, lockTokenRows, updateSecret } from "./store.ts";

/** For the client or, for a new client, for the organization. */
type OauthUpdateProof = Granted<object, "can-update-oauth">;

export async function addOauthToken(
  tx: Tx,
  { vault }: Pick<Context, "vault">,
  into: OauthUpdateProof,
  owner: Pick<OauthTokenTable, "organizationId" | "oauthClientId">,
  { secret, sshKey }: { readonly secret: string; readonly sshKey: string | null },
): Promise<string> {
  const row = newToken(owner, { id: newId("oauth-tokens"), createdAt: now() });
  await insertOauthToken(tx, into, {
    ...row,
    secret: vault.seal(secretOwner(row.id), Buffer.from(secret)),
    sshKey: sshKey === null ? null : vault.seal(sshKeyOwner(row.id), Buffer.from(sshKey)),
  });
  return row.id;
}

export async function replaceOauthToken(
  tx: Tx,
  { vault }: Pick<Context, "vault">,
  client: OauthUpdateProof,
  id: string,
  secret: string,
): Promise<void> {
  await updateSecret(tx, client, id, vault.seal(secretOwner(id), Buffer.from(secret)));
}

/** Call before the client is deleted. Throws `RetryTransaction` if it has other tokens than `known`. */
export async function lockTokensOfClient(
  tx: Tx,
  { id }: { readonly id: string },
  known: readonly string[],
): Promise<void> {
  const found = await lockTokenRows(tx, id);
  if (!found.every((token) => known.includes(token)))
    throw new RetryTransaction("a token was added to the client meanwhile");
}
