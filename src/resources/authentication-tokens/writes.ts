/** What neighbours, the first start and the command line have done to tokens. */
import { actorId } from "../../access/actor.ts";
import type { Tx } from "../../database/database.ts";
import type { TokenTable } from "../../database/schema/identity.ts";
import { attributeFault, refuseIfAny } from "../../kernel/errors.ts";
import { newId, newToken, tokenHash } from "../../kernel/ids.ts";
import { now } from "../../kernel/time.ts";
import { recordEvent } from "../audit-events/writes.ts";
import type { Context } from "../shared/context.ts";
import type { TokenView } from "./definition.ts";
import { deleteTokenRow, insertToken } from "./store.ts";

export interface NewToken {
  readonly holder:
    | { readonly kind: "user"; readonly userId: string }
    | {
        readonly kind: "team";
        readonly teamId: string;
        readonly organizationId: string;
        readonly organizationName: string;
      }
    | { readonly kind: "organization"; readonly organizationId: string; readonly organizationName: string };
  readonly isLegacy: boolean;
  readonly description?: string | null | undefined;
  readonly expiredAt?: string | null | undefined;
  /** A secret that was chosen elsewhere; a new one otherwise. */
  readonly secret?: string | undefined;
}

/** The only way to a token's secret is this answer. Raises `invalid` for an expiry in the past. */
export async function addToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  wanted: NewToken,
): Promise<TokenView & { secret: string }> {
  const createdAt = now();
  const expiredAt = wanted.expiredAt ?? null;
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

async function recordToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  token: Omit<TokenTable, "hash">,
  verb: "create" | "delete",
): Promise<void> {
  const told = {
    holder: token.teamId ?? token.userId ?? token.organizationId,
    description: token.description,
    "expired-at": token.expiredAt,
  };
  await recordEvent(tx, context, {
    organizationId: token.organizationId,
    verb,
    subject: { type: "authentication-tokens", id: token.id },
    ...(verb === "create" ? { after: told } : { before: told }),
  });
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
