/** What authentication asks of tokens: whom a secret stands for, and for how long. */
import { timingSafeEqual } from "node:crypto";
import type { RawBuilder } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { findTokenHolder, holderWith, type TokenHolder } from "./store.ts";

/** Whoever a token stands for, as it was found at one moment of the database. */
export interface Session {
  readonly tokenHash: string;
  readonly actor: TokenActor;
  /** In milliseconds: from then on it must be looked up again, because it has expired, or is too old for some organization. */
  readonly until: number;
  /** Everything about the token that answers to its holder depend on. */
  readonly text: string;
  /** See `Dialect.moment`. */
  readonly moment: string | null;
}

/** An actor who came by a token. */
export type TokenActor = Actor & { readonly tokenId: string };

/** Undefined for a hash that is unknown, expired, too old or revoked: which of these is nobody's business. */
export async function sessionOf(tx: Tx, hash: string): Promise<Session | undefined> {
  const [holder] = await findTokenHolder(tx, { hash, nowMs: Date.now() });
  return holder && toSession(holder, hash);
}

/**
 * The same with something else that is told in the same statement: what an answer rests on. The parameters are those that `says` is
 * built with.
 */
export function sessionWith<Parameters extends object>(says: (parameters: Parameters) => RawBuilder<string | null>) {
  const find = holderWith(says);
  return async (tx: Tx, hash: string, parameters: Parameters) => {
    const [holder] = await find(tx, { ...parameters, hash, nowMs: Date.now() });
    const session = holder && toSession(holder, hash);
    return { session, says: holder?.says ?? null };
  };
}

function toSession(holder: TokenHolder, hash: string): Session | undefined {
  if (!timingSafeEqual(Buffer.from(holder.hash), Buffer.from(hash))) return undefined;
  const createdMs = Date.parse(holder.createdAt);
  const ends = [holder.expiredAt === null ? null : Date.parse(holder.expiredAt), after(createdMs, holder.maxTtlMs)];
  const until = earliest(ends);
  const actor = toActor(holder, createdMs);
  if (until <= Date.now() || actor === undefined) return undefined;
  const { id, kind, userId, username, isSiteAdmin, teamName, organizationName, moment } = holder;
  const text = JSON.stringify([id, kind, userId, username, isSiteAdmin, teamName, organizationName]);
  return { tokenHash: hash, actor, until: earliest([until, after(createdMs, holder.nextTtlMs)]), text, moment };
}

const after = (ms: number, delay: number | null): number | null => (delay === null ? null : ms + delay);
const earliest = (moments: readonly (number | null)[]): number =>
  Math.min(...moments.map((ms) => ms ?? Number.POSITIVE_INFINITY));

function toActor({ id, kind, ...holder }: TokenHolder, createdMs: number): TokenActor | undefined {
  if (kind === "user" && holder.userId !== null) {
    return {
      kind: "user",
      userId: holder.userId,
      name: holder.username ?? "",
      siteAdmin: holder.isSiteAdmin === 1,
      tokenId: id,
      get tokenAgeMs() {
        return Math.max(0, Date.now() - createdMs);
      },
    };
  }
  if (holder.organizationId === null) return undefined;
  if (kind === "team" && holder.teamId !== null) {
    return {
      kind: "team",
      teamId: holder.teamId,
      name: holder.teamName ?? "",
      organizationId: holder.organizationId,
      tokenId: id,
    };
  }
  if (kind === "audit-trails")
    return { kind, auditedId: holder.organizationId, name: holder.organizationName ?? "", tokenId: id };
  return {
    kind: "organization",
    organizationId: holder.organizationId,
    name: holder.organizationName ?? "",
    tokenId: id,
  };
}
