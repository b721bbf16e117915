/** Reads another server of this API over HTTP. It must not send the token to any other host. */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../kernel/errors.ts";
import { wholeBody } from "../kernel/streams.ts";
import { version } from "../version.ts";
import {
  isObject,
  type WireObject,
  MissingResource,
  type OrganizationReader,
  type ResourcePage,
  type WireResource,
  resourceOf,
  resourcesOf,
} from "./wire.ts";

export interface SourceServerOptions {
  readonly url: string;
  readonly token: string;
  readonly signal?: AbortSignal | undefined;
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

const mediaType = "application/vnd.api+json";
const pageSize = 100;
const responseMs = 60_000;
const contentMs = 30 * 60_000;
const attemptsMax = 8;
const rateWaitMsMax = 10 * 60_000;
const pauseMsMax = 30_000;

const defaultPause = (ms: number, signal: AbortSignal | undefined): Promise<void> => sleep(ms, undefined, { signal });

export class SourceServer implements OrganizationReader {
  readonly base: string;
  requests = 0;
  readonly #origin: string;
  readonly #options: SourceServerOptions;
  #blockedUntil = 0;

  private constructor(base: string, options: SourceServerOptions) {
    this.base = base;
    this.#origin = new URL(base).origin;
    this.#options = options;
  }

  /** Throws AppError. */
  static async open(options: SourceServerOptions): Promise<SourceServer> {
    const server = new SourceServer(await discover(options), options);
    await server.get("/account/details").catch((error: unknown) => {
      // On some servers, team and organization tokens have no account.
      if (!(error instanceof MissingResource)) throw error;
    });
    return server;
  }

  async get(path: string): Promise<WireResource> {
    const resource = resourceOf((await this.#document(this.base + path))["data"]);
    if (resource === undefined) throw new MissingResource(`the response to ${path} is not a document`);
    return resource;
  }

  /** Servers link to the next page, or give its number. */
  async *pages(path: string): AsyncGenerator<ResourcePage> {
    const first = new URL(this.base + path);
    first.searchParams.set("page[size]", String(pageSize));
    const seen = new Set<string>();
    for (let next: URL | undefined = first; next !== undefined && !seen.has(next.href);) {
      seen.add(next.href);
      const document = await this.#document(next.href);
      yield { resources: resourcesOf(document["data"]), included: resourcesOf(document["included"]) };
      next = this.#after(next, document);
    }
  }

  #after(current: URL, document: WireObject): URL | undefined {
    const { links, meta } = document;
    const link = isObject(links) ? links["next"] : undefined;
    const href = isObject(link) ? link["href"] : link;
    // The server's public host can differ from ours.
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

  /** Throws MissingResource; the stream fails if the download is incomplete. */
  async content(address: string): Promise<AsyncIterable<Uint8Array>> {
    const named = new URL(address, `${this.base}/`);
    // The server's public host can differ from ours. URLs outside the API belong to other hosts, which get no token.
    const url = named.pathname.startsWith("/api/") ? new URL(named.pathname + named.search, this.#origin) : named;
    const response = await this.#request(url.href, contentMs);
    if (response.body === null) throw new MissingResource("the source returned no content");
    return wholeBody(response);
  }

  async #document(url: string): Promise<WireObject> {
    for (let attempt = 0; ; attempt += 1) {
      const response = await this.#request(url, responseMs);
      try {
        const document: unknown = await response.json();
        if (isObject(document)) return document;
        throw new Error("not an object");
      } catch (error) {
        this.#options.signal?.throwIfAborted();
        if (attempt === 2)
          throw new MissingResource(`the response to ${pathOf(url)} is not a document (${(error as Error).message})`);
      }
    }
  }

  /** Throws MissingResource for 4xx, and AppError for errors that end the import. */
  async #request(url: string, timeoutMs: number): Promise<Response> {
    let waitedMs = 0;
    for (let attempt = 1; ;) {
      await this.#waitForRateLimit();
      const answer = await this.#once(url, timeoutMs);
      if (answer instanceof Response && answer.ok) return answer;
      const status = answer instanceof Response ? answer.status : undefined;
      if (answer instanceof Response) await answer.body?.cancel().catch(() => {});
      if (status === 429 && answer instanceof Response) {
        const ms = resetMs(answer.headers) ?? pauseMs(attempt);
        waitedMs += ms;
        if (waitedMs > rateWaitMsMax) throw tooBusy(this.base);
        this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + ms);
        await this.#wait(ms);
        continue;
      }
      throwIfFinal(status, url, this.base, new URL(url).origin === this.#origin);
      if (attempt === attemptsMax) throw failed(answer, url, this.base);
      await this.#wait(pauseMs(attempt));
      attempt += 1;
    }
  }

  async #waitForRateLimit(): Promise<void> {
    const ms = this.#blockedUntil - performance.now();
    if (ms > 0) await this.#wait(ms);
  }

  async #wait(ms: number): Promise<void> {
    const { pause = defaultPause, signal } = this.#options;
    await pause(ms, signal);
    signal?.throwIfAborted();
  }

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

  #slowDown(headers: Headers): void {
    if (headers.get("x-ratelimit-remaining") !== "0") return;
    const ms = resetMs(headers);
    if (ms !== undefined)
      this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + Math.min(ms, pauseMsMax));
  }
}

/** Both headers are in seconds. */
function resetMs(headers: Headers): number | undefined {
  for (const name of ["retry-after", "x-ratelimit-reset"]) {
    const seconds = Number.parseFloat(headers.get(name) ?? "");
    if (seconds >= 0 && seconds < 3600) return Math.ceil(seconds * 1000);
  }
  return undefined;
}

const pauseMs = (attempt: number): number => Math.min(pauseMsMax, 250 * 2 ** attempt) * (0.5 + Math.random() / 2);

function throwIfFinal(status: number | undefined, url: string, base: string, isOwn: boolean): void {
  if (status === 401 && isOwn)
    throw new AppError(
      "unauthorized",
      `${base} rejected the token. Use a token that can read the whole organization, with --token or CADASTRE_IMPORT_TOKEN.`,
    );
  if (status !== undefined && status >= 400 && status < 500 && status !== 408)
    throw new MissingResource(
      status === 404 || status === 403
        ? `the source has no ${pathOf(url)}, or the token has no access to it (${status})`
        : `the source rejected ${pathOf(url)} (${status})`,
    );
}

const pathOf = (url: string): string => new URL(url).pathname.replace(/^\/api\/v2/, "");

const tooBusy = (base: string) =>
  new AppError(
    "unavailable",
    `${base} has limited the request rate for ten minutes. Import again later, or with a lower --concurrency. What was imported is kept.`,
  );

function failed(answer: Response | Error, url: string, base: string): Error {
  if (answer instanceof Response && answer.status >= 500)
    return new MissingResource(`${pathOf(url)} failed repeatedly at the source (${answer.status})`);
  return unreachable(base, answer);
}

const unreachable = (base: string, cause: unknown) =>
  new AppError(
    "unavailable",
    `${base} can't be reached (${causeOf(cause)}). Check --from and the network, and import again. What was imported is kept.`,
  );

function causeOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message;
}

const apiPath = /\/api\/v\d+\/?$/;

/** The given URL if it has an API path, otherwise from service discovery, otherwise `/api/v2`. */
async function discover({ url: given, signal }: SourceServerOptions): Promise<string> {
  const url = new URL(given);
  if (apiPath.test(url.pathname)) return url.href.replace(/\/$/, "");
  try {
    const timeout = AbortSignal.timeout(responseMs);
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
