/** What neighbours, the first start and the command line have done to tokens. */
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
  /** Null for never; two years from now where nothing is said. */
  readonly expiredAt?: string | null | undefined;
  /** A secret that was chosen elsewhere; a new one otherwise. */
  readonly secret?: string | undefined;
}

type Maker = Pick<Context, "actor" | "requestId">;
type Issued = TokenView & { readonly secret: string };

/** Without being asked for it: what site admins, the operator and the first start make. Raises `invalid`. */
export async function addToken(tx: Tx, context: Maker, wanted: NewToken): Promise<Issued> {
  return issueToken(tx, context, requireSiteAdmin(context.actor), wanted);
}

/**
 * By a caller who may manage the holder's tokens. A token that is replaced is deleted with it. Raises `forbidden` for a pipeline, and
 * `invalid` for an expiry in the past, or later than the organization or the caller's own token allow; the operator's is shortened instead.
 */
export async function issueToken(
  tx: Tx,
  context: Maker,
  by: TokenGiver,
  wanted: NewToken,
  replaced?: Granted<TokenView, "can-manage">,
): Promise<Issued> {
  const term = (endsAt: string | null) =>
    credentialTerm(context.actor, { thing: "a token", endsAt, attribute: "expired-at" });
  return storeToken(tx, context, { by, term, replaced }, wanted);
}

/** For somebody who has shown who they are, by other means than a token of ours. Raises `invalid`. */
export async function issueSignInToken(
  tx: Tx,
  context: Maker,
  by: Granted<object, "can-sign-in">,
  wanted: NewToken,
): Promise<Issued> {
  return storeToken(tx, context, { by, term: (endsAt) => signInTerm(by, endsAt) }, wanted);
}

interface Issuance {
  readonly by: Parameters<typeof insertToken>[1];
  /** Decides until when the token may work. */
  readonly term: (endsAt: string | null) => CredentialTerm;
  readonly replaced?: Granted<TokenView, "can-manage"> | undefined;
}

/** The only way to a token's secret is this answer. */
async function storeToken(tx: Tx, context: Maker, { by, term, replaced }: Issuance, wanted: NewToken): Promise<Issued> {
  const { holder } = wanted;
  const createdAt = now();
  const latest = latestExpiry(
    createdAt,
    "userId" in holder ? undefined : await tokenMaxMs(tx, holder.organizationId, holder.kind),
  );
  const asked = expiryOf(wanted.expiredAt, createdAt, latest);
  const expiredAt = context.actor.kind === "operator" ? earlier(asked, latest) : asked;
  refuseIfAny(expiryFaults(expiredAt, createdAt, latest));
  const until = term(expiredAt);
  const secret = wanted.secret ?? newToken();
  const token = newTokenRow(wanted, { createdById: actorId(context.actor), createdAt, expiredAt });
  const gone = replaced === undefined ? [] : await deleteTokenRow(tx, replaced);
  const hash = holder.kind === "session" ? sessionHash(secret) : tokenHash(secret);
  await insertToken(tx, by, until, { ...token, hash });
  const events = [...gone.map((each) => eventOf(each, "delete")), eventOf(token, "create")];
  await recordEvents(tx, context, events);
  const { organizationName = null, organizationFacts = null } = "userId" in holder ? {} : holder;
  return { ...token, secret, organizationName, organizationFacts };
}

/** By whoever may manage its holder's tokens. The sessions that it began end with it. */
export async function revokeToken(
  tx: Tx,
  context: Maker,
  token: Granted<ToldOfToken, "can-manage" | "can-administer">,
): Promise<void> {
  await recordRevoked(tx, context, await deleteTokenRow(tx, token));
}

/** By the operator. */
export async function removeToken(tx: Tx, context: Maker, token: ToldOfToken): Promise<void> {
  await revokeToken(tx, context, administered(requireSiteAdmin(context.actor), token));
}

/** Whether there was one such. */
export async function endSession(tx: Tx, context: Maker, user: SessionEnder, id: string): Promise<boolean> {
  const removed = await deleteUsersRows(tx, user, "session", id);
  await recordRevoked(tx, context, removed);
  return removed.length > 0;
}

/** All of a user's. */
export async function endSessions(tx: Tx, context: Maker, user: SessionEnder): Promise<void> {
  await recordRevoked(tx, context, await deleteUsersRows(tx, user, "session"));
}

/** One token of a user's, where it is still there. */
export async function takeTokenBack(tx: Tx, context: Maker, user: SessionEnder, id: string): Promise<void> {
  await recordRevoked(tx, context, await deleteUsersRows(tx, user, "user", id));
}

/** Those that began by a provider of single sign-on, before it goes. */
export async function endSessionsOfProvider(
  tx: Tx,
  context: Maker,
  provider: Granted<{ readonly id: string }, "can-administer">,
): Promise<void> {
  await recordRevoked(tx, context, await deleteSessionRowsOfProvider(tx, provider));
}

/** At most `limit` of them, those that expired first. Gives how many; by the database's clock, because it can't be undone. */
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

/** However many there are, a statement's parameters are bounded. */
const eventsPerStatement = 1000;

/** Tokens that are gone already, each with an event of its own. */
export async function recordRevoked(tx: Tx, context: Maker, removed: readonly ToldOfToken[]): Promise<void> {
  for (let start = 0; start < removed.length; start += eventsPerStatement) {
    const some = removed.slice(start, start + eventsPerStatement);
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
  const told = {
    holder: token.teamId ?? token.userId ?? token.organizationId,
    description: token.description,
    "expired-at": token.expiredAt,
  };
  return {
    organizationId: token.organizationId,
    verb,
    subject: { type: token.kind === "session" ? "sessions" : "authentication-tokens", id: token.id },
    ...(verb === "create" ? { after: told } : { before: told }),
  };
}

/**
 * Off the requests' path, for many tokens at once, by their ids. A time never goes back. A token that somebody else holds is
 * passed over: another server is noting it too, or it is being revoked, and neither is worth waiting for with others in hand.
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
