/** Logs requests and errors. Must not log anything that may contain a secret: no query strings, only known fields of errors. */
import { hostname } from "node:os";
import type { FastifyInstance } from "fastify";
import pino from "pino";
import { actorId } from "../access/actor.ts";
import type { AuthenticatedCaller } from "./authenticate.ts";

const urlLengthMax = 300;

/** Our paths consist of these characters. The first other one may start an encoded query (`%3F`, `;`, `%25…`). */
const plainPath = /^[\w./~-]*/;

/** Drops the host of the request line, because it may include a user name and a password. */
export function loggedUrl(url: string): string {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "");
  const plain = (plainPath.exec(path)?.[0] ?? "").slice(0, urlLengthMax);
  const shown = withoutLogSignature(plain.includes("cadastre-") ? withoutSecrets(plain) : plain);
  if (plain === path) return shown;
  return path[plain.length] === "?" ? `${shown}?…` : `${shown}…`;
}

/** The path of a log contains a signature. */
const withoutLogSignature = (path: string): string => path.replace(/(\/logs\/[\w-]*)\..*/, "$1.…");

/** For messages of other software, which may quote a request. */
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

/** Without fields that contain values, such as `detail` and `rawPacket`. */
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

/** PostgreSQL quotes values that it can't parse (class 22, data exceptions). */
function withoutValues(message: string, code: unknown): string {
  return typeof code === "string" && /^22...$/.test(code) ? message.replace(/".*"/s, '"…"') : message;
}

export const serializers = { err: (error: unknown) => loggedError(error) };

const probes = new Set(["/healthz", "/readyz", "/metrics"]);

const levelOf = (route: string | undefined) => (route !== undefined && probes.has(route) ? "debug" : "info");

export interface LoggedRequest {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  readonly route: string | undefined;
  readonly status: number;
  readonly ms: number;
  readonly caller: AuthenticatedCaller | undefined;
  readonly isAborted: boolean;
  readonly address: string;
}

export interface RequestLog {
  readonly isLogged: (route: string | undefined) => boolean;
  readonly write: (request: LoggedRequest) => void;
}

/** Assembled by hand, because it runs for every response. Only the address can need escapes. */
export function requestLog(log: pino.Logger): RequestLog {
  const stream = (log as unknown as Record<symbol, pino.DestinationStream>)[pino.symbols.streamSym];
  const origin = `"pid":${process.pid},"hostname":${JSON.stringify(hostname())}`;
  return {
    isLogged: (route) => log.isLevelEnabled(levelOf(route)),
    write: ({ id, method, url, route, status, ms, caller, isAborted, address }) => {
      const level = pino.levels.values[levelOf(route)];
      const routed = route === undefined ? "" : `,"route":"${route}"`;
      const actor = caller ? `,"actor":"${actorId(caller.actor)}","token":"${caller.actor.tokenId}"` : "";
      const cut = isAborted ? `,"cut":true` : "";
      stream?.write(
        `{"level":${level},"time":${Date.now()},${origin},"reqId":"${id}","method":"${method}","url":"${url}"${routed},"status":${status},"ms":${ms.toFixed(2)}${actor}${cut},"remoteAddress":${address},"msg":"request"}\n`,
      );
    },
  };
}

/** Call when the request arrives: the address may be unknown after the connection closes. */
export const loggedAddress = (address: string | undefined): string => JSON.stringify(address ?? null);

export function logRequests(server: FastifyInstance, log: RequestLog): void {
  server.addHook("onRequest", (request, reply, done) => {
    const { url: route } = request.routeOptions;
    if (log.isLogged(route)) {
      const address = loggedAddress(request.ip);
      reply.raw.once("close", () => {
        const { id, method, caller } = request;
        const { statusCode: status, elapsedTime: ms } = reply;
        const url = loggedUrl(request.url);
        log.write({ id, method, url, route, status, ms, caller, isAborted: !reply.raw.writableFinished, address });
      });
    }
    done();
  });
}

type LogArguments = Parameters<pino.LogFn>;

function sanitized([first, ...rest]: readonly unknown[]): unknown[] {
  const shown = first instanceof Error ? { err: first } : first;
  const { err } = (shown ?? {}) as { err?: unknown };
  const args = rest.length === 0 && err instanceof Error ? [shown, err.message] : [shown, ...rest];
  return args.map((arg) => (typeof arg === "string" ? withoutSecrets(arg) : arg));
}

export function newLogger(level: string, destination?: pino.DestinationStream): pino.Logger {
  const options: pino.LoggerOptions = {
    level,
    serializers,
    hooks: {
      logMethod(args, method) {
        method.apply(this, sanitized(args) as LogArguments);
      },
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
