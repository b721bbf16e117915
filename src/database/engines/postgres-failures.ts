/** What PostgreSQL's errors, and those of the wire to it, mean. */
import type { Failure } from "./transactions.ts";
import { SemaphoreTimeout } from "./turnstile.ts";

/** It was asked and said nothing: whether it did what it was asked is not known. */
export class DatabaseSilent extends Error {
  override readonly name = "DatabaseSilent";

  constructor(waitedMs: number) {
    super(`The database did not answer within ${(waitedMs / 1000).toFixed(1)} seconds.`);
  }
}

/** The wire broke: what was not committed is undone, and another connection may well do. */
const brokenWire = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED"]);

const noWire = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "ENOENT",
]);

interface EngineError {
  readonly code?: string;
  readonly message?: string;
  readonly detail?: string;
  /** Only what the server itself said has one. */
  readonly severity?: string;
}

export function classify(error: unknown): Failure {
  if (error instanceof DatabaseSilent) return { kind: "unavailable" };
  if (error instanceof SemaphoreTimeout) return { kind: "busy" };
  const { code, message = "", detail = "" } = error as EngineError;
  if (code === undefined) {
    if (/Connection terminated|not queryable/i.test(message)) return { kind: "lost" };
    return /timeout/i.test(message) ? { kind: "unavailable" } : { kind: "other" };
  }
  if (code === "40001" || code === "40P01" || isStalePlan(error)) return { kind: "retry" };
  // A lock was not to be had in time.
  if (code === "55P03") return { kind: "busy" };
  if (code === "23505") {
    const columns = /^Key \(([^)]*)\)/.exec(detail)?.[1] ?? "id";
    return { kind: "taken", columns: columns.split(", ").map((column) => column.replaceAll('"', "")) };
  }
  if (code === "23503") return { kind: "orphan" };
  // Class 08: connection; 57P01, 57P02 and 57P05: this connection was ended by the server.
  if (brokenWire.has(code) || /^(08|57P0[125])/.test(code)) return { kind: "lost" };
  if (code === "57014") return { kind: "slow" };
  if (code === "53100") return { kind: "full" };
  // Class 58: the system around it; class XX: what it finds is not what it wrote.
  if (code === "58030") return { kind: "disk" };
  if (code === "XX001" || code === "XX002") return { kind: "damaged" };
  // Class 53: resources; the rest of class 58: its files; 57P03: starting up; 25P03: idle in transaction; 25006: read-only.
  if (noWire.has(code) || /^(53|58|57P0|25P03|25006)/.test(code)) return { kind: "unavailable" };
  return { kind: "other" };
}

/** What a prepared statement returns is not what it returned when it was prepared: a column was added. */
export function isStalePlan(error: unknown): boolean {
  const { code, message = "" } = error as EngineError;
  return code === "0A000" && message.includes("cached plan");
}

/** Ended by the server in the middle of a transaction; or it has become a follower, of which nobody knows how far behind it is. */
const noLongerOurs = new Set(["25P03", "25006"]);

/** Nothing more can come over this connection that anybody should hear. */
export function endsConnection(error: unknown): boolean {
  const { code = "" } = error as EngineError;
  return error instanceof DatabaseSilent || classify(error).kind === "lost" || noLongerOurs.has(code);
}

/** The server itself said no, and went on: then nothing was committed. Whatever else a COMMIT ends with tells nothing. */
export function isRefusal(error: unknown): boolean {
  return (error as EngineError).severity !== undefined && !endsConnection(error);
}
