/** Authenticates requests by their token or session cookie, and limits sign-in attempts and request rates. */
import type { IncomingMessage } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import type { Database, Tx } from "../database/database.ts";
import { AppError } from "../kernel/errors.ts";
import { fold } from "../kernel/text.ts";
import type { SignInLimiter } from "../resources/shared/context.ts";
import { isIdOf, sessionHash, tokenHash, tokenLengthMax } from "../kernel/ids.ts";
import { nowMs } from "../kernel/time.ts";
import { recordAgentTokenUses } from "../resources/connections/agent-tokens/writes.ts";
import { type AuthenticatedToken, authenticateToken } from "../resources/identity/authentication-tokens/reads.ts";
import { recordTokenUses } from "../resources/identity/authentication-tokens/writes.ts";
import { sessionSecretIn } from "./browser.ts";
import { type Allowance, rateLimitKey, RateLimiter } from "./limits.ts";

export interface AuthenticatorOptions {
  /** Per second and token; 0 for no limit. */
  readonly rateLimit: number;
  readonly failures?: { readonly burst: number; readonly perSecond: number };
  readonly nameFailures?: { readonly burst: number; readonly perSecond: number };
  /** For a name at all addresses together, except those from which it has signed in before. */
  readonly nameFailuresEverywhere?: { readonly burst: number; readonly perSecond: number };
  readonly flushEveryMs?: number;
}

const failuresByDefault = { burst: 60, perSecond: 0.5 };
const nameFailuresByDefault = { burst: 10, perSecond: 1 / 30 };
const everywhereByDefault = { burst: 100, perSecond: 1 / 10 };
const knownSignInsMax = 50_000;
const flushEveryMsByDefault = 5_000;
const sessionsMax = 10_000;

export type SnapshotId = number | string | null;

/** As of a snapshot. Replaced, never changed: requests under way continue with the one they started with. */
export interface KnownSession extends Omit<AuthenticatedToken, "snapshotId"> {
  readonly snapshotId: SnapshotId;
}

