/** What neighbours have done to OAuth tokens. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { OauthTokenTable } from "../../../database/schema/connections.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { Context } from "../../shared/context.ts";
import { newToken, secretOwner, sshKeyOwner } from "./rules.ts";
import { clearConnections, insertOauthToken, lockTokens, raiseWorkspaces, updateSecret } from "./store.ts";

/** On the client, or, for a new client's, on the organization. */
type Proof = Granted<object, "can-update-oauth">;

/** Makes a client's token, and gives its id. */
export async function addOauthToken(
  tx: Tx,
  { vault }: Pick<Context, "vault">,
  into: Proof,
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

/** A new secret under the same id. */
export async function replaceOauthToken(
  tx: Tx,
  { vault }: Pick<Context, "vault">,
  client: Proof,
  id: string,
  secret: string,
): Promise<void> {
  await updateSecret(tx, client, id, vault.seal(secretOwner(id), Buffer.from(secret)));
}

/** Before tokens go: workspaces that are connected by one lose their repository, and none can be connected meanwhile. */
export async function disconnectWorkspaces(tx: Tx, organizationId: string, tokenIds: readonly string[]): Promise<void> {
  if (tokenIds.length === 0) return;
  await lockTokens(tx, tokenIds);
  await clearConnections(tx, organizationId, tokenIds);
}

/** What the documents of connected workspaces show of their connection has changed. */
export async function touchWorkspaces(tx: Tx, organizationId: string, tokenIds: readonly string[]): Promise<void> {
  if (tokenIds.length > 0) await raiseWorkspaces(tx, organizationId, tokenIds);
}
