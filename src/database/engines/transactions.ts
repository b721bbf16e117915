/** What both engines do alike around a transaction: run it again when the engine asks, and say so when that does not help. */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, attributeFault, invalid } from "../../kernel/errors.ts";
import { human, kebab } from "../../kernel/names.ts";

/** What an engine's own error means. */
export type Failure =
  /** Someone else was in the way: the same transaction may well succeed. */
  | { readonly kind: "retry" }
  /** No connection, shutting down, disk full. */
  | { readonly kind: "unavailable" }
  | { readonly kind: "taken"; readonly columns: readonly string[] }
  | { readonly kind: "orphan" }
  | { readonly kind: "other" };

const attemptsMax = 8;
const pauseMs = 8;

export async function retrying<T>(classify: (error: unknown) => Failure, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === attemptsMax || classify(error).kind !== "retry") throw toAppError(error, classify(error));
      await sleep(Math.random() * pauseMs * 2 ** attempt);
    }
  }
}

const retryAfterSeconds = 2;

/** Turns an engine's error into what a caller may be told; an unknown one stays as it is and becomes a 500. */
export function toAppError(error: unknown, failure: Failure): unknown {
  switch (failure.kind) {
    case "retry":
      return new AppError("unavailable", "The database is busy. Nothing was changed; try again shortly.", {
        internal: error,
        retryAfterSeconds,
      });
    case "unavailable":
      return new AppError("unavailable", "The database can't be reached at the moment. Try again shortly.", {
        internal: error,
        retryAfterSeconds,
      });
    case "taken": {
      const attribute = kebab((failure.columns.at(-1) ?? "id").replace(/_(key|id)$/, ""));
      return invalid([attributeFault(attribute, `${human(attribute)} has already been taken`)]);
    }
    case "orphan":
      return new AppError("conflict", "Something that this depends on was removed meanwhile. Look again, then retry.", {
        internal: error,
      });
    default:
      return error;
  }
}
