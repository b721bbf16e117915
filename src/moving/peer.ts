/**
 * Any server of this API, read over HTTP. It is asked patiently: rates are respected, what fails for the moment is tried again, and
 * where the API is, is looked up. The token goes to the server itself and to nobody whom it names.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../kernel/errors.ts";
import { wholeBody } from "../kernel/streams.ts";
import { version } from "../version.ts";
import { isObject, type Json, Missing, type Origin, type Page, type Thing, thingOf, thingsOf } from "./wire.ts";

export interface PeerOptions {
  readonly url: string;
  readonly token: string;
  readonly signal?: AbortSignal | undefined;
  /** How to wait; tests do not. */
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

const mediaType = "application/vnd.api+json";
const pageSize = 100;
/** For an answer to begin, and for one that is a document. */
const answerMs = 60_000;
/** For the whole of a state. */
const contentMs = 30 * 60_000;
const attemptsMax = 8;
/** A server that says every time to come back later is believed for this long. */
const rateWaitMsMax = 10 * 60_000;
const pauseMsMax = 30_000;

const waits = (ms: number, signal: AbortSignal | undefined): Promise<void> => sleep(ms, undefined, { signal });

export class Peer implements Origin {
  /** The API's address, with its path: `https://app.example/api/v2`. */
  readonly base: string;
  requests = 0;
  readonly #origin: string;
  readonly #options: PeerOptions;
  /** Nobody asks before this moment: the server has said so to one of us. */
  #heldUntil = 0;

  private constructor(base: string, options: PeerOptions) {
    this.base = base;
    this.#origin = new URL(base).origin;
    this.#options = options;
  }

  /** Looks up where the API is, and whether the token is known. Raises AppError with a sentence. */
  static async open(options: PeerOptions): Promise<Peer> {
    const peer = new Peer(await discover(options), options);
    await peer.get("/account/details").catch((error: unknown) => {
      // A team's or an organization's token is nobody's account everywhere.
      if (!(error instanceof Missing)) throw error;
    });
    return peer;
  }

  async get(path: string): Promise<Thing> {
    const thing = thingOf((await this.#document(this.base + path))["data"]);
    if (thing === undefined) throw new Missing(`its answer to ${path} holds no document`);
    return thing;
  }

  /** Both ways of paging are followed: a link to the next page, and its number. */
  async *pages(path: string): AsyncGenerator<Page> {
    const first = new URL(this.base + path);
    first.searchParams.set("page[size]", String(pageSize));
    const seen = new Set<string>();
    for (let next: URL | undefined = first; next !== undefined && !seen.has(next.href);) {
      seen.add(next.href);
      const document = await this.#document(next.href);
      yield { things: thingsOf(document["data"]), included: thingsOf(document["included"]) };
      next = this.#after(next, document);
    }
  }

  #after(current: URL, document: Json): URL | undefined {
    const { links, meta } = document;
    const link = isObject(links) ? links["next"] : undefined;
    const href = isObject(link) ? link["href"] : link;
    // Its public name may be another than the one that we reach it by.
    if (typeof href === "string" && href !== "") {
      const { pathname, search } = new URL(href, current);
      return new URL(pathname + search, this.#origin);
    }
    const pagination = isObject(meta) && isObject(meta["pagination"]) ? meta["pagination"] : {};
    const number = pagination["next-page"];
    if (typeof number !== "number") return undefined;
    const next = new URL(current);
    next.searchParams.set("page[number]", String(number));
    return next;
  }

  /** A content that a document names by its address. Raises Missing; breaks off with an Error where it does not come whole. */
  async content(address: string): Promise<AsyncIterable<Uint8Array>> {
    const named = new URL(address, `${this.base}/`);
    // Its public name may be another than the one that we reach it by; what is not of the API is another's, who gets no token.
    const url = named.pathname.startsWith("/api/") ? new URL(named.pathname + named.search, this.#origin) : named;
    const response = await this.#ask(url.href, contentMs);
    if (response.body === null) throw new Missing("the source gave no content");
    return wholeBody(response);
  }

  async #document(url: string): Promise<Json> {
    for (let attempt = 0; ; attempt += 1) {
      const response = await this.#ask(url, answerMs);
      try {
        const document: unknown = await response.json();
        if (isObject(document)) return document;
        throw new Error("it is no object");
      } catch (error) {
        this.#options.signal?.throwIfAborted();
        if (attempt === 2)
          throw new Missing(`its answer to ${pathOf(url)} is no document (${(error as Error).message})`);
      }
    }
  }

  /** An answer that is a success. Raises Missing for what is not there or not for us, and AppError for what ends everything. */
  async #ask(url: string, timeoutMs: number): Promise<Response> {
    let waitedMs = 0;
    for (let attempt = 1; ;) {
      await this.#hold();
      const answer = await this.#once(url, timeoutMs);
      if (answer instanceof Response && answer.ok) return answer;
      const status = answer instanceof Response ? answer.status : undefined;
      if (answer instanceof Response) await answer.body?.cancel().catch(() => {});
      if (status === 429 && answer instanceof Response) {
        const ms = resetMs(answer.headers) ?? pauseMs(attempt);
        waitedMs += ms;
        if (waitedMs > rateWaitMsMax) throw tooBusy(this.base);
        this.#heldUntil = Math.max(this.#heldUntil, performance.now() + ms);
        await this.#wait(ms);
        continue;
      }
      refuseFinal(status, url, this.base, new URL(url).origin === this.#origin);
      if (attempt === attemptsMax) throw failed(answer, url, this.base);
      await this.#wait(pauseMs(attempt));
      attempt += 1;
    }
  }

  async #hold(): Promise<void> {
    const ms = this.#heldUntil - performance.now();
    if (ms > 0) await this.#wait(ms);
  }

  async #wait(ms: number): Promise<void> {
    const { pause = waits, signal } = this.#options;
    await pause(ms, signal);
    signal?.throwIfAborted();
  }

