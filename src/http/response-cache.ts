/**
 * The response cache, by token and URL: serves an entry while the snapshot id or its validator's version is unchanged, for the same
 * caller. Nothing is invalidated explicitly.
 */
import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { nowMs } from "../kernel/time.ts";
import type { Database } from "../database/database.ts";
import type { CacheValidator } from "../jsonapi/cache-validator.ts";
import type { AuthenticatedToken } from "../resources/identity/authentication-tokens/reads.ts";
import { type Authenticator, hashOf, type AuthenticatedCaller, type SnapshotId } from "./authenticate.ts";
import type { Allowance } from "./limits.ts";
import { loggedUrl } from "./log.ts";
import type { SerializedResponse } from "./respond.ts";
import { acceptsGzip } from "./negotiation.ts";

export interface CachedResponse extends SerializedResponse {
  readonly validator: CacheValidator | undefined;
  readonly route: string;
  readonly loggedUrl: string;
  /** Of the caller for whom the response was made. */
  readonly fingerprint: string;
  readonly expiresAtMs: number;
  /** Read before the response was made, or when it was last validated. */
  snapshotId: SnapshotId;
}

const overheadBytes = 1024;

/** Two generations approximate LRU: when the recent one is full, it replaces the older one, whose entries are dropped. */
export class CachedResponses {
  readonly #generationMax: number;
  #recent = new CacheGeneration();
  #older = new CacheGeneration();

  constructor(bytesMax: number) {
    this.#generationMax = bytesMax / 2;
  }

  get bytes(): number {
    return this.#recent.bytes + this.#older.bytes;
  }

  find(key: string): CachedResponse | undefined {
    const recent = this.#recent.responses.get(key);
    if (recent !== undefined) return recent;
    const older = this.#older.responses.get(key);
    if (older !== undefined) this.store(key, older);
    return older;
  }

