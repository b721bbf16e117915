/** Answers requests that Node rejects before the framework sees them. The only file that writes to sockets. */
import { randomUUID } from "node:crypto";
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { AppError } from "../kernel/errors.ts";
import { basePath, errorAnswer } from "./respond.ts";

type HeadersOf = (requestId: string) => Record<string, string>;

interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
}

function parserRefusal({ code, reason }: ParserError): AppError | undefined {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new AppError(
        "headers-too-large",
        "The request's first line and headers are larger than 16 KiB together. Send a shorter path and fewer or shorter headers.",
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new AppError(
        "too-large",
        "The chunk extensions of the body are too long. Send chunks without extensions.",
      );
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new AppError("timed-out", "The request's headers took too long to arrive. Send the request again.");
    default:
      return code?.startsWith("HPE_")
        ? new AppError("bad-request", `This is not HTTP/1.1 (${reason ?? "it can't be parsed"}). Check the client.`)
        : undefined;
  }
}

/** How long a rejected client may keep sending: closing immediately might lose the response. */
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
  // A client that disconnects here must not end the process.
  socket.on("error", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${text}`);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

const responseOn = (socket: Duplex) => (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;

export function refuseBrokenRequests(headersOf: HeadersOf): (error: Error, socket: Duplex) => void {
  return function refuse(error, socket): void {
    // The parser reports everything that follows the first fault.
    if (socket.writableEnded) return;
    const refusal = parserRefusal(error);
    const answer = responseOn(socket);
    if (refusal === undefined || !socket.writable) socket.destroy();
    // A complete request came first and is answered first.
    else if (answer?.req.complete) answer.once("close", () => setImmediate(() => refuse(error, socket)));
    // A response that has started can't be replaced.
    else if (answer?.headersSent) socket.destroy();
    else write(socket, refusal, headersOf);
  };
}

export function refuseUnsupportedRequests(server: Server, headersOf: HeadersOf): void {
  server.on("checkExpectation", ({ socket }: IncomingMessage) =>
    write(
      socket,
      new AppError("expectation-failed", "The only supported expectation is 100-continue. Remove the Expect header."),
      headersOf,
    ),
  );
  server.on("connect", (_request: IncomingMessage, socket: Duplex) =>
    write(
      socket,
      new AppError("bad-request", "This server is not a proxy and does not support CONNECT. Call the API directly."),
      headersOf,
    ),
  );
}

/** Throws `bad-request`. Node's own check would send an empty response. */
export function refuseWithoutHost({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion === "1.1" && headers.host === undefined)
    throw new AppError("bad-request", "The request has no Host header, which HTTP/1.1 requires.");
}

/** Answered with 422, whose sentence clients print: they report a 404 as a missing permission and retry after a 501. */
const sentences: readonly (readonly [path: RegExp, sentence: string])[] = [
  [
    /^(?:\/workspaces\/[^/]+)?\/queries(?:\/|$)/,
    "Queries (terraform query) are not supported yet by this server. Set the workspace's execution-mode to 'local' to run terraform query on your machine.",
  ],
];

export function unsupportedAt(url: string): AppError | undefined {
  const path = url.replace(/[?#].*$/s, "");
  if (!path.startsWith(basePath)) return undefined;
  const found = sentences.find(([pattern]) => pattern.test(path.slice(basePath.length)));
  return found && new AppError("unsupported", found[1]);
}
