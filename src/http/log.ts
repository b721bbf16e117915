/**
 * What the log tells of requests and errors: nothing that a caller may have put a secret into. Queries are left out, however
 * they are spelled, and of an error only what its maker wrote.
 */
import { hostname } from "node:os";
import type { FastifyInstance } from "fastify";
import pino from "pino";
import { actorId } from "../access/actor.ts";

const urlLengthMax = 300;

/**
 * Paths of ours are made of these characters. At the first other one, whether it begins a query or is meant to hide one
 * (`%3F`, `;`, `%25…`), the rest is left out.
 */
const plainPath = /^[\w./~-]*/;

/** Without the host that a request may name in its first line: before it there may be a name and a password. */
export function loggedUrl(url: string): string {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "");
  const plain = (plainPath.exec(path)?.[0] ?? "").slice(0, urlLengthMax);
  const shown = withoutLogSignature(plain.includes("cadastre-") ? withoutSecrets(plain) : plain);
  if (plain === path) return shown;
  return path[plain.length] === "?" ? `${shown}?…` : `${shown}…`;
}

/** The path that leads to a log is a permission: of it only whose log it is. */
const withoutLogSignature = (path: string): string => path.replace(/(\/logs\/[\w-]*)\..*/, "$1.…");

/** For sentences of others, which may quote a request: queries, and whatever looks like a token. */
function withoutSecrets(text: string): string {
  return text
    .replace(/(?:\?|%(?:25)*3f)[^\s"'`]+/gi, "?…")
    .replace(/\b(bearer\s+)[^\s"'`]+/gi, "$1…")
    .replace(/\bcadastre-[\w-]{20,}/g, "cadastre-…");
}

interface ErrorLike extends Partial<Error> {
  readonly code?: unknown;
  readonly [property: string]: unknown;
}

/** What engines and Node tell besides the message, without the values that they were given: no `detail`, no `rawPacket`. */
const loggedErrorFields = [
  "code",
  "severity",
  "table",
  "column",
  "constraint",
  "routine",
  "syscall",
  "reason",
] as const;

const causesMax = 5;

function loggedError(error: unknown, depth = 0): unknown {
  if (error === null || typeof error !== "object") return withoutSecrets(String(error));
  const { name, message = "", stack = "", code, cause } = error as ErrorLike;
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return {
    type: name ?? "Error",
    message: withoutSecrets(withoutValues(message, code)),
    stack: frames.join("\n"),
    ...Object.fromEntries(
      loggedErrorFields.flatMap((property) => {
        const value = (error as ErrorLike)[property];
        return typeof value === "string" || typeof value === "number" ? [[property, value]] : [];
      }),
    ),
    ...(cause !== undefined && depth < causesMax && { cause: loggedError(cause, depth + 1) }),
  };
}

/** A database that can't read a value quotes it (class 22, data exceptions). */
function withoutValues(message: string, code: unknown): string {
  return typeof code === "string" && /^22...$/.test(code) ? message.replace(/".*"/s, '"…"') : message;
}

export const serializers = { err: (error: unknown) => loggedError(error) };

/** What watches the service asks every few seconds: that is shown only to whoever wants to know everything. */
const probes = new Set(["/healthz", "/readyz", "/metrics"]);

const levelOf = (route: string | undefined) => (route !== undefined && probes.has(route) ? "debug" : "info");

/**
 * One line for each request, after its response, also where the caller has gone before its end. It is put together by hand, because
 * every request waits for it. Of all that is in it only the address can need escapes.
 */
export function logRequests(server: FastifyInstance): void {
  const log = server.log as pino.Logger;
  const stream = (log as unknown as Record<symbol, pino.DestinationStream>)[pino.symbols.streamSym];
  const origin = `"pid":${process.pid},"hostname":${JSON.stringify(hostname())}`;
  server.addHook("onRequest", (request, reply, done) => {
    const { url: route } = request.routeOptions;
    const level = levelOf(route);
    if (log.isLevelEnabled(level)) {
      // Read now: it is the connection's, and may be unknown later.
      const address = JSON.stringify(request.ip ?? null);
      reply.raw.once("close", () => {
        const { id, method, session } = request;
        const url = loggedUrl(request.url);
        const routed = route === undefined ? "" : `,"route":"${route}"`;
        const actor = session ? `,"actor":"${actorId(session.actor)}","token":"${session.actor.tokenId}"` : "";
        const cut = reply.raw.writableFinished ? "" : `,"cut":true`;
        stream?.write(
          `{"level":${pino.levels.values[level]},"time":${Date.now()},${origin},"reqId":"${id}","method":"${method}","url":"${url}"${routed},"status":${reply.statusCode},"ms":${reply.elapsedTime.toFixed(2)}${actor}${cut},"remoteAddress":${address},"msg":"request"}\n`,
        );
      });
    }
    done();
  });
}

type LogArguments = Parameters<pino.LogFn>;

/** An error that is logged without a word about it would be shown in its own. */
function sanitized([first, ...rest]: readonly unknown[]): unknown[] {
  const shown = first instanceof Error ? { err: first } : first;
  const { err } = (shown ?? {}) as { err?: unknown };
  const words = rest.length === 0 && err instanceof Error ? [shown, err.message] : [shown, ...rest];
  return words.map((word) => (typeof word === "string" ? withoutSecrets(word) : word));
}

/** The service's log: JSON lines on standard output, or where it is shown. */
export function newLogger(level: string, destination?: pino.DestinationStream): pino.Logger {
  const options: pino.LoggerOptions = {
    level,
    serializers,
    hooks: {
      logMethod(words, method) {
        method.apply(this, sanitized(words) as LogArguments);
      },
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
