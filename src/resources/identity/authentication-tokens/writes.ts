/** Writes to API tokens for other modules, the first start and the command line. */
import type { Capability } from "../../../access/capability.ts";
import { actorId } from "../../../access/actor.ts";
import { credentialTerm, type CredentialTerm, signInTerm } from "../../../access/credentials.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { TokenTable } from "../../../database/schema/identity.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { newToken, sessionHash, tokenHash } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { withSiteAdminProof, requireSiteAdmin } from "../../shared/administration.ts";
import { type AuditEvent, recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { tokenMaxMs } from "../organization-token-ttl-policies/reads.ts";
import type { TokenView } from "./definition.ts";
import { earlierExpiry, expiryFaults, expiryOf, latestExpiry, newTokenRow, type TokenSpec } from "./rules.ts";
import {
  deleteExpiredTokenRows,
  deleteSessionRowsOfProvider,
  deleteTokenRow,
  lockToken,
  deleteUserTokenRows,
  insertToken,
  lockAvailableTokens,
  type SessionEndProof,
  type TokenIssueProof,
} from "./store.ts";

export { lockToken };

export interface NewToken extends TokenSpec {
  readonly expiredAt?: string | null | undefined;
  readonly secret?: string | undefined;
}

type TokenChangeContext = Pick<Context, "actor" | "requestId">;
type IssuedToken = TokenView & { readonly secret: string };

export async function addToken(tx: Tx, context: TokenChangeContext, input: NewToken): Promise<IssuedToken> {
  return issueToken(tx, context, requireSiteAdmin(context.actor), input);
}

/** Throws `forbidden` for a pipeline, and `invalid` if the expiry is past or too late; the operator's expiry is shortened instead. */
export async function issueToken(
  tx: Tx,
  context: TokenChangeContext,
  by: TokenIssueProof,
  input: NewToken,
  options: TokenIssueOptions = {},
): Promise<IssuedToken> {
  const term = (endsAt: string | null) =>
    credentialTerm(context.actor, { thing: "a token", endsAt, attribute: "expired-at" });
  return storeToken(tx, context, { by, term, ...options }, input);
}

/** For users and pipelines that authenticated without a token. Throws `invalid`. */
export async function issueSignInToken(
  tx: Tx,
  context: TokenChangeContext,
  by: Granted<object, "can-sign-in">,
  input: NewToken,
): Promise<IssuedToken> {
  return storeToken(tx, context, { by, term: (endsAt) => signInTerm(by, endsAt) }, input);
}

interface TokenIssueOptions {
  readonly replaced?: Granted<TokenView, "can-manage"> | undefined;
  /** Gets the expiry that the token will have, with the default and the organization's limit. Throws to refuse it. */
  readonly checkExpiry?: (expiredAt: string | null) => Promise<void>;
}

interface TokenIssuance extends TokenIssueOptions {
  readonly by: Parameters<typeof insertToken>[1];
  readonly term: (endsAt: string | null) => CredentialTerm;
}

async function storeToken(
  tx: Tx,
  context: TokenChangeContext,
  { by, term, replaced, checkExpiry }: TokenIssuance,
  input: NewToken,
): Promise<IssuedToken> {
  const { holder } = input;
  const createdAt = now();
  const latest = latestExpiry(
    createdAt,
    "userId" in holder ? undefined : await tokenMaxMs(tx, holder.organizationId, holder.kind),
  );
  const requested = expiryOf(input.expiredAt, createdAt, latest);
  const expiredAt = context.actor.kind === "operator" ? earlierExpiry(requested, latest) : requested;
  await checkExpiry?.(expiredAt);
  throwIfInvalid(expiryFaults(expiredAt, createdAt, latest));
  const until = term(expiredAt);
  const secret = input.secret ?? newToken();
  const token = newTokenRow(input, { createdById: actorId(context.actor), createdAt, expiredAt });
  const deleted = replaced === undefined ? [] : await deleteTokenRow(tx, replaced);
  const hash = holder.kind === "session" ? sessionHash(secret) : tokenHash(secret);
  await insertToken(tx, by, until, { ...token, hash });
  const events = [...deleted.map((each) => tokenEvent(each, "delete")), tokenEvent(token, "create")];
  await recordEvents(tx, context, events);
  const { organizationName = null, organizationFactsVersion = null } = "userId" in holder ? {} : holder;
  return { ...token, secret, organizationName, organizationFactsVersion };
}

export async function revokeToken(
  tx: Tx,
  context: TokenChangeContext,
  token: Granted<AuditedToken, "can-manage" | "can-administer">,
): Promise<void> {
  await recordRevoked(tx, context, await deleteTokenRow(tx, token));
}

export async function removeToken(tx: Tx, context: TokenChangeContext, token: AuditedToken): Promise<void> {
  await revokeToken(tx, context, withSiteAdminProof(requireSiteAdmin(context.actor), token));
}

export async function endSession(
  tx: Tx,
  context: TokenChangeContext,
  user: SessionEndProof,
  id: string,
): Promise<boolean> {
  const removed = await deleteUserTokenRows(tx, user, "session", id);
  await recordRevoked(tx, context, removed);
  return removed.length > 0;
}

export async function endSessions(tx: Tx, context: TokenChangeContext, user: SessionEndProof): Promise<void> {
  await recordRevoked(tx, context, await deleteUserTokenRows(tx, user, "session"));
}

export async function revokeUserToken(
  tx: Tx,
  context: TokenChangeContext,
  user: SessionEndProof,
  id: string,
): Promise<void> {
  await recordRevoked(tx, context, await deleteUserTokenRows(tx, user, "user", id));
}

export async function endSessionsOfProvider(
  tx: Tx,
  context: TokenChangeContext,
  provider: Granted<{ readonly id: string }, "can-administer">,
): Promise<void> {
  await recordRevoked(tx, context, await deleteSessionRowsOfProvider(tx, provider));
}

/** Uses the database's clock, because deletion can't be undone. */
export async function removeExpiredTokens(
  tx: Tx,
  context: TokenChangeContext,
  by: Capability<"job">,
  limit: number,
): Promise<number> {
  const removed = await deleteExpiredTokenRows(tx, by, limit);
  await recordRevoked(tx, context, removed);
  return removed.length;
}

/** Bounds the number of parameters of a statement. */
const eventsPerStatement = 1000;

export async function recordRevoked(
  tx: Tx,
  context: TokenChangeContext,
  removed: readonly AuditedToken[],
): Promise<void> {
  for (let offset = 0; offset < removed.length; offset += eventsPerStatement) {
    const batch = removed.slice(offset, offset + eventsPerStatement);
    await recordEvents(
      tx,
      context,
      batch.map((token) => tokenEvent(token, "delete")),
    );
  }
}

export type AuditedToken = Pick<
  TokenTable,
  "id" | "kind" | "userId" | "teamId" | "organizationId" | "description" | "expiredAt"
>;

function tokenEvent(token: AuditedToken, verb: "create" | "delete"): AuditEvent {
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

/** Runs outside of requests, in batches. Never moves a time back, and skips locked tokens, because waiting would delay the others. */
export async function recordTokenUses(tx: Tx, uses: ReadonlyMap<string, string>): Promise<void> {
  for (const id of await lockAvailableTokens(tx, [...uses.keys()])) {
    const usedAt = uses.get(id) ?? "";
    await tx.db
      .updateTable("tokens")
      .set({ lastUsedAt: usedAt })
      .where("id", "=", id)
      .where((where) => where.or([where("lastUsedAt", "is", null), where("lastUsedAt", "<", usedAt)]))
      .execute();
  }
}
