/** What neighbours, the first start and the command line have done to tokens. */
import { actorId } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import type { TokenTable } from "../../../database/schema/identity.ts";
import { attributeFault, refuseIfAny } from "../../../kernel/errors.ts";
import { newId, newToken, tokenHash } from "../../../kernel/ids.ts";
import { now, type Timestamp } from "../../../kernel/time.ts";
import { type AuditEvent, recordEvent, recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { TokenView } from "./definition.ts";
import { deleteExpiredTokenRows, deleteTokenRow, insertToken, type OrganizationTokenKind } from "./store.ts";

export interface NewToken {
  readonly holder:
    | { readonly kind: "user"; readonly userId: string }
    | {
        readonly kind: "team";
        readonly teamId: string;
        readonly organizationId: string;
        readonly organizationName: string;
      }
    | { readonly kind: OrganizationTokenKind; readonly organizationId: string; readonly organizationName: string };
  readonly isLegacy: boolean;
  readonly description?: string | null | undefined;
  /** Null for never; two years from now where nothing is said. */
  readonly expiredAt?: string | null | undefined;
  /** A secret that was chosen elsewhere; a new one otherwise. */
  readonly secret?: string | undefined;
}

const yearsByDefault = 2;

/** On the same day two years later; from a 29 February, on the 1 March. */
function expiryByDefault(createdAt: Timestamp): Timestamp {
  const expiry = new Date(createdAt);
  expiry.setUTCFullYear(expiry.getUTCFullYear() + yearsByDefault);
  return expiry.toISOString();
}

/** The only way to a token's secret is this answer. Raises `invalid` for an expiry in the past. */
export async function addToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  wanted: NewToken,
): Promise<TokenView & { secret: string }> {
  const createdAt = now();
  const expiredAt = wanted.expiredAt === undefined ? expiryByDefault(createdAt) : wanted.expiredAt;
  refuseIfAny(
    expiredAt !== null && expiredAt <= createdAt
      ? [attributeFault("expired-at", "Expired at must be in the future")]
      : [],
  );
  const { holder } = wanted;
  const secret = wanted.secret ?? newToken();
  const token: Omit<TokenTable, "hash"> = {
    id: newId("authentication-tokens"),
    kind: holder.kind,
    userId: holder.kind === "user" ? holder.userId : null,
    teamId: holder.kind === "team" ? holder.teamId : null,
    organizationId: holder.kind === "user" ? null : holder.organizationId,
    isLegacy: Number(wanted.isLegacy),
    description: wanted.description ?? null,
    createdById: actorId(context.actor),
    createdAt,
    expiredAt,
    lastUsedAt: null,
    version: 1,
  };
  await insertToken(tx, { ...token, hash: tokenHash(secret) });
  await recordToken(tx, context, token, "create");
  return { ...token, secret, organizationName: holder.kind === "user" ? null : holder.organizationName };
}

export async function removeToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  token: Omit<TokenView, "organizationName">,
): Promise<void> {
  await deleteTokenRow(tx, token.id);
  await recordToken(tx, context, token, "delete");
}

/** At most `limit` of them, those that expired first. Gives how many; by the database's clock, because it can't be undone. */
export async function removeExpiredTokens(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  limit: number,
): Promise<number> {
  const removed = await deleteExpiredTokenRows(tx, limit);
  await recordEvents(
    tx,
    context,
    removed.map((token) => eventOf(token, "delete")),
  );
  return removed.length;
}

async function recordToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  token: Omit<TokenTable, "hash">,
  verb: "create" | "delete",
): Promise<void> {
  await recordEvent(tx, context, eventOf(token, verb));
}

type ToldOfToken = Pick<TokenTable, "id" | "userId" | "teamId" | "organizationId" | "description" | "expiredAt">;

function eventOf(token: ToldOfToken, verb: "create" | "delete"): AuditEvent {
  const told = {
    holder: token.teamId ?? token.userId ?? token.organizationId,
    description: token.description,
    "expired-at": token.expiredAt,
  };
  return {
    organizationId: token.organizationId,
    verb,
    subject: { type: "authentication-tokens", id: token.id },
    ...(verb === "create" ? { after: told } : { before: told }),
  };
}

/** Off the requests' path, for many tokens at once, by their ids. A time never goes back. */
export async function noteUses(tx: Tx, uses: ReadonlyMap<string, string>): Promise<void> {
  for (const [id, usedAt] of uses) {
    await tx.db
      .updateTable("tokens")
      .set({ lastUsedAt: usedAt })
      .where("id", "=", id)
      .where((where) => where.or([where("lastUsedAt", "is", null), where("lastUsedAt", "<", usedAt)]))
      .execute();
  }
}
