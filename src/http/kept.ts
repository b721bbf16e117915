/**
 * Answers that were given, to be given again. Each is kept for the token and the URL that asked for it, with the moment of the
 * database at which it was right. It is right for as long as nothing at all was committed since. After that, or where its warrant (the
 * versions of all that it was made from, told by one narrow statement) says what it said then, it is right at a later moment. So
 * nothing stale is ever given, and nobody has to remember to throw anything away. Bounded in bytes; what was not asked for lately goes
 * first.
 */
import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { nowMs } from "../kernel/time.ts";
import type { Database } from "../database/database.ts";
import type { Warrant } from "../jsonapi/warrant.ts";
import type { Session } from "../resources/identity/authentication-tokens/reads.ts";
import { type Authenticator, hashOf, type KnownSession, type Moment } from "./authenticate.ts";
import type { Allowance } from "./limits.ts";
import { loggedUrl } from "./log.ts";
import type { WrittenAnswer } from "./respond.ts";
import { wantsSmaller } from "./negotiation.ts";

export interface KeptAnswer extends WrittenAnswer {
  readonly warrant: Warrant | undefined;
  /** For the log and the metrics of a response that the framework does not see. */
  readonly route: string;
  readonly loggedUrl: string;
  /** The caller as the answer was made for it. */
  readonly caller: string;
  /** When it has to be made anew, whatever was committed: as a session's, or because something that it shows ends. */
  readonly until: number;
  /** Before it was read, or when it was last found to be right. */
  moment: Moment;
}

/** What an entry costs beside its body: keys, objects, closures. */
const overheadBytes = 1024;

/** In two halves: when the one with what was asked for lately is full, it becomes the other, and that one goes. */
export class KeptAnswers {
  readonly #halfMax: number;
  #recent = new Half();
  #older = new Half();

  constructor(bytesMax: number) {
    this.#halfMax = bytesMax / 2;
  }

  get bytes(): number {
    return this.#recent.bytes + this.#older.bytes;
  }

  find(key: string): KeptAnswer | undefined {
    const recent = this.#recent.answers.get(key);
    if (recent !== undefined) return recent;
    const older = this.#older.answers.get(key);
    if (older !== undefined) this.keep(key, older);
    return older;
  }

