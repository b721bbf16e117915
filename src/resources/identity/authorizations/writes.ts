/** What is done for a program that sends a code, and by the job that tidies up. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import type { AuthorizationTable } from "../../../database/schema/identity.ts";
import { codeHash, newId } from "../../../kernel/ids.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { GrantFault } from "../authentication-tokens/rules.ts";
import { issueSignInToken, takeTokenBack } from "../authentication-tokens/writes.ts";
import { signedIn } from "../sessions/rules.ts";
import { authorizations } from "./definition.ts";
import { isVerified } from "./rules.ts";
import { deleteOldAuthorizations, findAuthorization, holdHolder, markUsed } from "./store.ts";
import { sessionActor } from "../sessions/writes.ts";

/** For so long a code that is sent twice is known as such, and takes the token back. */
const keptMs = 86_400_000;

export const removeOldAuthorizations = (tx: Tx, by: Capability<"job">, limit: number): Promise<number> =>
  deleteOldAuthorizations(tx, by, new Date(nowMs() - keptMs).toISOString(), limit);

export interface Redemption {
  readonly code: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

export interface Redeemed {
  readonly token: string;
  /** Undefined for one that never ends. */
  readonly expiresInSeconds: number | undefined;
}

const refused = () =>
  new GrantFault(
    "invalid_grant",
    "The code is not right, was sent before or has ended, or the client_id, redirect_uri or code_verifier is not the one that it was made for. Begin again: terraform login.",
  );

/** Raises GrantFault. */
export async function redeemCode(context: Context, asked: Redemption): Promise<Redeemed> {
  const authorization = await findAuthorization(context.database.reader, codeHash(asked.code));
  if (authorization === undefined) throw refused();
  // A code that comes twice was overheard, whoever was first: nobody keeps what it gave.
  if (authorization.tokenId === null && !fits(authorization, asked)) throw refused();
  const redeemed = await context.database.write((tx) => redeem(tx, context, authorization));
  if (redeemed === undefined) throw refused();
  return redeemed;
}

const fits = (authorization: AuthorizationTable, { clientId, redirectUri, verifier }: Redemption): boolean =>
  authorization.expiresAt > now() &&
  authorization.clientId === clientId &&
  authorization.redirectUri === redirectUri &&
  isVerified(verifier, authorization.codeChallenge);

/** Undefined for a code that was sent before, or of somebody who has gone. */
async function redeem(tx: Tx, context: Context, authorization: AuthorizationTable): Promise<Redeemed | undefined> {
  const holder = await holdHolder(tx, authorization.userId);
  if (holder === undefined) return undefined;
  const user = signedIn(holder, true);
  const id = newId("authentication-tokens");
  const coming = { ...context, actor: sessionActor(user, id) };
  if (!(await markUsed(tx, user, authorization.id, id))) {
    const again = await findAuthorization(tx, authorization.hash);
    if (again?.tokenId != null) await takeTokenBack(tx, coming, user, again.tokenId);
    return undefined;
  }
  const { secret, createdAt, expiredAt } = await issueSignInToken(tx, coming, user, {
    id,
    holder: { kind: "user", userId: user.id },
    isLegacy: false,
    description: authorization.name,
    expiredAt: authorization.tokenExpiresAt,
  });
  await recordEvent(tx, coming, {
    organizationId: null,
    verb: "exchange",
    subject: { type: authorizations.type, id: authorization.id },
    after: { token: id, client: authorization.clientId, by: "terraform login" },
  });
  const seconds = expiredAt === null ? undefined : Math.floor((Date.parse(expiredAt) - Date.parse(createdAt)) / 1000);
  return { token: secret, expiresInSeconds: seconds };
}
