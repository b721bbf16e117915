/** Redeems authorization codes, and deletes old ones for the cleanup job. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import type { AuthorizationTable } from "../../../database/schema/identity.ts";
import { codeHash, newId } from "../../../kernel/ids.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { OauthError } from "../authentication-tokens/rules.ts";
import { issueSignInToken, revokeUserToken } from "../authentication-tokens/writes.ts";
import { authorizeSignIn } from "../sessions/rules.ts";
import { authorizations } from "./definition.ts";
import { isVerified } from "./rules.ts";
import { deleteOldAuthorizations, findAuthorization, lockTokenUser, markUsed } from "./store.ts";
import { sessionActor } from "../sessions/writes.ts";

/** While a used code is kept, sending it again revokes its token. */
const retentionMs = 86_400_000;

export const removeOldAuthorizations = (tx: Tx, by: Capability<"job">, limit: number): Promise<number> =>
  deleteOldAuthorizations(tx, by, new Date(nowMs() - retentionMs).toISOString(), limit);

export interface CodeRedemption {
  readonly code: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

export interface RedeemedToken {
  readonly token: string;
  readonly expiresInSeconds: number | undefined;
}

const invalidGrant = () =>
  new OauthError(
    "invalid_grant",
    "The code is invalid, has expired or was already used, or the client_id, redirect_uri or code_verifier doesn't match. Run terraform login again.",
  );

export async function redeemCode(context: Context, request: CodeRedemption): Promise<RedeemedToken> {
  const authorization = await findAuthorization(context.database.reader, codeHash(request.code));
  if (authorization === undefined) throw invalidGrant();
  // A code that is sent twice was intercepted; `redeem` revokes its token.
  if (authorization.tokenId === null && !isRedeemable(authorization, request)) throw invalidGrant();
  const redeemed = await context.database.write((tx) => redeem(tx, context, authorization));
  if (redeemed === undefined) throw invalidGrant();
  return redeemed;
}

const isRedeemable = (
  authorization: AuthorizationTable,
  { clientId, redirectUri, verifier }: CodeRedemption,
): boolean =>
  authorization.expiresAt > now() &&
  authorization.clientId === clientId &&
  authorization.redirectUri === redirectUri &&
  isVerified(verifier, authorization.codeChallenge);

async function redeem(tx: Tx, context: Context, authorization: AuthorizationTable): Promise<RedeemedToken | undefined> {
  const holder = await lockTokenUser(tx, authorization.userId);
  if (holder === undefined) return undefined;
  const user = authorizeSignIn(holder, true);
  const id = newId("authentication-tokens");
  const asUser = { ...context, actor: sessionActor(user, id) };
  if (!(await markUsed(tx, user, authorization.id, id))) {
    const used = await findAuthorization(tx, authorization.hash);
    if (used?.tokenId != null) await revokeUserToken(tx, asUser, user, used.tokenId);
    return undefined;
  }
  const { secret, createdAt, expiredAt } = await issueSignInToken(tx, asUser, user, {
    id,
    holder: { kind: "user", userId: user.id },
    isLegacy: false,
    description: authorization.name,
    expiredAt: authorization.tokenExpiresAt,
  });
  await recordEvent(tx, asUser, {
    organizationId: null,
    verb: "exchange",
    subject: { type: authorizations.type, id: authorization.id },
    after: { token: id, client: authorization.clientId, by: "terraform login" },
  });
  const seconds = expiredAt === null ? undefined : Math.floor((Date.parse(expiredAt) - Date.parse(createdAt)) / 1000);
  return { token: secret, expiresInSeconds: seconds };
}