  /** Where nobody answered, the error. */
  async #once(url: string, timeoutMs: number): Promise<Response | Error> {
    const { token, signal } = this.#options;
    const timeout = AbortSignal.timeout(timeoutMs);
    const isOwn = new URL(url).origin === this.#origin;
    this.requests += 1;
    try {
      const response = await fetch(url, {
        headers: {
          accept: mediaType,
          "user-agent": `cadastre/${version}`,
          ...(isOwn && { authorization: `Bearer ${token}` }),
        },
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      });
      this.#slowDown(response.headers);
      return response;
    } catch (error) {
      signal?.throwIfAborted();
      return error as Error;
    }
  }

  /** Where this was the last that the server allows for now, nobody asks before it allows more. */
  #slowDown(headers: Headers): void {
    if (headers.get("x-ratelimit-remaining") !== "0") return;
    const ms = resetMs(headers);
    if (ms !== undefined) this.#heldUntil = Math.max(this.#heldUntil, performance.now() + Math.min(ms, pauseMsMax));
  }
}

/** Seconds, by either header; undefined where neither says. */
function resetMs(headers: Headers): number | undefined {
  for (const name of ["retry-after", "x-ratelimit-reset"]) {
    const seconds = Number.parseFloat(headers.get(name) ?? "");
    if (seconds >= 0 && seconds < 3600) return Math.ceil(seconds * 1000);
  }
  return undefined;
}

const pauseMs = (attempt: number): number => Math.min(pauseMsMax, 250 * 2 ** attempt) * (0.5 + Math.random() / 2);

/** What will not get better by asking again. */
function refuseFinal(status: number | undefined, url: string, base: string, isOwn: boolean): void {
  if (status === 401 && isOwn)
    throw new AppError(
      "unauthorized",
      `${base} does not know the token, or refuses it. Give a token that may read the whole organization, by --token or CADASTRE_IMPORT_TOKEN.`,
    );
  if (status !== undefined && status >= 400 && status < 500 && status !== 408)
    throw new Missing(
      status === 404 || status === 403
        ? `the source has no ${pathOf(url)}, or does not show it to this token (${status})`
        : `the source refuses ${pathOf(url)} (${status})`,
    );
}

const pathOf = (url: string): string => new URL(url).pathname.replace(/^\/api\/v2/, "");

const tooBusy = (base: string) =>
  new AppError(
    "unavailable",
    `${base} has asked to come back later for ten minutes. Import again when it is less busy, or with a smaller --concurrency: what was brought stays.`,
  );

function failed(answer: Response | Error, url: string, base: string): Error {
  if (answer instanceof Response && answer.status >= 500)
    return new Missing(`the source fails at ${pathOf(url)} again and again (${answer.status})`);
  return unreachable(base, answer);
}

const unreachable = (base: string, cause: unknown) =>
  new AppError(
    "unavailable",
    `${base} can't be reached (${causeOf(cause)}). Check --from and the network, and import again: what was brought stays.`,
  );

function causeOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message;
}

const ownPath = /\/api\/v\d+\/?$/;

/** The API's address: as it was given, where that names the API; else as the server says; else where it is everywhere. */
async function discover({ url: given, signal }: PeerOptions): Promise<string> {
  const url = new URL(given);
  if (ownPath.test(url.pathname)) return url.href.replace(/\/$/, "");
  try {
    const timeout = AbortSignal.timeout(answerMs);
    const response = await fetch(new URL("/.well-known/terraform.json", url), {
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const services: unknown = response.ok ? await response.json() : {};
    const service = isObject(services)
      ? (services["tfe.v2"] ?? services["tfe.v2.1"] ?? services["state.v2"])
      : undefined;
    return new URL(typeof service === "string" ? service : "/api/v2", url).href.replace(/\/$/, "");
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof SyntaxError) return new URL("/api/v2", url).href;
    throw unreachable(given, error);
  }
}
