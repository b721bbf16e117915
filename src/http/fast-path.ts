/**
 * Sends cached responses without the framework's overhead. Decides nothing: every unusual request goes to the framework.
 * See docs/decisions/0186-fast-path-for-cached-responses.md.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import proxyAddr from "@fastify/proxy-addr";
import { newRequestId, type ResponseHeaders } from "./headers.ts";
import type { CacheHit, ResponseCache } from "./response-cache.ts";
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
    const hit = options.isStopping() || !isPlain(request) ? undefined : lookUp(options.cache, request);
    if (hit === undefined) handleByFramework(request, response);
    else send(hit, { request, response, address: addressOf(request), startedAt }, options);
  });
}

const isPlain = ({ method, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  headers.host !== undefined &&
  headers["transfer-encoding"] === undefined &&
  (headers["content-length"] ?? "0") === "0";

function lookUp(cache: ResponseCache, request: IncomingMessage): CacheHit | undefined {
  try {
    return cache.lookUp(request);
  } catch {
    // The framework throws the same error, and can answer it.
    return undefined;
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly address: string | undefined;
  readonly startedAt: number;
}

function send(
  { cached, caller, allowance }: CacheHit,
  { request: { method = "" }, response, address: from, startedAt }: Exchange,
  { headers, log, metrics }: FastPathOptions,
): void {
  const id = newRequestId();
  const { route, loggedUrl: url } = cached;
  const isLogged = log.isLogged(route);
  const address = loggedAddress(from);
  response.on("close", () => {
    const ms = performance.now() - startedAt;
    const isAborted = !response.writableFinished;
    if (!isAborted) metrics.count(method, route, cachedStatus, ms);
    if (isLogged) log.write({ id, method, url, route, status: cachedStatus, ms, caller, isAborted, address });
  });
  sendCached(response, cached, headers.flat(id, allowance));
}

/** Must equal the address that the framework determines. */
function clientAddress(
  trustedProxies: readonly string[] | undefined,
): (request: IncomingMessage) => string | undefined {
  if (trustedProxies === undefined) return ({ socket }) => socket.remoteAddress;
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  return (request) => proxyAddr(request, isTrusted);
}
