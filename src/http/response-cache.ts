/** The response cache: serves an entry while the snapshot id or its validator's version is unchanged. Nothing is invalidated explicitly. */
import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { nowMs } from "../kernel/time.ts";
import type { Database } from "../database/database.ts";
import type { CacheValidator } from "../jsonapi/cache-validator.ts";
import type { AuthenticatedToken } from "../resources/identity/authentication-tokens/reads.ts";
import { type Authenticator, hashOf, type KnownSession, type SnapshotId } from "./authenticate.ts";
import type { Allowance } from "./limits.ts";
import { loggedUrl } from "./log.ts";
import type { SerializedResponse } from "./respond.ts";
import { acceptsGzip } from "./negotiation.ts";

export interface CachedResponse extends SerializedResponse {
  readonly validator: CacheValidator | undefined;
  readonly route: string;
  readonly loggedUrl: string;
  readonly caller: string;
  readonly until: number;
  /** Read before the response was made, or when it was last validated. */
  snapshotId: SnapshotId;
}

const overheadBytes = 1024;

/** Two generations approximate LRU: a full recent one becomes the older one, whose entries are dropped. */
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

const sizeOf = (key: string, { body, validator, caller }: CachedResponse): number =>
  2 * (key.length + caller.length + (validator?.version.length ?? 0)) + body.length + overheadBytes;

interface CacheCandidate {
  readonly cached: CachedResponse;
  readonly session: KnownSession;
}

export interface CacheHit extends CacheCandidate {
  readonly allowance: Allowance | undefined;
}

interface ValidationResult {
  readonly session: KnownSession;
  readonly isFresh: boolean;
}

interface CacheLifetime {
  readonly validator: CacheValidator | undefined;
  /** In milliseconds: when the response changes although nothing is written; infinity for never. */
  readonly until: number;
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

  /** Runs no statement, so it finds fresh responses on SQLite only. Raises `too-many-requests`. */
  lookUp(request: IncomingMessage): CacheHit | undefined {
    const candidate = this.#find(request, hashOf(request));
    if (candidate === undefined || !this.#isUnchanged(candidate)) return undefined;
    return { ...candidate, allowance: this.#authenticator.admit(candidate.session) };
  }

  #isUnchanged({ cached, session }: CacheCandidate): boolean {
    const snapshotId = this.#database.snapshotId();
    const isSameSnapshot =
      snapshotId !== undefined && cached.snapshotId === snapshotId && session.snapshotId === snapshotId;
    return isSameSnapshot && cached.caller === session.text;
  }

  /** Sets the request's session, and returns the cached response if it is fresh. Raises `unauthorized` or `too-many-requests`. */
  async authenticate(request: FastifyRequest): Promise<CachedResponse | undefined> {
    const hash = hashOf(request);
    const candidate = this.#find(request.raw, hash);
    if (candidate === undefined) {
      request.session = await this.#authenticator.authenticate(request, hash);
      return undefined;
    }
    const { session, isFresh } = await this.#validate(candidate.cached, request, candidate.session);
    request.allowance = this.#authenticator.admit(session);
    request.session = session;
    return isFresh ? candidate.cached : undefined;
  }

  #find(request: IncomingMessage, hash: string | undefined): CacheCandidate | undefined {
    const session = request.method === "GET" ? this.#authenticator.recall(hash) : undefined;
    const cached = session && this.#responses.find(keyOf(session, request));
    return session === undefined || cached === undefined || cached.until <= nowMs() ? undefined : { cached, session };
  }

  /** Runs no statement on SQLite while the snapshot id is unchanged; otherwise one, and a second one if the snapshot id has changed. */
  async #validate(cached: CachedResponse, request: FastifyRequest, known: KnownSession): Promise<ValidationResult> {
    if (this.#isUnchanged({ cached, session: known })) return { session: known, isFresh: true };
    const isLatest = this.#database.snapshotId() === undefined && cached.snapshotId === this.#authenticator.latest;
    if (cached.validator !== undefined && !isLatest)
      return this.#askValidator(cached, cached.validator, request, known);
    const session = await this.#authenticator.identify(request, known.tokenHash);
    if (session.text !== cached.caller) return { session, isFresh: false };
    if (session.snapshotId === cached.snapshotId) return { session, isFresh: true };
    if (cached.validator === undefined) return { session, isFresh: false };
    return this.#askValidator(cached, cached.validator, request, session);
  }

  async #askValidator(
    cached: CachedResponse,
    { read, version }: CacheValidator,
    request: FastifyRequest,
    known: KnownSession,
  ): Promise<ValidationResult> {
    const before = this.#database.snapshotId();
    const current = await read(known);
    const session = this.#authenticator.confirm(
      request,
      known.tokenHash,
      current.session as AuthenticatedToken | undefined,
      before,
    );
    const isFresh = current.version === version && session.text === cached.caller;
    if (isFresh) cached.snapshotId = session.snapshotId;
    return { session, isFresh };
  }

  store(request: FastifyRequest, response: SerializedResponse, { validator, until: shownUntil }: CacheLifetime): void {
    const { session } = request;
    const { url: route } = request.routeOptions;
    if (session === undefined || route === undefined) return;
    const { text: caller, snapshotId } = session;
    const until = Math.min(session.until, shownUntil);
    if (until <= nowMs()) return;
    const cached = { ...response, body: unpooled(response.body), validator, caller, until, snapshotId };
    this.#responses.store(keyOf(session, request.raw), { ...cached, route, loggedUrl: loggedUrl(request.url) });
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
const keyOf = ({ actor }: KnownSession, request: IncomingMessage): string =>
  `${actor.tokenId} ${request.headers.accept ?? ""} ${acceptsGzip(request) ? "small " : ""}${request.url}`;
