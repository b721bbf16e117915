/** What authentication asks of tokens: whom a secret stands for, and for how long. */
import { timingSafeEqual } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import { nowMs } from "../../../kernel/time.ts";
import { type Actor, ageInPerson, tokenIdOf } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import { machineIn, type MachineHolder, machineWith, runningPhase } from "./machines.ts";
import { holderIn, type TokenHolder, type TokenTold, tokenWith } from "./store.ts";

/** Whoever a token stands for, as it was found at one moment of the database. */
export interface Session {
  readonly tokenHash: string;
  readonly actor: TokenActor;
  /** In milliseconds: from then on the token has expired, or is too old for some organization. */
  readonly tokenUntil: number;
  /** From then on it must be looked up again, and what was answered read again: that, or something given to anybody has ended. */
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
    const told = await find(tx, { ...parameters, token: hash, nowMs: nowMs() });
    if (told === undefined) return { session: await machineOf(tx, hash, known), says: null };
    return { session: sessionIn(told, hash, known), says: told.says };
  };
}

const byId = tokenWith(() => sql<string | null>`null`, "id");

/**
 * Whom a token stands for that was here before, by its id: for what was handed to it and works without a secret, such as signed URLs.
 * Undefined once it was revoked, has expired or is too old, and for a run whose phase has ended.
 */
export async function actorOfToken(tx: Tx, id: string): Promise<TokenActor | undefined> {
  const told = await byId(tx, { token: id, nowMs: nowMs() });
  if (told !== undefined) return toToken(told.holder)?.actor;
  const machine = await runningPhase(tx, id);
  return machine && machineActor(machineIn(machine.holder));
}

/**
 * Asks for access again, as the caller that the request's token stands for now: for what is sent over a long time. Raises `unauthorized` for a
 * token that does not work any more, and what `check` raises.
 */
export async function recheckAccess<T>(
  { actor, database }: Pick<Context, "actor" | "database">,
  check: (actor: Actor) => Promise<T>,
): Promise<T> {
  const current = await actorOfToken(database.reader, tokenIdOf(actor) ?? "");
  if (current === undefined) throw new AppError("unauthorized", "The token of this request does not work any more.");
  return check(current);
}

/** An agent or a run, by a statement of its own: nobody else's requests pay for it. */
async function machineOf(tx: Tx, hash: string, known: KnownBefore | undefined): Promise<Session | undefined> {
  const told = await machineWith(tx, hash);
  if (told === undefined) return undefined;
  if (known?.text === told.holder) return { ...known, moment: told.moment };
  const holder = machineIn(told.holder);
  if (!timingSafeEqual(Buffer.from(holder.hash), Buffer.from(hash))) return undefined;
  const until = Number.POSITIVE_INFINITY;
  const actor = machineActor(holder);
  return { tokenHash: hash, actor, tokenUntil: until, until, text: told.holder, moment: told.moment };
}

function machineActor({ kind, id, organizationId, ...holder }: MachineHolder): TokenActor {
  if (kind === "run") {
    const { runId, workspaceId } = holder;
    return { kind, runId, phaseId: id, workspaceId, organizationId, name: runId, tokenId: id };
  }
  const { agentPoolId, poolName: name } = holder;
  const ofSite = organizationId === "";
  return {
    kind: "agent",
    agentPoolId,
    site: ofSite,
    organizationId: ofSite ? null : organizationId,
    name,
    tokenId: id,
  };
}

function sessionIn(told: TokenTold, hash: string, known: KnownBefore | undefined): Session | undefined {
  const { holder, nextEnd, moment } = told;
  const token = known?.text === holder && known.tokenUntil > nowMs() ? known : toToken(holder, hash);
  if (token === undefined) return undefined;
  const until = nextEnd === null ? token.tokenUntil : Math.min(token.tokenUntil, Date.parse(nextEnd));
  return { ...token, until, moment };
}

function toToken(text: string, hash?: string): Omit<KnownBefore, "until"> | undefined {
  const holder = holderIn(text);
  if (hash !== undefined && !timingSafeEqual(Buffer.from(holder.hash), Buffer.from(hash))) return undefined;
  const createdMs = Date.parse(holder.createdAt);
  const expiresAt = holder.expiredAt === "" ? Number.POSITIVE_INFINITY : Date.parse(holder.expiredAt);
  const end = Math.min(expiresAt, after(createdMs, holder.maxTtlMs));
  // By a token that was made then, or by this one: organizations bound how old it may be.
  const madeMs = holder.begunAt === "" ? createdMs : Date.parse(holder.begunAt);
  const actor = toActor(holder, { madeMs, end });
  if (end <= nowMs() || actor === undefined) return undefined;
  return { tokenHash: holder.hash, actor, tokenUntil: Math.min(end, after(madeMs, holder.nextTtlMs)), text };
}

const after = (ms: number, delay: string): number => (delay === "" ? Number.POSITIVE_INFINITY : ms + Number(delay));

function toActor(
  { id, kind, ...holder }: TokenHolder,
  { madeMs, end }: { readonly madeMs: number; readonly end: number },
): TokenActor | undefined {
  if ((kind === "user" || kind === "session") && holder.userId !== "") {
    return {
      kind: "user",
      userId: holder.userId,
      name: holder.username,
      siteAdmin: holder.isSiteAdmin === "1",
      tokenId: id,
      get tokenAgeMs() {
        // Whoever has signed in by a token is as old as that.
        const isPerson = kind === "session" && holder.begunAt === "";
        return isPerson ? ageInPerson : Math.max(0, nowMs() - madeMs);
      },
    };
  }
  if (holder.organizationId === "") return undefined;
  const credentialsUntil = Number.isFinite(end) ? new Date(end).toISOString() : null;
  if (kind === "team" && holder.teamId !== "") {
    return {
      kind: "team",
      teamId: holder.teamId,
      name: holder.teamName,
      organizationId: holder.organizationId,
      tokenId: id,
      // A pipeline's token creates no others.
      ...(holder.identityTrustId === "" && { credentialsUntil }),
    };
  }
  if (kind === "audit-trails")
    return { kind, auditedId: holder.organizationId, name: holder.organizationName, tokenId: id };
  return {
    kind: "organization",
    organizationId: holder.organizationId,
    name: holder.organizationName,
    tokenId: id,
    credentialsUntil,
  };
}
