/** Shared by both engines: retries transactions, and turns engine errors into ours. */
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, attributeFault, invalid } from "../../kernel/errors.ts";
import { human, kebab } from "../../kernel/names.ts";
import { type CommitCheck, Overtaken, type WriteOptions } from "../database.ts";

export type Failure =
  | { readonly kind: "retry" }
  /** Everything uncommitted is lost; another connection may succeed. */
  | { readonly kind: "lost" }
  /** A retry would only go to the end of the queue. */
  | { readonly kind: "busy" }
  | { readonly kind: "slow" }
  | { readonly kind: "unavailable" }
  | { readonly kind: "full" }
  | { readonly kind: "disk" }
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

export async function withAfterCommit<T>(commit: (afterCommit: (work: () => void) => void) => Promise<T>): Promise<T> {
  const wanted: (() => void)[] = [];
  const value = await commit((work) => void wanted.push(work));
  for (const work of wanted) work();
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

const troubles = {
  full: "The disk of the database is full. Nothing was changed. The operator has to free space; then the service continues automatically.",
  disk: "The disk of the database has failed. Nothing was changed. The operator has to check the disk and its free space.",
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
    case "slow":
      return new AppError("unavailable", "The database takes too long. Nothing was changed. Try again shortly.", {
        internal: error,
        retryAfterSeconds,
      });
    case "lost":
    case "unavailable":
      return new AppError("unavailable", "The database can't be reached. Try again shortly.", {
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
      return new AppError(
        "conflict",
        "Something that this depends on was removed in the meantime. Reload it, then try again.",
        {
          internal: error,
        },
      );
    default:
      return error;
  }
}
