/**
 * What never becomes a request to the framework, because Node refuses it before: told like every other error. This file
 * writes to sockets; nobody else does.
 */
import { randomUUID } from "node:crypto";
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { AppError } from "../kernel/errors.ts";
import { basePath, errorAnswer } from "./respond.ts";

type HeadersOf = (requestId: string) => Record<string, string>;

interface ParserError extends Error {
  readonly code?: string;
  /** The parser's own words, which quote nothing. */
  readonly reason?: string;
}

/** Undefined where nobody is there to be answered. */
function parserRefusal({ code, reason }: ParserError): AppError | undefined {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new AppError(
        "headers-too-large",
        "The request's first line and headers are larger than 16 KiB together. Send a shorter path and fewer or shorter headers.",
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new AppError("too-large", "The chunks of the body have extensions that are too long. Send them without.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new AppError("timed-out", "The request's headers took too long to arrive. Send them at once.");
    default:
      return code?.startsWith("HPE_")
        ? new AppError("bad-request", `This is not HTTP/1.1 (${reason ?? "it can't be parsed"}). Check the client.`)
        : undefined;
  }
}

/** How long a client that was refused may go on sending: cut off at once, it might never read why. */
const lingerMs = 1_000;

function write(socket: Duplex, error: AppError, headersOf: HeadersOf): void {
  const { status, headers, text } = errorAnswer(error);
  const all = {
    ...headersOf(randomUUID()),
    ...headers,
    "content-length": String(Buffer.byteLength(text)),
    date: new Date().toUTCString(),
    connection: "close",
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  // Whoever goes away instead of reading it is no failure of ours, and must not end the process.
  socket.on("error", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${text}`);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

/** The answer that is being made on a connection, to the request that its bytes belong to or to one before. */
const responseOn = (socket: Duplex) => (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;

/** For the framework: what to do with a connection whose bytes make no request. */
export function refuseBrokenRequests(headersOf: HeadersOf): (error: Error, socket: Duplex) => void {
  return function refuse(error, socket): void {
    // After the first fault the parser complains about everything that follows.
    if (socket.writableEnded) return;
    const refusal = parserRefusal(error);
    const answer = responseOn(socket);
    if (refusal === undefined || !socket.writable) socket.destroy();
    // A whole request was sent before, and is answered before.
    else if (answer?.req.complete) answer.once("close", () => setImmediate(() => refuse(error, socket)));
    // An answer that has begun can't be taken back.
    else if (answer?.headersSent) socket.destroy();
    else write(socket, refusal, headersOf);
  };
}

/** The two things that Node itself would answer, or cut off, without a word. */
export function refuseUnsupportedRequests(server: Server, headersOf: HeadersOf): void {
  server.on("checkExpectation", ({ socket }: IncomingMessage) =>
    write(
      socket,
      new AppError("expectation-failed", "The only expectation that can be met is 100-continue. Leave 'Expect' out."),
      headersOf,
    ),
  );
  server.on("connect", (_request: IncomingMessage, socket: Duplex) =>
    write(
      socket,
      new AppError("bad-request", "This is no proxy: CONNECT is not served. Call the API directly."),
      headersOf,
    ),
  );
}

/** Raises `bad-request`. Node's own check would answer with nothing at all. */
export function refuseWithoutHost({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion === "1.1" && headers.host === undefined)
    throw new AppError("bad-request", "The request has no Host header, which HTTP/1.1 asks for.");
}

/**
 * Paths that clients know and the service does not have yet. Clients report a 404 as a missing permission, and retry after a 501; a 422
 * they print as it is.
 */
const sentences: readonly (readonly [path: RegExp, sentence: string])[] = [
  [
    /^(?:\/workspaces\/[^/]+)?\/queries(?:\/|$)/,
    "Queries (terraform query) are not supported yet by this server. Set the workspace's execution-mode to 'local' to run terraform query on your machine.",
  ],
];

/** Undefined where a path is simply not there. */
export function unsupportedAt(url: string): AppError | undefined {
  const path = url.replace(/[?#].*$/s, "");
  if (!path.startsWith(basePath)) return undefined;
  const found = sentences.find(([pattern]) => pattern.test(path.slice(basePath.length)));
  return found && new AppError("unsupported", found[1]);
}
