/** Authentication: which actor a token's secret belongs to, and for how long. */
import { timingSafeEqual } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import { nowMs } from "../../../kernel/time.ts";
import { type Actor, interactiveSessionAge, tokenIdOf } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import { parseMachineHolder, type MachineHolder, findMachineToken, runningPhase } from "./machines.ts";
import { parseHolder, type TokenHolderFields, type TokenLookup, tokenLookup } from "./store.ts";

export interface AuthenticatedToken {
  readonly tokenHash: string;
  readonly actor: TokenActor;
  /** In milliseconds: when the token expires or becomes too old for an organization's policy. */
  readonly tokenUntil: number;
  /** In milliseconds: `tokenUntil` or the next expiry of any grant. Cached responses expire then. */
  readonly until: number;
  /** Everything about the token and its holder that a response can depend on, as one text. */
  readonly fingerprint: string;
  /** Undefined on SQLite, which needs no statement to know it. */
  readonly snapshotId: number | undefined;
}

export type KnownToken = Omit<AuthenticatedToken, "snapshotId">;

export type TokenActor = Actor & { readonly tokenId: string };

const withoutVersion = tokenAuthenticator(() => sql<string | null>`null`);

/** Undefined if the token is unknown, expired, too old or revoked; callers must not learn which. */
export async function authenticateToken(
  tx: Tx,
  hash: string,
  known?: KnownToken,
): Promise<AuthenticatedToken | undefined> {
  return (await withoutVersion(tx, hash, known, {})).token;
}

export function tokenAuthenticator<Parameters extends object>(
  version: (parameters: Parameters) => RawBuilder<string | null>,
) {
  const find = tokenLookup(version);
  return async (tx: Tx, hash: string, known: KnownToken | undefined, parameters: Parameters) => {
    const found = await find(tx, { ...parameters, token: hash, nowMs: nowMs() });
    if (found === undefined) return { token: await authenticateMachine(tx, hash, known), version: null };
    return { token: toAuthenticatedToken(found, hash, known), version: found.version };
  };
}

const byId = tokenLookup(() => sql<string | null>`null`, "id");

/** For signed URLs, which work without the secret. Undefined if the token no longer works, or if the run's phase has ended. */
export async function actorOfToken(tx: Tx, id: string): Promise<TokenActor | undefined> {
  const found = await byId(tx, { token: id, nowMs: nowMs() });
  if (found !== undefined) return parseToken(found.holder)?.actor;
  const machine = await runningPhase(tx, id);
  return machine && machineActor(parseMachineHolder(machine.holder));
}

/** For long-running responses. Throws `unauthorized` if the token no longer works, and everything that `check` raises. */
export async function recheckAccess<T>(
  { actor, database }: Pick<Context, "actor" | "database">,
  check: (actor: Actor) => Promise<T>,
): Promise<T> {
  const current = await actorOfToken(database.reader, tokenIdOf(actor) ?? "");
  if (current === undefined)
    throw new AppError(
      "unauthorized",
      "The token of this request is no longer valid. Send the request again with a valid token.",
    );
  return check(current);
}

async function authenticateMachine(
  tx: Tx,
  hash: string,
  known: KnownToken | undefined,
): Promise<AuthenticatedToken | undefined> {
  const found = await findMachineToken(tx, hash);
  if (found === undefined) return undefined;
  if (known?.fingerprint === found.holder) return { ...known, snapshotId: found.snapshotId };
  const holder = parseMachineHolder(found.holder);
  if (!timingSafeEqual(Buffer.from(holder.hash), Buffer.from(hash))) return undefined;
  const until = Number.POSITIVE_INFINITY;
  const actor = machineActor(holder);
  return { tokenHash: hash, actor, tokenUntil: until, until, fingerprint: found.holder, snapshotId: found.snapshotId };
}

function machineActor({ kind, id, organizationId, ...holder }: MachineHolder): TokenActor {
  if (kind === "run") {
    const { runId, workspaceId } = holder;
    return { kind, runId, phaseId: id, workspaceId, organizationId, name: runId, tokenId: id };
  }
  const { agentPoolId, poolName: name } = holder;
  const isSitePool = organizationId === "";
  return {
    kind: "agent",
    agentPoolId,
    site: isSitePool,
    organizationId: isSitePool ? null : organizationId,
    name,
    tokenId: id,
  };
}

function toAuthenticatedToken(
  found: TokenLookup,
  hash: string,
  known: KnownToken | undefined,
): AuthenticatedToken | undefined {
  const { holder, nextGrantExpiry, snapshotId } = found;
  const token = known?.fingerprint === holder && known.tokenUntil > nowMs() ? known : parseToken(holder, hash);
  if (token === undefined) return undefined;
  const until = nextGrantExpiry === null ? token.tokenUntil : Math.min(token.tokenUntil, Date.parse(nextGrantExpiry));
  return { ...token, until, snapshotId };
}

function parseToken(text: string, hash?: string): Omit<KnownToken, "until"> | undefined {
  const holder = parseHolder(text);
  if (hash !== undefined && !timingSafeEqual(Buffer.from(holder.hash), Buffer.from(hash))) return undefined;
  const createdMs = Date.parse(holder.createdAt);
  const expiresAt = holder.expiredAt === "" ? Number.POSITIVE_INFINITY : Date.parse(holder.expiredAt);
  const end = Math.min(expiresAt, after(createdMs, holder.maxTtlMs));
  // A session that a token started is as old as that token, because organizations limit the age.
  const effectiveCreatedMs = holder.starterCreatedAt === "" ? createdMs : Date.parse(holder.starterCreatedAt);
  const actor = toActor(holder, { effectiveCreatedMs, end });
  if (end <= nowMs() || actor === undefined) return undefined;
  const tokenUntil = Math.min(end, after(effectiveCreatedMs, holder.nextTtlMs));
  return { tokenHash: holder.hash, actor, tokenUntil, fingerprint: text };
}

const after = (ms: number, delay: string): number => (delay === "" ? Number.POSITIVE_INFINITY : ms + Number(delay));

function toActor(
  { id, kind, ...holder }: TokenHolderFields,
  { effectiveCreatedMs, end }: { readonly effectiveCreatedMs: number; readonly end: number },
): TokenActor | undefined {
  if ((kind === "user" || kind === "session") && holder.userId !== "") {
    return {
      kind: "user",
      userId: holder.userId,
      name: holder.username,
      siteAdmin: holder.isSiteAdmin === "1",
      tokenId: id,
      get tokenAgeMs() {
        const isInteractive = kind === "session" && holder.starterCreatedAt === "";
        return isInteractive ? interactiveSessionAge : Math.max(0, nowMs() - effectiveCreatedMs);
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
      // A pipeline's token can't create other credentials.
      ...(holder.identityTrustId === "" && { credentialsUntil }),
    };
  }
  if (kind === "audit-trails")
    return { kind, auditedOrganizationId: holder.organizationId, name: holder.organizationName, tokenId: id };
  return {
    kind: "organization",
    organizationId: holder.organizationId,
    name: holder.organizationName,
    tokenId: id,
    credentialsUntil,
  };
}
