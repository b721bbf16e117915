/** The bearer token of a request → the actor behind it; and the brakes on guessing and on calling too often. */
import type { FastifyRequest } from "fastify";
import type { Actor } from "../access/actor.ts";
import type { Database } from "../database/database.ts";
import { AppError } from "../kernel/errors.ts";
import { tokenHash, tokenLengthMax } from "../kernel/ids.ts";
import { now } from "../kernel/time.ts";
import { actorOfToken } from "../resources/identity/authentication-tokens/reads.ts";
import { noteUses } from "../resources/identity/authentication-tokens/writes.ts";
import { RateLimiter } from "./limits.ts";

export interface AuthenticatorOptions {
  /** Requests a second per caller; 0 for no limit. */
  readonly rateLimit: number;
  /** Failed sign-ins that an address has at once, and how fast they come back. */
  readonly failures?: { readonly burst: number; readonly perSecond: number };
  /** How often the times of tokens' last uses are written. */
  readonly flushEveryMs?: number;
}

const failuresByDefault = { burst: 60, perSecond: 0.5 };
const flushEveryMsByDefault = 5_000;
const knownMax = 10_000;

export class Authenticator {
  readonly #database: Database;
  readonly #failures: RateLimiter;
  readonly #calls: RateLimiter | undefined;
  /** Hashes that have signed in: they go on while their address is being slowed down for the failures of others. */
  readonly #known = new Set<string>();
  #uses = new Map<string, string>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    database: Database,
    { rateLimit, failures = failuresByDefault, flushEveryMs = flushEveryMsByDefault }: AuthenticatorOptions,
  ) {
    this.#database = database;
    this.#failures = new RateLimiter(failures.perSecond, failures.burst);
    this.#calls = rateLimit > 0 ? new RateLimiter(rateLimit, Math.max(1, rateLimit)) : undefined;
    this.#timer = setInterval(() => void this.flush(), flushEveryMs).unref();
  }

  /** Raises `unauthorized` or `too-many-requests`. */
  async authenticate(request: FastifyRequest): Promise<Actor> {
    const secret = bearerOf(request.headers.authorization);
    const hash = secret === undefined ? undefined : tokenHash(secret);
    if (hash === undefined || !this.#known.has(hash)) this.#refuseGuessing(request.ip);
    const actor = secret === undefined ? undefined : await actorOfToken(this.#database.reader, secret);
    if (actor === undefined || !("tokenId" in actor)) {
      if (hash !== undefined) this.#known.delete(hash);
      this.#failures.take(request.ip);
      throw new AppError(
        "unauthorized",
        "This needs a valid token: send 'Authorization: Bearer TOKEN'. The token is missing, unknown, expired or revoked.",
      );
    }
    this.#remember(hash ?? "");
    this.#limit(actor.tokenId);
    this.#uses.set(actor.tokenId, now());
    return actor;
  }

  /** Writes when tokens were last used: in batches, so that no request waits for it. */
  async flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      await this.#database.write((tx) => noteUses(tx, uses));
    } catch {
      // It is a convenience: the next batch brings newer times.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  #refuseGuessing(address: string): void {
    const { allowed, retryAfterSeconds } = this.#failures.check(address);
    if (!allowed)
      throw new AppError(
        "too-many-requests",
        "Too many failed sign-ins from this address. Wait, then try again with a valid token.",
        { retryAfterSeconds },
      );
  }

  #limit(tokenId: string): void {
    if (this.#calls === undefined) return;
    const { allowed, retryAfterSeconds } = this.#calls.take(tokenId);
    if (!allowed)
      throw new AppError("too-many-requests", "You have reached the rate limit. Wait, then try again.", {
        retryAfterSeconds,
      });
  }

  #remember(hash: string): void {
    if (this.#known.size >= knownMax) this.#known.clear();
    this.#known.add(hash);
  }
}

/** Undefined where there is no usable secret. */
function bearerOf(header: string | undefined): string | undefined {
  const secret = /^Bearer +([\x21-\x7e]+) *$/i.exec(header ?? "")?.[1];
  return secret === undefined || secret.length > tokenLengthMax ? undefined : secret;
}
