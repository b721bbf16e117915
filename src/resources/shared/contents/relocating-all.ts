/** Relocates every content of a source, several at a time. What is done is done: an interrupted run continues where it was. */
import type { Tx } from "../../../database/database.ts";
import { AppError, conflict } from "../../../kernel/errors.ts";
import { counted } from "../../../kernel/text.ts";
import { ObjectStoreError } from "../../../object-store/object-store.ts";
import type { RelocationContext, RelocationOutcome } from "./relocation.ts";
import { findRelocatable, type RelocatableContent, type RelocationSource } from "./relocation-store.ts";

const windowRows = 100;
const concurrency = 8;

export interface RelocationProgress {
  moved: number;
  left: number;
  /** Before compression. */
  bytes: number;
  /** Ids, with what is wrong. */
  readonly damaged: Map<string, string>;
}

export const newProgress = (): RelocationProgress => ({ moved: 0, left: 0, bytes: 0, damaged: new Map() });

export type RelocateOne = (context: RelocationContext, content: RelocatableContent) => Promise<RelocationOutcome>;

/** One pass in the order of the ids. Throws `conflict` if the store is unavailable or refuses. */
export async function relocateAll(
  context: RelocationContext,
  source: RelocationSource,
  relocateOne: RelocateOne,
  progress: RelocationProgress,
): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  const queue = contentsOf(context.reader.database.reader, source);
  const work = async () => {
    for await (const content of queue) {
      if (signal.aborted) return;
      if (!progress.damaged.has(content.id)) await relocate({ ...context, signal }, content, relocateOne, progress);
    }
  };
  const works = Array.from({ length: concurrency }, () =>
    work().catch((error: unknown) => {
      failed.abort(error);
      throw error;
    }),
  );
  await Promise.allSettled(works);
  context.signal.throwIfAborted();
  if (failed.signal.aborted) throw describeFailure(failed.signal.reason, progress);
}

/** Several callers can read it at the same time; each content is handed out once. */
function contentsOf(tx: Tx, source: RelocationSource): AsyncIterable<RelocatableContent> {
  async function* windows(): AsyncGenerator<RelocatableContent> {
    for (let after = ""; ;) {
      const rows = await findRelocatable(tx, source, { after, limit: windowRows });
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < windowRows) return;
      after = last.id;
    }
  }
  const all = windows();
  return { [Symbol.asyncIterator]: () => ({ next: () => all.next() }) };
}

async function relocate(
  context: RelocationContext,
  content: RelocatableContent,
  relocateOne: RelocateOne,
  progress: RelocationProgress,
): Promise<void> {
  try {
    if ((await relocateOne(context, content)) === "changed") return;
    progress.moved += 1;
    progress.left -= 1;
    progress.bytes += content.size;
  } catch (error) {
    const reason = damageOf(error);
    if (reason === undefined) throw error;
    progress.damaged.set(content.id, reason);
  }
}

/** Such a content stays where it is and must not hold up the others. */
function damageOf(error: unknown): string | undefined {
  return error instanceof AppError && error.code === "internal" ? error.message : undefined;
}

function describeFailure(error: unknown, { moved }: RelocationProgress): unknown {
  const isOfStore = error instanceof ObjectStoreError || (error instanceof AppError && error.code === "unavailable");
  if (!isOfStore) return error;
  const reason = error instanceof ObjectStoreError ? error.code : error.message;
  return conflict(
    `Stopped after ${counted(moved, "content")}, because the object store or the database is not available (${reason}). Nothing is lost. Run the command again to continue.`,
  );
}
