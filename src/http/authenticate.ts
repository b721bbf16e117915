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

const defaultFailures = { burst: 60, perSecond: 0.5 };
const defaultNameFailures = { burst: 10, perSecond: 1 / 30 };
const defaultNameFailuresEverywhere = { burst: 100, perSecond: 1 / 10 };
const knownSignInsMax = 50_000;
const defaultFlushEveryMs = 5_000;
const callersMax = 10_000;

/** A token's holder, as of a snapshot. Replaced, never changed: requests under way continue with the one they started with. */
export interface AuthenticatedCaller extends AuthenticatedToken {
  readonly snapshotId: number;
}

/** Of whom failed attempts are counted. */
export interface RequestAddress {
  readonly ip: string;
}

export class Authenticator {
  readonly #database: Database;
  readonly #failures: RateLimiter;
  readonly #names: RateLimiter;
  readonly #namesEverywhere: RateLimiter;
  readonly #knownSignIns = new Set<string>();
  readonly #requests: RateLimiter | undefined;
  /** By token hash. These tokens keep working while their address is throttled for the failures of others. */
  readonly #callers = new Map<string, AuthenticatedCaller>();
  readonly #lookups = new Map<string, Promise<AuthenticatedToken | undefined>>();
  #uses = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    database: Database,
    {
      rateLimit,
      failures = defaultFailures,
      nameFailures = defaultNameFailures,
      nameFailuresEverywhere = defaultNameFailuresEverywhere,
      flushEveryMs = defaultFlushEveryMs,
    }: AuthenticatorOptions,
  ) {
    this.#database = database;
    this.#failures = new RateLimiter(failures.perSecond, failures.burst);
    this.#names = new RateLimiter(nameFailures.perSecond, nameFailures.burst);
    this.#namesEverywhere = new RateLimiter(nameFailuresEverywhere.perSecond, nameFailuresEverywhere.burst);
    this.#requests = rateLimit > 0 ? new RateLimiter(rateLimit, Math.max(1, rateLimit)) : undefined;
    this.#timer = setInterval(() => void this.flush(), flushEveryMs).unref();
  }

  /** Throws `unauthorized` or `too-many-requests`. */
  async authenticate(request: FastifyRequest, hash = hashOf(request)): Promise<AuthenticatedCaller> {
    const caller = await this.identify(request, hash);
    request.allowance = this.takeAllowance(caller);
    return caller;
  }

  /** Runs no statement while nothing was committed since the last lookup. Throws `unauthorized`. */
  async identify(request: RequestAddress, hash: string | undefined): Promise<AuthenticatedCaller> {
    const known = hash === undefined ? undefined : this.#callers.get(hash);
    const before = this.#database.snapshotId();
    if (known !== undefined && before !== undefined && known.snapshotId === before && isCurrent(known)) return known;
    if (known === undefined && hash !== undefined) this.#refuseGuessing(request.ip);
    const token = hash === undefined ? undefined : await this.#lookUp(hash, known, before);
    return this.confirm(request, hash, token, before);
  }

  /** Where a lookup takes a round trip, concurrent requests of one token share one that starts after the last of them arrived. */
  #lookUp(
    hash: string,
    known: AuthenticatedCaller | undefined,
    before: number | undefined,
  ): Promise<AuthenticatedToken | undefined> {
    const read = () => authenticateToken(this.#database.reader, hash, known);
    if (before !== undefined) return read();
    let lookup = this.#lookups.get(hash);
    if (lookup === undefined) {
      lookup = turn().then(() => {
        this.#lookups.delete(hash);
        return read();
      });
      this.#lookups.set(hash, lookup);
    }
    return lookup;
  }

  /** Remembers the caller of a lookup. Throws `unauthorized` if it found no token. */
  confirm(
    request: RequestAddress,
    hash: string | undefined,
    token: AuthenticatedToken | undefined,
    before: number | undefined,
  ): AuthenticatedCaller {
    if (hash === undefined || token === undefined) {
      // A request without a token is not a guess.
      if (hash !== undefined) {
        this.#callers.delete(hash);
        this.#failures.take(rateLimitKey(request.ip));
      }
      throw new AppError(
        "unauthorized",
        "This needs a valid token: send 'Authorization: Bearer TOKEN'. The token is missing, unknown, expired or revoked.",
      );
    }
    return this.#remember(hash, { ...token, snapshotId: before ?? token.snapshotId ?? 0 });
  }

  /** The caller of an earlier request, which may have changed since. */
  recall(hash: string | undefined): AuthenticatedCaller | undefined {
    const known = hash === undefined ? undefined : this.#callers.get(hash);
    return known !== undefined && isCurrent(known) ? known : undefined;
  }

  /** Counts a request. Returns the remaining rate limit; undefined where there is none. Throws `too-many-requests`. */
  takeAllowance({ actor: { tokenId } }: AuthenticatedCaller): Allowance | undefined {
    const allowance = this.#requests?.take(tokenId);
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
      const recordUses = async (tx: Tx) => {
        await recordTokenUses(tx, at);
        if (ofAgents.size > 0) await recordAgentTokenUses(tx, ofAgents);
      };
      await this.#database.write(recordUses, { keepsCache: true });
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
      attempt: (name, verify) => this.#attempt(rateLimitKey(address), fold(name), verify),
      recordSuccess: (name) => this.#rememberSignIn(`${rateLimitKey(address)} ${fold(name)}`),
    };
  }

  /** Counts before checking the password; otherwise concurrent attempts would all be checked before the first one counts. */
  async #attempt(key: string, name: string, verify: () => Promise<boolean>): Promise<boolean> {
    const nameHere = `${key} ${name}`;
    const limits: [RateLimiter, string, string][] = [
      [this.#failures, key, tooManyFromAddress],
      [this.#names, nameHere, tooManyByName],
      ...(this.#knownSignIns.has(nameHere)
        ? []
        : [[this.#namesEverywhere, name, tooManyByName] as [RateLimiter, string, string]]),
    ];
    const taken: [RateLimiter, string][] = [];
    const giveBack = () => taken.forEach(([limiter, key]) => limiter.giveBack(key));
    for (const [limiter, counted, sentence] of limits) {
      const allowance = limiter.take(counted);
      if (!allowance.allowed) giveBack();
      requireAllowance(allowance, sentence);
      taken.push([limiter, counted]);
    }
    let isWrong = false;
    try {
      isWrong = !(await verify());
      if (!isWrong) this.#rememberSignIn(nameHere);
      return !isWrong;
    } finally {
      if (!isWrong) giveBack();
    }
  }

  #rememberSignIn(nameAndAddress: string): void {
    if (this.#knownSignIns.size >= knownSignInsMax) this.#knownSignIns.clear();
    this.#knownSignIns.add(nameAndAddress);
  }

  #refuseGuessing(address: string): void {
    requireAllowance(this.#failures.check(rateLimitKey(address)), tooManyFromAddress);
  }

  #remember(hash: string, caller: AuthenticatedCaller): AuthenticatedCaller {
    if (this.#callers.size >= callersMax) this.#callers.clear();
    this.#callers.set(hash, caller);
    return caller;
  }
}

const tooManyFromAddress =
  "Too many failed sign-ins from this address. Wait, then try again with a valid token or password.";

const tooManyByName =
  "Too many failed sign-ins for this user name. Wait, then try again, or ask a site admin for a link to set another password.";

function requireAllowance({ allowed, retryAfterSeconds }: Allowance, sentence: string): void {
  if (!allowed) throw new AppError("too-many-requests", sentence, { retryAfterSeconds });
}

const isCurrent = ({ until }: AuthenticatedCaller): boolean => until > nowMs();

/** Of the token, or of the session cookie's secret. */
export function hashOf(request: Pick<IncomingMessage, "headers">): string | undefined {
  const cookie = sessionSecretIn(request);
  if (cookie !== undefined) return cookie.length > tokenLengthMax ? undefined : sessionHash(cookie);
  const { authorization } = request.headers;
  const secret = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "")?.[1];
  return secret === undefined || secret.length > tokenLengthMax ? undefined : tokenHash(secret);
}
