/** What authentication asks of tokens: whom a secret stands for, and for how long. */
import { timingSafeEqual } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { holderIn, type TokenHolder, type TokenTold, tokenWith } from "./store.ts";

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

/** The same, whenever that was. */
export type KnownBefore = Omit<Session, "moment">;

/** An actor who came by a token. */
export type TokenActor = Actor & { readonly tokenId: string };

const noWarrant = sessionWith(() => sql<string | null>`null`);

/**
 * Undefined for a hash that is unknown, expired, too old or revoked: which of these is nobody's business. `known`: the same as it was
 * found before.
 */
export async function sessionOf(tx: Tx, hash: string, known?: KnownBefore): Promise<Session | undefined> {
  return (await noWarrant(tx, hash, known, {})).session;
}

/**
 * The same with something else that is told in the same statement: what an answer rests on. The parameters are those that `says` is
 * built with.
 */
export function sessionWith<Parameters extends object>(says: (parameters: Parameters) => RawBuilder<string | null>) {
  const find = tokenWith(says);
  return async (tx: Tx, hash: string, known: KnownBefore | undefined, parameters: Parameters) => {
    const told = await find(tx, { ...parameters, hash, nowMs: Date.now() });
    return { session: told && sessionIn(told, hash, known), says: told?.says ?? null };
  };
}

function sessionIn({ holder, moment }: TokenTold, hash: string, known: KnownBefore | undefined): Session | undefined {
  if (known?.text === holder && known.until > Date.now()) return { ...known, moment };
  const session = toSession(holder, hash);
  return session && { ...session, moment };
}

function toSession(text: string, hash: string): KnownBefore | undefined {
  const holder = holderIn(text);
  if (!timingSafeEqual(Buffer.from(holder.hash), Buffer.from(hash))) return undefined;
  const createdMs = Date.parse(holder.createdAt);
  const expiresAt = holder.expiredAt === "" ? Number.POSITIVE_INFINITY : Date.parse(holder.expiredAt);
  const end = Math.min(expiresAt, after(createdMs, holder.maxTtlMs));
  const actor = toActor(holder, createdMs);
  if (end <= Date.now() || actor === undefined) return undefined;
  return { tokenHash: hash, actor, until: Math.min(end, after(createdMs, holder.nextTtlMs)), text };
}

const after = (ms: number, delay: string): number => (delay === "" ? Number.POSITIVE_INFINITY : ms + Number(delay));

function toActor({ id, kind, ...holder }: TokenHolder, createdMs: number): TokenActor | undefined {
  if (kind === "user" && holder.userId !== "") {
    return {
      kind: "user",
      userId: holder.userId,
      name: holder.username,
      siteAdmin: holder.isSiteAdmin === "1",
      tokenId: id,
      get tokenAgeMs() {
        return Math.max(0, Date.now() - createdMs);
      },
    };
  }
  if (holder.organizationId === "") return undefined;
  if (kind === "team" && holder.teamId !== "") {
    return {
      kind: "team",
      teamId: holder.teamId,
      name: holder.teamName,
      organizationId: holder.organizationId,
      tokenId: id,
    };
  }
  if (kind === "audit-trails")
    return { kind, auditedId: holder.organizationId, name: holder.organizationName, tokenId: id };
  return {
    kind: "organization",
    organizationId: holder.organizationId,
    name: holder.organizationName,
    tokenId: id,
  };
}
