/** What both engines do alike around a transaction: run it again when the engine asks, and say so when that does not help. */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, attributeFault, invalid } from "../../kernel/errors.ts";
import { human, kebab } from "../../kernel/names.ts";
import { type CommitCheck, Overtaken, type WriteOptions } from "../database.ts";

/** What an engine's own error means. */
export type Failure =
  /** Someone else was in the way: the same transaction may well succeed. */
  | { readonly kind: "retry" }
  /** The connection is gone, and with it whatever was not committed: on another it may well succeed. */
  | { readonly kind: "lost" }
  /** So many were in the way that trying again would only mean to stand at the end of the queue. */
  | { readonly kind: "busy" }
  /** It takes longer than anybody waits, and was undone. */
  | { readonly kind: "slow" }
  /** No connection, or shutting down. */
  | { readonly kind: "unavailable" }
  /** There is no room for what was to be written, and it was undone. */
  | { readonly kind: "full" }
  /** The disk does not take what is written, or does not give what is read. */
  | { readonly kind: "disk" }
  /** What is stored is not what was written. */
  | { readonly kind: "damaged" }
  | { readonly kind: "taken"; readonly columns: readonly string[] }
  | { readonly kind: "orphan" }
  | { readonly kind: "other" };

const attemptsMax: Partial<Record<Failure["kind"], number>> = { retry: 8, lost: 3 };
const pauseMs = 8;

export async function retrying<T>(classify: (error: unknown) => Failure, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const failure: Failure = error instanceof Overtaken ? { kind: "retry" } : classify(error);
      if (attempt >= (attemptsMax[failure.kind] ?? 1)) throw toAppError(error, failure);
      await sleep(Math.random() * pauseMs * 2 ** attempt);
    }
  }
}

/** One attempt at a transaction, by whatever commits it; then what its work wants done afterwards. */
export async function withAfterCommit<T>(commit: (afterwards: (work: () => void) => void) => Promise<T>): Promise<T> {
  const wanted: (() => void)[] = [];
  const value = await commit((work) => void wanted.push(work));
  for (const work of wanted) work();
  return value;
}

/** Has the check look at the statements of the connection while the work runs, and then refuse them or not. */
export async function withCommitCheck<T>(
  connection: { check: CommitCheck | undefined },
  newCheck: WriteOptions["newCheck"],
  work: () => Promise<T>,
): Promise<T> {
  const check = newCheck?.();
  connection.check = check;
  try {
    const value = await work();
    check?.beforeCommit();
    return value;
  } finally {
    connection.check = undefined;
  }
}

const retryAfterSeconds = 2;

/**
 * The answer to a COMMIT was lost. It must not be tried again as if it had failed, neither here nor, without a look, by the
 * caller.
 */
export function outcomeUnknown(cause: unknown): AppError {
  return new AppError(
    "unavailable",
    "The database went away while the change was being committed, so its outcome is unknown: it may have been made or not. Look before you send it again.",
    { internal: cause, retryAfterSeconds },
  );
}

/** What no caller can mend, and nobody but those who run the service. */
const troubles = {
  full: "The disk of the database is full. Nothing was changed; whoever runs the service has to make room, then it goes on by itself.",
  disk: "The disk of the database has failed. Nothing was changed; whoever runs the service has to look at the disk and its room.",
  damaged:
    "The database is damaged. Nothing was changed; whoever runs the service has to stop it and to restore a backup.",
} as const;

/** Turns an engine's error into what a caller may be told; an unknown one stays as it is and becomes a 500. */
export function toAppError(error: unknown, failure: Failure): unknown {
  switch (failure.kind) {
    case "retry":
    case "busy":
      return new AppError("unavailable", "The database is busy. Nothing was changed; try again shortly.", {
        internal: error,
        retryAfterSeconds,
      });
    case "slow":
      return new AppError("unavailable", "The database takes too long. Nothing was changed; try again shortly.", {
        internal: error,
        retryAfterSeconds,
      });
    case "lost":
    case "unavailable":
      return new AppError("unavailable", "The database can't be reached at the moment. Try again shortly.", {
        internal: error,
        retryAfterSeconds,
      });
    case "full":
    case "disk":
    case "damaged":
      return new AppError("unavailable", troubles[failure.kind], { internal: error, retryAfterSeconds: 30 });
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
