/** Classifies the errors of PostgreSQL and of the connection to it. */
import { AppError } from "../../kernel/errors.ts";
import type { Failure } from "./transactions.ts";
import { SemaphoreTimeout } from "./semaphore.ts";

/** Whether the statement was executed is unknown. */
export class DatabaseSilent extends Error {
  override readonly name = "DatabaseSilent";

  constructor(waitedMs: number) {
    super(`The database did not answer within ${(waitedMs / 1000).toFixed(1)} seconds.`);
  }
}

const connectionLostCodes = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED"]);

const connectionRefusedCodes = new Set([
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
  if (code === "55P03") return { kind: "busy" };
  if (code === "23505") {
    const columns = /^Key \(([^)]*)\)/.exec(detail)?.[1] ?? "id";
    return { kind: "unique-violation", columns: columns.split(", ").map((column) => column.replaceAll('"', "")) };
  }
  if (code === "23503") return { kind: "foreign-key-violation" };
  // Class 08: connection; 57P01, 57P02 and 57P05: the server closed the connection.
  if (connectionLostCodes.has(code) || /^(08|57P0[125])/.test(code)) return { kind: "lost" };
  if (code === "57014") return { kind: "statement-timeout" };
  if (code === "53100") return { kind: "disk-full" };
  // Class 58: I/O; class XX: corruption.
  if (code === "58030") return { kind: "disk-failed" };
  if (code === "XX001" || code === "XX002") return { kind: "damaged" };
  // Class 53: resources; other errors of class 58; 57P03: starting up; 25P03: idle in transaction; 25006: read-only.
  if (connectionRefusedCodes.has(code) || /^(53|58|57P0|25P03|25006)/.test(code)) return { kind: "unavailable" };
  return { kind: "other" };
}

export function isStalePlan(error: unknown): boolean {
  const { code, message = "" } = error as EngineError;
  return code === "0A000" && message.includes("cached plan");
}

/** The server ended the transaction, or became a standby that may lag behind. */
const connectionEndingCodes = new Set(["25P03", "25006"]);

export function endsConnection(error: unknown): boolean {
  const { code = "" } = error as EngineError;
  return error instanceof DatabaseSilent || classify(error).kind === "lost" || connectionEndingCodes.has(code);
}

/** Sent by the server: the statement had no effect, and a COMMIT behind it commits nothing. */
export function isAnswer(error: unknown): boolean {
  const cause = error instanceof AppError ? error.internal : error;
  return (cause as EngineError | undefined)?.severity !== undefined;
}

/** The connection is intact and nothing was committed. Any other error of a COMMIT leaves the outcome unknown. */
export function isRefusal(error: unknown): boolean {
  return (error as EngineError).severity !== undefined && !endsConnection(error);
}
