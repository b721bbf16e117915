/** Reads of OAuth tokens for other modules, and the permission check on a token. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { canReadConnections, organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import { connectionsNeed } from "../oauth-clients/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import type { OauthTokenView } from "./definition.ts";
import { secretOwner, sshKeyOwner } from "./rules.ts";
import { findOauthToken, findEncryptedToken, tokenRowsOf } from "./store.ts";

/** Throws `not-found` if the caller can't see the token. */
export async function loadOauthToken(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock: RowLock = false,
): Promise<OauthTokenView> {
  const token = await findOauthToken(tx, context.actor, id, lock);
  if (token === undefined || !canReadConnections(token.standing)) throw notFound("OAuth token");
  return token;
}

export function authorizeOauthToken(token: OauthTokenView): Granted<OauthTokenView, "can-update-oauth"> {
  return authorize(token, {
    thing: "OAuth token",
    permission: "can-update-oauth",
    visible: canReadConnections(token.standing),
    allowed: organizationPermissions(token.standing)["can-update-oauth"],
    needs: connectionsNeed,
  });
}

export async function loadTokensOfClients(
  tx: Tx,
  _context: Context,
  _ids: readonly string[],
  clientsByToken: ReadonlyMap<string, Pick<OauthTokenView, "id" | "organizationId" | "standing">>,
): Promise<OauthTokenView[]> {
  const clients = [...new Set(clientsByToken.values())];
  const [first] = clients;
  if (first === undefined) return [];
  const { organizationId, standing } = first;
  const rows = await tokenRowsOf(
    tx,
    organizationId,
    clients.map((client) => client.id),
  );
  return rows.map((row) => ({ ...row, standing }));
}

/** For the server itself, which fetches code and reports commit statuses without a caller. */
export interface DecryptedOauthToken {
  readonly oauthClientId: string;
  readonly serviceProvider: string;
  readonly apiUrl: string;
  readonly httpUrl: string;
  readonly secret: string | undefined;
  readonly sshKey: string | undefined;
}

export async function decryptOauthToken(
  tx: Tx,
  { vault }: Pick<Context, "vault">,
  id: string,
): Promise<DecryptedOauthToken | undefined> {
  const row = await findEncryptedToken(tx, id);
  if (row === undefined) return undefined;
  const decrypt = (owner: string, encrypted: Uint8Array | null) =>
    encrypted === null ? undefined : Buffer.from(vault.open(owner, encrypted)).toString();
  return {
    ...row,
    secret: decrypt(secretOwner(id), row.secret),
    sshKey: decrypt(sshKeyOwner(id), row.sshKey),
  };
}