  store(key: string, response: CachedResponse): void {
    this.#recent.remove(key);
    this.#older.remove(key);
    const size = sizeOf(key, response);
    if (size > this.#generationMax / 4) return;
    if (this.#recent.bytes + size > this.#generationMax)
      [this.#older, this.#recent] = [this.#recent, new CacheGeneration()];
    this.#recent.add(key, response);
  }
}

class CacheGeneration {
  readonly responses = new Map<string, CachedResponse>();
  bytes = 0;

  add(key: string, response: CachedResponse): void {
    this.responses.set(key, response);
    this.bytes += sizeOf(key, response);
  }

  remove(key: string): void {
    const response = this.responses.get(key);
    if (response === undefined) return;
    this.responses.delete(key);
    this.bytes -= sizeOf(key, response);
  }
}

const sizeOf = (key: string, { body, validator, fingerprint }: CachedResponse): number =>
  2 * (key.length + fingerprint.length + (validator?.version.length ?? 0)) + body.length + overheadBytes;

interface CacheCandidate {
  readonly cached: CachedResponse;
  readonly caller: AuthenticatedCaller;
}

export interface CacheHit extends CacheCandidate {
  readonly allowance: Allowance | undefined;
}

interface ValidationResult {
  readonly caller: AuthenticatedCaller;
  readonly isFresh: boolean;
}

interface CacheLifetime {
  readonly validator: CacheValidator | undefined;
  /** When the response changes although nothing is written; infinity for never. */
  readonly contentExpiresAtMs: number;
}

export class ResponseCache {
  readonly #responses: CachedResponses;
  readonly #database: Database;
  readonly #authenticator: Authenticator;

  constructor(bytesMax: number, database: Database, authenticator: Authenticator) {
    this.#responses = new CachedResponses(bytesMax);
    this.#database = database;
    this.#authenticator = authenticator;
  }

  get bytes(): number {
    return this.#responses.bytes;
  }

  /** Runs no statement, so it finds fresh responses on SQLite only. Throws `too-many-requests`. */
  lookUp(request: IncomingMessage): CacheHit | undefined {
    const candidate = this.#find(request, hashOf(request));
    if (candidate === undefined || !this.#isUnchanged(candidate)) return undefined;
    return { ...candidate, allowance: this.#authenticator.takeAllowance(candidate.caller) };
  }

  #isUnchanged({ cached, caller }: CacheCandidate): boolean {
    const snapshotId = this.#database.snapshotId();
    const isSameSnapshot =
      snapshotId !== undefined && cached.snapshotId === snapshotId && caller.snapshotId === snapshotId;
    return isSameSnapshot && cached.fingerprint === caller.fingerprint;
  }

  /** Sets the request's caller, and returns the cached response if it is fresh. Throws `unauthorized` or `too-many-requests`. */
  async authenticate(request: FastifyRequest): Promise<CachedResponse | undefined> {
    const hash = hashOf(request);
    const candidate = this.#find(request.raw, hash);
    if (candidate === undefined) {
      request.caller = await this.#authenticator.authenticate(request, hash);
      return undefined;
    }
    const { caller, isFresh } = await this.#validate(candidate.cached, request, candidate.caller);
    request.allowance = this.#authenticator.takeAllowance(caller);
    request.caller = caller;
    return isFresh ? candidate.cached : undefined;
  }

  #find(request: IncomingMessage, hash: string | undefined): CacheCandidate | undefined {
    const caller = request.method === "GET" ? this.#authenticator.recall(hash) : undefined;
    const cached = caller && this.#responses.find(keyOf(caller, request));
    if (caller === undefined || cached === undefined || cached.expiresAtMs <= nowMs()) return undefined;
    return { cached, caller };
  }

  /**
   * - The snapshot id is unchanged (known without a statement on SQLite): the response is fresh.
   * - The snapshot id has probably changed, and the response has a validator: one statement runs the validator and looks up the token.
   * - Otherwise one statement looks up the token. If it finds a new snapshot id, the validator runs as a second one.
   */
  async #validate(
    cached: CachedResponse,
    request: FastifyRequest,
    known: AuthenticatedCaller,
  ): Promise<ValidationResult> {
    if (this.#isUnchanged({ cached, caller: known })) return { caller: known, isFresh: true };
    const isProbablyFresh =
      this.#database.snapshotId() === undefined && cached.snapshotId === this.#authenticator.newestSnapshotId;
    if (cached.validator !== undefined && !isProbablyFresh)
      return this.#runValidator(cached, cached.validator, request, known);
    const caller = await this.#authenticator.identify(request, known.tokenHash);
    if (caller.fingerprint !== cached.fingerprint) return { caller, isFresh: false };
    if (caller.snapshotId === cached.snapshotId) return { caller, isFresh: true };
    if (cached.validator === undefined) return { caller, isFresh: false };
    return this.#runValidator(cached, cached.validator, request, caller);
  }

  async #runValidator(
    cached: CachedResponse,
    { read, version }: CacheValidator,
    request: FastifyRequest,
    known: AuthenticatedCaller,
  ): Promise<ValidationResult> {
    const before = this.#database.snapshotId();
    const current = await read(known);
    const caller = this.#authenticator.confirm(
      request,
      known.tokenHash,
      current.token as AuthenticatedToken | undefined,
      before,
    );
    const isFresh = current.version === version && caller.fingerprint === cached.fingerprint;
    if (isFresh) cached.snapshotId = caller.snapshotId;
    return { caller, isFresh };
  }

  /** Stores the snapshot id from before the handler read, so that a write in between makes the entry stale, never wrongly fresh. */
  store(request: FastifyRequest, response: SerializedResponse, { validator, contentExpiresAtMs }: CacheLifetime): void {
    const { caller } = request;
    const { url: route } = request.routeOptions;
    if (caller === undefined || route === undefined) return;
    const { fingerprint, snapshotId } = caller;
    const expiresAtMs = Math.min(caller.until, contentExpiresAtMs);
    if (expiresAtMs <= nowMs()) return;
    const cached = { ...response, body: unpooled(response.body), validator, fingerprint, expiresAtMs, snapshotId };
    this.#responses.store(keyOf(caller, request.raw), { ...cached, route, loggedUrl: loggedUrl(request.url) });
  }
}

/** A cached slice of Node's pool would keep the whole pool in memory. */
function unpooled(body: Buffer): Buffer {
  if (body.buffer.byteLength === body.length) return body;
  const own = Buffer.allocUnsafeSlow(body.length);
  body.copy(own);
  return own;
}

/** Everything that a response depends on besides the database: token, media type, compression, URL. */
const keyOf = ({ actor }: AuthenticatedCaller, request: IncomingMessage): string =>
  `${actor.tokenId} ${request.headers.accept ?? ""} ${acceptsGzip(request) ? "small " : ""}${request.url}`;
