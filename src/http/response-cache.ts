/**
 * The response cache, by token and URL: serves an entry to the same caller while nothing was committed that can alter it, or its validator's
 * version is unchanged. Nothing is invalidated explicitly.
 */
import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { nowMs } from "../kernel/time.ts";
import type { Database } from "../database/database.ts";
import type { CacheValidator } from "../jsonapi/cache-validator.ts";
import type { AuthenticatedToken } from "../resources/identity/authentication-tokens/reads.ts";
import { type Authenticator, hashOf, type AuthenticatedCaller, type RequestAddress } from "./authenticate.ts";
import type { Allowance } from "./limits.ts";
import { loggedUrl } from "./log.ts";
import type { SerializedResponse } from "./respond.ts";
import { acceptsGzip } from "./negotiation.ts";
import { SingleFlight } from "./single-flight.ts";

export interface CachedResponse extends SerializedResponse {
  readonly validator: CacheValidator | undefined;
  readonly route: string;
  readonly loggedUrl: string;
  /** Of the caller for whom the response was made. */
  readonly fingerprint: string;
  readonly expiresAtMs: number;
  /** Whose changes can alter the response, besides those of the site; undefined: any commit may. */
  readonly organizationId: string | undefined;
  /** Read before the response was made, or when it was last validated. */
  snapshotId: number;
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

export interface CacheCandidate {
  readonly cached: CachedResponse;
  readonly caller: AuthenticatedCaller;
}

export interface CacheHit extends CacheCandidate {
  readonly allowance: Allowance | undefined;
}

type AuthenticationOutcome =
  | { readonly caller: AuthenticatedCaller }
  | { readonly caller?: never; readonly error: unknown };

interface ValidationResult {
  readonly caller: AuthenticatedCaller;
  readonly isFresh: boolean;
}

interface CacheLifetime {
  readonly validator: CacheValidator | undefined;
  readonly organizationId: string | undefined;
  /** When the response changes although nothing is written; infinity for never. */
  readonly contentExpiresAtMs: number;
}

export class ResponseCache {
  readonly #responses: CachedResponses;
  readonly #database: Database;
  readonly #authenticator: Authenticator;
  readonly #reads = new SingleFlight<SerializedResponse>();
  /** Of requests that turned out not to have a fresh response. */
  readonly #outcomes = new WeakMap<IncomingMessage, AuthenticationOutcome>();

  constructor(bytesMax: number, database: Database, authenticator: Authenticator) {
    this.#responses = new CachedResponses(bytesMax);
    this.#database = database;
    this.#authenticator = authenticator;
  }

  get bytes(): number {
    return this.#responses.bytes;
  }

  /** The response that was cached for the same token and URL, which may be stale. */
  find(request: IncomingMessage): CacheCandidate | undefined {
    const caller = request.method === "GET" ? this.#authenticator.recall(hashOf(request)) : undefined;
    const cached = caller && this.#responses.find(keyOf(caller, request));
    if (caller === undefined || cached === undefined || cached.expiresAtMs <= nowMs()) return undefined;
    return { cached, caller };
  }

  /** Whether the response is fresh, where this is known without a statement: on SQLite. */
  isFresh({ cached, caller }: CacheCandidate): boolean {
    const snapshotId = this.#database.snapshotId();
    return snapshotId !== undefined && caller.snapshotId === snapshotId && this.#isUnchanged(cached, caller);
  }

  /** Undefined if the response is stale or the token invalid: then `authenticate` takes what was found out about the caller. */
  async validate(
    candidate: CacheCandidate,
    request: IncomingMessage,
    address: RequestAddress,
  ): Promise<CacheCandidate | undefined> {
    try {
      const { caller, isFresh } = await this.#validate(candidate, address);
      if (isFresh) return { cached: candidate.cached, caller };
      this.#outcomes.set(request, { caller });
    } catch (error) {
      this.#outcomes.set(request, { error });
    }
    return undefined;
  }

