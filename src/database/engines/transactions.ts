/** Shared by both engines: retries transactions, and turns engine errors into ours. */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, attributeFault, invalid } from "../../kernel/errors.ts";
import { human, kebab } from "../../kernel/names.ts";
import { type CommitCheck, RetryTransaction, type WriteOptions } from "../database.ts";

export type Failure =
  /** A deadlock or a conflict: the transaction can run again. */
  | { readonly kind: "retry" }
  /** The connection; everything uncommitted is gone, and another connection may succeed. */
  | { readonly kind: "lost" }
  /** A lock or a writer's slot was not free in time. A retry would only go to the end of the queue. */
  | { readonly kind: "busy" }
  | { readonly kind: "statement-timeout" }
  | { readonly kind: "unavailable" }
  | { readonly kind: "disk-full" }
  | { readonly kind: "disk-failed" }
  | { readonly kind: "damaged" }
  | { readonly kind: "unique-violation"; readonly columns: readonly string[] }
  | { readonly kind: "foreign-key-violation" }
  | { readonly kind: "other" };

const attemptsMax: Partial<Record<Failure["kind"], number>> = { retry: 8, lost: 3 };
const pauseMs = 8;

export async function retrying<T>(classify: (error: unknown) => Failure, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const failure: Failure = error instanceof RetryTransaction ? { kind: "retry" } : classify(error);
      if (attempt >= (attemptsMax[failure.kind] ?? 1)) throw toAppError(error, failure);
      await sleep(Math.random() * pauseMs * 2 ** attempt);
    }
  }
}

export async function withAfterCommit<T>(commit: (afterCommit: (work: () => void) => void) => Promise<T>): Promise<T> {
  const callbacks: (() => void)[] = [];
  const value = await commit((work) => void callbacks.push(work));
  for (const callback of callbacks) callback();
  return value;
}

export async function withCommitCheck<T>(
  connection: { check: CommitCheck | undefined },
  commitCheck: WriteOptions["commitCheck"],
  work: () => Promise<T>,
): Promise<T> {
  const check = commitCheck?.();
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

/** Neither this code nor the caller may simply retry the COMMIT. */
export function outcomeUnknown(cause: unknown): AppError {
  return new AppError(
    "unavailable",
    "The connection to the database was lost during the commit, so the outcome is unknown: the change may have been made or not. Check before you send it again.",
    { internal: cause, retryAfterSeconds },
  );
}

const diskErrors = {
  "disk-full":
    "The disk of the database is full. Nothing was changed. The operator has to free space; then the service continues automatically.",
  "disk-failed":
    "The disk of the database has failed. Nothing was changed. The operator has to check the disk and its free space.",
  damaged: "The database is damaged. Nothing was changed. The operator has to stop the service and restore a backup.",
} as const;

export function toAppError(error: unknown, failure: Failure): unknown {
  switch (failure.kind) {
    case "retry":
    case "busy":
      return new AppError("unavailable", "The database is busy. Nothing was changed. Try again shortly.", {
        internal: error,
        retryAfterSeconds,
      });
    case "statement-timeout":
      return new AppError(
        "unavailable",
        "The database did not answer in time. Nothing was changed. Try again shortly.",
        {
          internal: error,
          retryAfterSeconds,
        },
      );
    case "lost":
    case "unavailable":
      return new AppError("unavailable", "The database can't be reached. Try again shortly.", {
        internal: error,
        retryAfterSeconds,
      });
    case "disk-full":
    case "disk-failed":
    case "damaged":
      return new AppError("unavailable", diskErrors[failure.kind], { internal: error, retryAfterSeconds: 30 });
    case "unique-violation": {
      const attribute = kebab((failure.columns.at(-1) ?? "id").replace(/_(key|id)$/, ""));
      return invalid([attributeFault(attribute, `${human(attribute)} has already been taken`)]);
    }
    case "foreign-key-violation":
      return new AppError(
        "conflict",
        "A resource that the request refers to was deleted in the meantime. Reload, then try again.",
        {
          internal: error,
        },
      );
    default:
      return error;
  }
}
