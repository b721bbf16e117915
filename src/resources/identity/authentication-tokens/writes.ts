/** Writes to API tokens on behalf of other modules, the first start and the command line. */
import type { Capability } from "../../../access/capability.ts";
import { actorId } from "../../../access/actor.ts";
import { credentialTerm, type CredentialTerm, signInTerm } from "../../../access/credentials.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { TokenTable } from "../../../database/schema/identity.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { newToken, sessionHash, tokenHash } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { administered, requireSiteAdmin } from "../../shared/administration.ts";
import { type AuditEvent, recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { tokenMaxMs } from "../organization-token-ttl-policies/reads.ts";
import type { TokenView } from "./definition.ts";
import { earlier, expiryFaults, expiryOf, latestExpiry, newTokenRow, type WantedToken } from "./rules.ts";
import {
  deleteExpiredTokenRows,
  deleteSessionRowsOfProvider,
  deleteTokenRow,
  holdToken,
  deleteUsersRows,
  insertToken,
  lockFreeTokens,
  type SessionEnder,
  type TokenGiver,
} from "./store.ts";

export { holdToken };

export interface NewToken extends WantedToken {
  readonly expiredAt?: string | null | undefined;
  readonly secret?: string | undefined;
}

type Maker = Pick<Context, "actor" | "requestId">;
type Issued = TokenView & { readonly secret: string };

export async function addToken(tx: Tx, context: Maker, input: NewToken): Promise<Issued> {
  return issueToken(tx, context, requireSiteAdmin(context.actor), input);
}

/**
 * Issues a token for a caller who can manage its owner's tokens, and deletes the token that it replaces. Raises `forbidden` for a pipeline,
 * and `invalid` if the expiry is in the past or later than the organization or the caller's own token allows; for the operator the expiry
 * is shortened instead.
 */
export async function issueToken(
  tx: Tx,
  context: Maker,
  by: TokenGiver,
  input: NewToken,
  replaced?: Granted<TokenView, "can-manage">,
): Promise<Issued> {
  const term = (endsAt: string | null) =>
    credentialTerm(context.actor, { thing: "a token", endsAt, attribute: "expired-at" });
  return storeToken(tx, context, { by, term, replaced }, input);
}

/** For a user or pipeline that was authenticated by other means than a token. Raises `invalid`. */
export async function issueSignInToken(
  tx: Tx,
  context: Maker,
  by: Granted<object, "can-sign-in">,
  input: NewToken,
): Promise<Issued> {
  return storeToken(tx, context, { by, term: (endsAt) => signInTerm(by, endsAt) }, input);
}

interface Issuance {
  readonly by: Parameters<typeof insertToken>[1];
  readonly term: (endsAt: string | null) => CredentialTerm;
  readonly replaced?: Granted<TokenView, "can-manage"> | undefined;
}

/** The returned secret is not stored and can't be read again. */
async function storeToken(tx: Tx, context: Maker, { by, term, replaced }: Issuance, input: NewToken): Promise<Issued> {
  const { holder } = input;
  const createdAt = now();
  const latest = latestExpiry(
    createdAt,
    "userId" in holder ? undefined : await tokenMaxMs(tx, holder.organizationId, holder.kind),
  );
  const requested = expiryOf(input.expiredAt, createdAt, latest);
  const expiredAt = context.actor.kind === "operator" ? earlier(requested, latest) : requested;
  refuseIfAny(expiryFaults(expiredAt, createdAt, latest));
  const until = term(expiredAt);
  const secret = input.secret ?? newToken();
  const token = newTokenRow(input, { createdById: actorId(context.actor), createdAt, expiredAt });
  const deleted = replaced === undefined ? [] : await deleteTokenRow(tx, replaced);
  const hash = holder.kind === "session" ? sessionHash(secret) : tokenHash(secret);
  await insertToken(tx, by, until, { ...token, hash });
  const events = [...deleted.map((each) => eventOf(each, "delete")), eventOf(token, "create")];
  await recordEvents(tx, context, events);
  const { organizationName = null, organizationFacts = null } = "userId" in holder ? {} : holder;
  return { ...token, secret, organizationName, organizationFacts };
}

export async function revokeToken(
  tx: Tx,
  context: Maker,
  token: Granted<ToldOfToken, "can-manage" | "can-administer">,
): Promise<void> {
  await recordRevoked(tx, context, await deleteTokenRow(tx, token));
}

export async function removeToken(tx: Tx, context: Maker, token: ToldOfToken): Promise<void> {
  await revokeToken(tx, context, administered(requireSiteAdmin(context.actor), token));
}

export async function endSession(tx: Tx, context: Maker, user: SessionEnder, id: string): Promise<boolean> {
  const removed = await deleteUsersRows(tx, user, "session", id);
  await recordRevoked(tx, context, removed);
  return removed.length > 0;
}

export async function endSessions(tx: Tx, context: Maker, user: SessionEnder): Promise<void> {
  await recordRevoked(tx, context, await deleteUsersRows(tx, user, "session"));
}

export async function takeTokenBack(tx: Tx, context: Maker, user: SessionEnder, id: string): Promise<void> {
  await recordRevoked(tx, context, await deleteUsersRows(tx, user, "user", id));
}

export async function endSessionsOfProvider(
  tx: Tx,
  context: Maker,
  provider: Granted<{ readonly id: string }, "can-administer">,
): Promise<void> {
  await recordRevoked(tx, context, await deleteSessionRowsOfProvider(tx, provider));
}

/**
 * Deletes at most `limit` tokens, those that expired first, and returns the number. Uses the database's clock, because this can't be
 * undone.
 */
export async function removeExpiredTokens(
  tx: Tx,
  context: Maker,
  by: Capability<"job">,
  limit: number,
): Promise<number> {
  const removed = await deleteExpiredTokenRows(tx, by, limit);
  await recordRevoked(tx, context, removed);
  return removed.length;
}

/** Bounds the number of parameters of a statement. */
const eventsPerStatement = 1000;

export async function recordRevoked(tx: Tx, context: Maker, removed: readonly ToldOfToken[]): Promise<void> {
  for (let offset = 0; offset < removed.length; offset += eventsPerStatement) {
    const some = removed.slice(offset, offset + eventsPerStatement);
    await recordEvents(
      tx,
      context,
      some.map((token) => eventOf(token, "delete")),
    );
  }
}

export type ToldOfToken = Pick<
  TokenTable,
  "id" | "kind" | "userId" | "teamId" | "organizationId" | "description" | "expiredAt"
>;

function eventOf(token: ToldOfToken, verb: "create" | "delete"): AuditEvent {
  const audited = {
    holder: token.teamId ?? token.userId ?? token.organizationId,
    description: token.description,
    "expired-at": token.expiredAt,
  };
  return {
    organizationId: token.organizationId,
    verb,
    subject: { type: token.kind === "session" ? "sessions" : "authentication-tokens", id: token.id },
    ...(verb === "create" ? { after: audited } : { before: audited }),
  };
}

/**
 * Runs outside of requests, for many tokens at a time. `lastUsedAt` never goes back. Skips tokens that are locked: another server is
 * updating or revoking them, and waiting would delay the others.
 */
export async function noteUses(tx: Tx, uses: ReadonlyMap<string, string>): Promise<void> {
  for (const id of await lockFreeTokens(tx, [...uses.keys()])) {
    const usedAt = uses.get(id) ?? "";
    await tx.db
      .updateTable("tokens")
      .set({ lastUsedAt: usedAt })
      .where("id", "=", id)
      .where((where) => where.or([where("lastUsedAt", "is", null), where("lastUsedAt", "<", usedAt)]))
      .execute();
  }
}