  /** Throws `too-many-requests`. */
  hit(candidate: CacheCandidate): CacheHit {
    return { ...candidate, allowance: this.#authenticator.takeAllowance(candidate.caller) };
  }

  /** Sets the request's caller, and returns the cached response if it is fresh. Throws `unauthorized` or `too-many-requests`. */
  async authenticate(request: FastifyRequest): Promise<CachedResponse | undefined> {
    const outcome = this.#outcomes.get(request.raw);
    if (outcome !== undefined && "error" in outcome) throw outcome.error;
    const candidate = outcome === undefined ? this.find(request.raw) : undefined;
    const found = candidate && (await this.#validate(candidate, request));
    const caller =
      outcome?.caller ?? found?.caller ?? (await this.#authenticator.identify(request, hashOf(request.raw)));
    request.allowance = this.#authenticator.takeAllowance(caller);
    request.caller = caller;
    return found?.isFresh === true ? candidate?.cached : undefined;
  }

  #isUnchanged(cached: CachedResponse, { fingerprint, snapshotId }: AuthenticatedCaller): boolean {
    const { commits } = this.#database;
    return (
      cached.fingerprint === fingerprint && commits.isUnchanged(cached.organizationId, cached.snapshotId, snapshotId)
    );
  }

  /**
   * - Nothing that can alter the response was committed, which SQLite knows without a statement: it is fresh.
   * - It is known to be stale, and has a validator: one statement runs the validator and looks up the token.
   * - Otherwise one statement looks up the token and what has changed. If that makes the response stale, the validator runs as a second one.
   */
  async #validate(candidate: CacheCandidate, address: RequestAddress): Promise<ValidationResult> {
    const { cached, caller: known } = candidate;
    if (this.isFresh(candidate)) return { caller: known, isFresh: true };
    const { commits } = this.#database;
    const isKnownStale = !commits.isUnchanged(
      cached.organizationId,
      cached.snapshotId,
      this.#database.newestSnapshotId(),
    );
    if (cached.validator !== undefined && isKnownStale)
      return this.#runValidator(cached, cached.validator, address, known);
    const caller = await this.#authenticator.identify(address, known.tokenHash);
    if (this.#isUnchanged(cached, caller)) return { caller, isFresh: true };
    if (cached.validator === undefined || caller.fingerprint !== cached.fingerprint) return { caller, isFresh: false };
    return this.#runValidator(cached, cached.validator, address, caller);
  }

  async #runValidator(
    cached: CachedResponse,
    { read, version }: CacheValidator,
    address: RequestAddress,
    known: AuthenticatedCaller,
  ): Promise<ValidationResult> {
    const before = this.#database.snapshotId();
    const current = await read(known);
    const caller = this.#authenticator.confirm(
      address,
      known.tokenHash,
      current.token as AuthenticatedToken | undefined,
      before,
    );
    const isFresh = current.version === version && caller.fingerprint === cached.fingerprint;
    if (isFresh) cached.snapshotId = Math.max(cached.snapshotId, caller.snapshotId);
    return { caller, isFresh };
  }

  /** On PostgreSQL, identical requests share a read that begins after they arrived. SQLite reads without pauses. */
  share(request: FastifyRequest, read: () => Promise<SerializedResponse>): Promise<SerializedResponse> {
    const { caller } = request;
    if (caller === undefined || this.#database.snapshotId() !== undefined) return read();
    return this.#reads.run(`${keyOf(caller, request.raw)} ${caller.fingerprint}`, read);
  }

  /** Stores the snapshot id from before the handler read, so that a write in between makes the entry stale, never wrongly fresh. */
  store(request: FastifyRequest, response: SerializedResponse, lifetime: CacheLifetime): void {
    const { caller } = request;
    const { url: route } = request.routeOptions;
    if (caller === undefined || route === undefined) return;
    const { fingerprint, snapshotId } = caller;
    const { validator, organizationId } = lifetime;
    const expiresAtMs = Math.min(caller.until, lifetime.contentExpiresAtMs);
    if (expiresAtMs <= nowMs()) return;
    const made = { fingerprint, expiresAtMs, organizationId, snapshotId };
    const cached = { ...response, body: unpooled(response.body), validator, ...made };
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