export class Authenticator {
  readonly #database: Database;
  readonly #failures: RateLimiter;
  readonly #names: RateLimiter;
  readonly #namesEverywhere: RateLimiter;
  readonly #knownSignIns = new Set<string>();
  readonly #calls: RateLimiter | undefined;
  /** By token hash. These tokens keep working while their address is throttled for the failures of others. */
  readonly #sessions = new Map<string, KnownSession>();
  readonly #lookups = new Map<string, Promise<AuthenticatedToken | undefined>>();
  latest: SnapshotId = null;
  #uses = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    database: Database,
    {
      rateLimit,
      failures = failuresByDefault,
      nameFailures = nameFailuresByDefault,
      nameFailuresEverywhere = everywhereByDefault,
      flushEveryMs = flushEveryMsByDefault,
    }: AuthenticatorOptions,
  ) {
    this.#database = database;
    this.#failures = new RateLimiter(failures.perSecond, failures.burst);
    this.#names = new RateLimiter(nameFailures.perSecond, nameFailures.burst);
    this.#namesEverywhere = new RateLimiter(nameFailuresEverywhere.perSecond, nameFailuresEverywhere.burst);
    this.#calls = rateLimit > 0 ? new RateLimiter(rateLimit, Math.max(1, rateLimit)) : undefined;
    this.#timer = setInterval(() => void this.flush(), flushEveryMs).unref();
  }

  /** Raises `unauthorized` or `too-many-requests`. */
  async authenticate(request: FastifyRequest, hash = hashOf(request)): Promise<KnownSession> {
    const session = await this.identify(request, hash);
    request.allowance = this.admit(session);
    return session;
  }

  /** Runs no statement while nothing was committed since the last lookup. Raises `unauthorized`. */
  async identify(request: FastifyRequest, hash: string | undefined): Promise<KnownSession> {
    const known = hash === undefined ? undefined : this.#sessions.get(hash);
    const before = this.#database.snapshotId();
    if (known !== undefined && before !== undefined && known.snapshotId === before && isCurrent(known)) return known;
    if (known === undefined && hash !== undefined) this.#refuseGuessing(request.ip);
    const session = hash === undefined ? undefined : await this.#lookUp(hash, known, before);
    return this.confirm(request, hash, session, before);
  }

  /** Where a lookup takes a round trip, concurrent requests of one token share one that starts after the last of them arrived. */
  #lookUp(
    hash: string,
    known: KnownSession | undefined,
    before: number | undefined,
  ): Promise<AuthenticatedToken | undefined> {
    const look = () => authenticateToken(this.#database.reader, hash, known);
    if (before !== undefined) return look();
    let lookup = this.#lookups.get(hash);
    if (lookup === undefined) {
      lookup = turn().then(() => {
        this.#lookups.delete(hash);
        return look();
      });
      this.#lookups.set(hash, lookup);
    }
    return lookup;
  }

  confirm(
    request: FastifyRequest,
    hash: string | undefined,
    session: AuthenticatedToken | undefined,
    before: number | undefined,
  ): KnownSession {
    if (hash === undefined || session === undefined) {
      // A request without a token is not a guess.
      if (hash !== undefined) {
        this.#sessions.delete(hash);
        this.#failures.take(rateLimitKey(request.ip));
      }
      throw new AppError(
        "unauthorized",
        "This needs a valid token: send 'Authorization: Bearer TOKEN'. The token is missing, unknown, expired or revoked.",
      );
    }
    const snapshotId = before ?? session.snapshotId;
    this.latest = snapshotId;
    return this.#remember(hash, { ...session, snapshotId });
  }

  recall(hash: string | undefined): KnownSession | undefined {
    const known = hash === undefined ? undefined : this.#sessions.get(hash);
    return known !== undefined && isCurrent(known) ? known : undefined;
  }

  /** Returns the remaining rate limit of this server; undefined where there is no limit. Raises `too-many-requests`. */
  admit({ actor: { tokenId } }: KnownSession): Allowance | undefined {
    const allowance = this.#calls?.take(tokenId);
    if (allowance !== undefined) requireAllowance(allowance, "You have reached the rate limit. Wait, then try again.");
    this.#uses.set(tokenId, nowMs());
    return allowance;
  }

  async flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      const at = new Map([...uses].map(([id, ms]) => [id, new Date(ms).toISOString()]));
      const ofAgents = new Map([...at].filter(([id]) => isIdOf("agent-tokens", id)));
      const note = async (tx: Tx) => {
        await recordTokenUses(tx, at);
        if (ofAgents.size > 0) await recordAgentTokenUses(tx, ofAgents);
      };
      await this.#database.write(note, { keepsCache: true });
    } catch {}
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  /**
   * Addresses from which the name has signed in before don't count towards the limit at all addresses, so that guesses from elsewhere
   * don't lock a user out. See docs/decisions/0163-password-attempts-are-counted-first.md.
   */
  signInsFrom(address: string): SignInLimiter {
    return {
      check: () => this.#refuseGuessing(address),
      recordFailure: () => void this.#failures.take(rateLimitKey(address)),
      attempt: (name, isRight) => this.#attempt(rateLimitKey(address), fold(name), isRight),
      recordSuccess: (name) => this.#know(`${rateLimitKey(address)} ${fold(name)}`),
    };
  }

  /** Counts before checking the password; otherwise concurrent attempts would all be checked before the first one counts. */
  async #attempt(key: string, name: string, isRight: () => Promise<boolean>): Promise<boolean> {
    const here = `${key} ${name}`;
    const counts: [RateLimiter, string, string][] = [
      [this.#failures, key, tooManyFromAddress],
      [this.#names, here, tooManyByName],
      ...(this.#knownSignIns.has(here)
        ? []
        : [[this.#namesEverywhere, name, tooManyByName] as [RateLimiter, string, string]]),
    ];
    const taken: [RateLimiter, string][] = [];
    const giveBack = () => taken.forEach(([limiter, key]) => limiter.giveBack(key));
    for (const [limiter, counted, sentence] of counts) {
      const allowance = limiter.take(counted);
      if (!allowance.allowed) giveBack();
      requireAllowance(allowance, sentence);
      taken.push([limiter, counted]);
    }
    let isWrong = false;
    try {
      isWrong = !(await isRight());
      if (!isWrong) this.#know(here);
      return !isWrong;
    } finally {
      if (!isWrong) giveBack();
    }
  }

  #know(here: string): void {
    if (this.#knownSignIns.size >= knownSignInsMax) this.#knownSignIns.clear();
    this.#knownSignIns.add(here);
  }

  #refuseGuessing(address: string): void {
    requireAllowance(this.#failures.check(rateLimitKey(address)), tooManyFromAddress);
  }

  #remember(hash: string, session: KnownSession): KnownSession {
    if (this.#sessions.size >= sessionsMax) this.#sessions.clear();
    this.#sessions.set(hash, session);
    return session;
  }
}

const tooManyFromAddress =
  "Too many failed sign-ins from this address. Wait, then try again with a valid token or password.";

const tooManyByName =
  "Too many failed sign-ins by this name. Wait, then try again, or ask a site admin for a link to set another password.";

function requireAllowance({ allowed, retryAfterSeconds }: Allowance, sentence: string): void {
  if (!allowed) throw new AppError("too-many-requests", sentence, { retryAfterSeconds });
}

const isCurrent = ({ until }: KnownSession): boolean => until > nowMs();

export function hashOf(request: Pick<IncomingMessage, "headers">): string | undefined {
  const ofSession = sessionSecretIn(request);
  if (ofSession !== undefined) return ofSession.length > tokenLengthMax ? undefined : sessionHash(ofSession);
  const { authorization } = request.headers;
  const secret = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "")?.[1];
  return secret === undefined || secret.length > tokenLengthMax ? undefined : tokenHash(secret);
}
