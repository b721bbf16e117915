/**
 * Gives answers that were kept before the framework makes anything of a request: its routing, its hooks and the objects for them
 * would cost more than all the rest. Whatever is out of the ordinary in any way is left to the framework, which finds out the same
 * and tells what is wrong.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import proxyAddr from "@fastify/proxy-addr";
import { type Headers, newRequestId } from "./headers.ts";
import type { Keeper, Recalled } from "./kept.ts";
import { loggedAddress, type RequestLog } from "./log.ts";
import type { RequestFigures } from "./request-metrics.ts";
import { sendAtOnce, statusAtOnce } from "./respond.ts";

export interface AtOnceOptions {
  readonly keeper: Keeper;
  readonly headers: Headers;
  readonly log: RequestLog;
  readonly figures: RequestFigures;
  readonly trustedProxies: readonly string[] | undefined;
  readonly isStopping: () => boolean;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Takes the place of the framework's listener, and calls it for everything that it does not answer. */
export function answerAtOnce(server: Server, options: AtOnceOptions): void {
  const [framework, ...others] = server.listeners("request") as Listener[];
  if (framework === undefined || others.length > 0) throw new Error("the framework has not one listener");
  const addressOf = addresses(options.trustedProxies);
  server.removeListener("request", framework);
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const began = performance.now();
    const recalled = options.isStopping() || !isPlain(request) ? undefined : recall(options.keeper, request);
    if (recalled === undefined) framework(request, response);
    else give(recalled, { request, response, address: addressOf(request), began }, options);
  });
}

/** Not where something is to be refused, read or waited for besides. */
const isPlain = ({ method, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  headers.host !== undefined &&
  headers["transfer-encoding"] === undefined &&
  (headers["content-length"] ?? "0") === "0";

function recall(keeper: Keeper, request: IncomingMessage): Recalled | undefined {
  try {
    return keeper.recall(request);
  } catch {
    // The framework comes upon the same, and there it can be told.
    return undefined;
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly address: string | undefined;
  readonly began: number;
}

function give(
  { kept, session, allowance }: Recalled,
  { request: { method = "" }, response, address: from, began }: Exchange,
  { headers, log, figures }: AtOnceOptions,
): void {
  const id = newRequestId();
  const { route, toldUrl: url } = kept;
  const isTold = log.isToldOf(route);
  const address = loggedAddress(from);
  response.on("close", () => {
    const ms = performance.now() - began;
    const isCut = !response.writableFinished;
    if (!isCut) figures.count(method, route, statusAtOnce, ms);
    if (isTold) log.tell({ id, method, url, route, status: statusAtOnce, ms, session, isCut, address });
  });
  sendAtOnce(response, kept, headers.inTurn(id, allowance));
}

/** Whom a request comes from, as the framework tells it. */
function addresses(trustedProxies: readonly string[] | undefined): (request: IncomingMessage) => string | undefined {
  if (trustedProxies === undefined) return ({ socket }) => socket.remoteAddress;
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  return (request) => proxyAddr(request, isTrusted);
}
