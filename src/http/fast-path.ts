/**
 * Sends cached responses without the framework's overhead. Decides nothing: every unusual request goes to the framework.
 * See docs/decisions/0186-fast-path-for-cached-responses.md.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import proxyAddr from "@fastify/proxy-addr";
import { newRequestId, type ResponseHeaders } from "./headers.ts";
import type { CacheCandidate, CacheHit, ResponseCache } from "./response-cache.ts";
import { loggedAddress, type RequestLog } from "./log.ts";
import type { RequestMetrics } from "./metrics.ts";
import { cachedStatus, sendCached } from "./respond.ts";

export interface FastPathOptions {
  readonly cache: ResponseCache;
  readonly headers: ResponseHeaders;
  readonly log: RequestLog;
  readonly metrics: RequestMetrics;
  readonly trustedProxies: readonly string[] | undefined;
  readonly isStopping: () => boolean;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

export function mountFastPath(server: Server, options: FastPathOptions): void {
  const [handleByFramework, ...others] = server.listeners("request") as Listener[];
  if (handleByFramework === undefined || others.length > 0) throw new Error("expected the framework's listener alone");
  const addressOf = clientAddress(options.trustedProxies);
  server.removeListener("request", handleByFramework);
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const startedAt = performance.now();
    const candidate = options.isStopping() || !isPlain(request) ? undefined : options.cache.find(request);
    if (candidate === undefined) return handleByFramework(request, response);
    const exchange = { request, response, address: addressOf(request), startedAt };
    if (options.cache.isFresh(candidate)) answer(candidate, exchange, options, handleByFramework);
    else void answerIfFresh(candidate, exchange, options, handleByFramework);
  });
}

const isPlain = ({ method, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  headers.host !== undefined &&
  headers["transfer-encoding"] === undefined &&
  (headers["content-length"] ?? "0") === "0";

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly address: string | undefined;
  readonly startedAt: number;
}

async function answerIfFresh(
  candidate: CacheCandidate,
  exchange: Exchange,
  options: FastPathOptions,
  handleByFramework: Listener,
): Promise<void> {
  const { request, response, address: ip = "" } = exchange;
  const fresh = await options.cache.validate(candidate, request, { ip });
  // A response that has closed emits nothing more, but its request counts.
  if (response.destroyed) recordEnd(fresh ?? candidate, exchange, options);
  else if (fresh === undefined) handleByFramework(request, response);
  else answer(fresh, exchange, options, handleByFramework);
}

function answer(
  candidate: CacheCandidate,
  exchange: Exchange,
  options: FastPathOptions,
  handleByFramework: Listener,
): void {
  const { request, response } = exchange;
  let hit: CacheHit;
  try {
    hit = options.cache.hit(candidate);
  } catch {
    // The framework throws the same error, and can answer it.
    return handleByFramework(request, response);
  }
  const id = newRequestId();
  response.on("close", () => recordEnd(hit, exchange, options, id));
  sendCached(response, hit.cached, options.headers.flat(id, hit.allowance));
}

function recordEnd(
  { cached: { route, loggedUrl: url }, caller }: CacheCandidate,
  { request: { method = "" }, response, address, startedAt }: Exchange,
  { log, metrics }: FastPathOptions,
  id = newRequestId(),
): void {
  const ms = performance.now() - startedAt;
  const isAborted = !response.writableFinished;
  if (!isAborted) metrics.count(method, route, cachedStatus, ms);
  if (log.isLogged(route))
    log.write({ id, method, url, route, status: cachedStatus, ms, caller, isAborted, address: loggedAddress(address) });
}

/** Must equal the address that the framework determines. */
function clientAddress(
  trustedProxies: readonly string[] | undefined,
): (request: IncomingMessage) => string | undefined {
  if (trustedProxies === undefined) return ({ socket }) => socket.remoteAddress;
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  return (request) => proxyAddr(request, isTrusted);
}