  /** Keeps it in place of what was there. An answer that would push out much of the rest is not kept. */
  keep(key: string, answer: KeptAnswer): void {
    this.#recent.remove(key);
    this.#older.remove(key);
    const size = sizeOf(key, answer);
    if (size > this.#halfMax / 4) return;
    if (this.#recent.bytes + size > this.#halfMax) [this.#older, this.#recent] = [this.#recent, new Half()];
    this.#recent.add(key, answer);
  }
}

class Half {
  readonly answers = new Map<string, KeptAnswer>();
  bytes = 0;

  add(key: string, answer: KeptAnswer): void {
    this.answers.set(key, answer);
    this.bytes += sizeOf(key, answer);
  }

  remove(key: string): void {
    const answer = this.answers.get(key);
    if (answer === undefined) return;
    this.answers.delete(key);
    this.bytes -= sizeOf(key, answer);
  }
}

const sizeOf = (key: string, { body, warrant, caller }: KeptAnswer): number =>
  2 * (key.length + caller.length + (warrant?.says.length ?? 0)) + body.length + overheadBytes;

/** The caller as it is now, and whether what was kept is right. */
interface Finding {
  readonly session: KnownSession;
  readonly isRight: boolean;
}

/** What was kept, and the session that it was kept for. */
interface Found {
  readonly kept: KeptAnswer;
  readonly session: KnownSession;
}

/** A fresh response, with the caller's remaining requests; undefined where there is no limit. */
export interface CacheHit extends Found {
  readonly allowance: Allowance | undefined;
}

/** For how long an answer is right. */
interface Lasting {
  readonly warrant: Warrant | undefined;
  /** In milliseconds: when it changes by itself; infinity where it never does. */
  readonly until: number;
}

/** Gives answers again, and keeps those that can be. */
export class Keeper {
  readonly #answers: KeptAnswers;
  readonly #database: Database;
  readonly #authenticator: Authenticator;

  constructor(bytesMax: number, database: Database, authenticator: Authenticator) {
    this.#answers = new KeptAnswers(bytesMax);
    this.#database = database;
    this.#authenticator = authenticator;
  }

  get bytes(): number {
    return this.#answers.bytes;
  }

  /** The response that is known to be fresh without a statement, which only SQLite can tell. Raises `too-many-requests`. */
  lookUp(request: IncomingMessage): CacheHit | undefined {
    const found = this.#find(request, hashOf(request));
    if (found === undefined || !this.#isUnchanged(found)) return undefined;
    return { ...found, allowance: this.#authenticator.admit(found.session) };
  }

  /** Whether nothing was committed since the response was made for this session. */
  #isUnchanged({ kept, session }: Found): boolean {
    const moment = this.#database.moment();
    return moment !== undefined && kept.moment === moment && session.moment === moment && kept.caller === session.text;
  }

  /**
   * Lets a request in, which has its session afterwards. Gives the answer that was kept for it and is still right; where the database
   * tells its moment without a statement, and it is the same, none is run. Raises `unauthorized` or `too-many-requests`.
   */
  async letIn(request: FastifyRequest): Promise<KeptAnswer | undefined> {
    const hash = hashOf(request);
    const found = this.#find(request.raw, hash);
    if (found === undefined) {
      request.session = await this.#authenticator.authenticate(request, hash);
      return undefined;
    }
    const { session, isRight } = await this.#isRight(found.kept, request, found.session);
    request.allowance = this.#authenticator.admit(session);
    request.session = session;
    return isRight ? found.kept : undefined;
  }

  /** What was kept and has not ended with time, whether it is right or not. */
  #find(request: IncomingMessage, hash: string | undefined): Found | undefined {
    const session = request.method === "GET" ? this.#authenticator.recall(hash) : undefined;
    const kept = session && this.#answers.find(keyOf(session, request));
    return session === undefined || kept === undefined || kept.until <= nowMs() ? undefined : { kept, session };
  }

  /**
   * Without a statement while nothing was committed, where the database tells that. Else by one, which also looks the token up again; by
   * a second where the first tells that something was committed.
   */
  async #isRight(kept: KeptAnswer, request: FastifyRequest, known: KnownSession): Promise<Finding> {
    if (this.#isUnchanged({ kept, session: known })) return { session: known, isRight: true };
    const isLatest = this.#database.moment() === undefined && kept.moment === this.#authenticator.latest;
    if (kept.warrant !== undefined && !isLatest) return this.#askWarrant(kept, kept.warrant, request, known);
    const session = await this.#authenticator.identify(request, known.tokenHash);
    if (session.text !== kept.caller) return { session, isRight: false };
    if (session.moment === kept.moment) return { session, isRight: true };
    if (kept.warrant === undefined) return { session, isRight: false };
    return this.#askWarrant(kept, kept.warrant, request, session);
  }

  async #askWarrant(
    kept: KeptAnswer,
    { ask, says }: Warrant,
    request: FastifyRequest,
    known: KnownSession,
  ): Promise<Finding> {
    const before = this.#database.moment();
    const told = await ask(known);
    const session = this.#authenticator.confirm(request, known.tokenHash, told.session as Session | undefined, before);
    const isRight = told.says === says && session.text === kept.caller;
    if (isRight) kept.moment = session.moment;
    return { session, isRight };
  }

  /** For as long as both the caller's session and what the answer shows last. */
  keep(request: FastifyRequest, written: WrittenAnswer, { warrant, until: shownUntil }: Lasting): void {
    const { session } = request;
    const { url: route } = request.routeOptions;
    if (session === undefined || route === undefined) return;
    const { text: caller, moment } = session;
    const until = Math.min(session.until, shownUntil);
    if (until <= nowMs()) return;
    const answer = { ...written, body: alone(written.body), warrant, caller, until, moment };
    this.#answers.keep(keyOf(session, request.raw), { ...answer, route, loggedUrl: loggedUrl(request.url) });
  }
}

/** In memory of its own: small buffers are slices of larger ones, which would be held as a whole. */
function alone(body: Buffer): Buffer {
  if (body.buffer.byteLength === body.length) return body;
  const own = Buffer.allocUnsafeSlow(body.length);
  body.copy(own);
  return own;
}

/** What else an answer depends on than the register: who asks, for what, in which form and how small. */
const keyOf = ({ actor }: KnownSession, request: IncomingMessage): string =>
  `${actor.tokenId} ${request.headers.accept ?? ""} ${wantsSmaller(request) ? "small " : ""}${request.url}`;
