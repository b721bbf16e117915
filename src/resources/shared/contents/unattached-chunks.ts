/** Deletes chunks in the database that no content uses: what moves to an object store left there, and copies that were not finished. */
import { nowMs } from "../../../kernel/time.ts";
import type { JobContext } from "../job-context.ts";
import { findUnattachedChunks, removeUnattachedChunks } from "./relocation-store.ts";

const dayMs = 86_400_000;
const contentsPerBatch = 100;
const chunksPerStep = 32;

/** Returns the number of contents. */
export async function deleteUnattachedChunks({ context, capability, signal, step }: JobContext): Promise<number> {
  // Without a place, no content is in one, so nothing goes back to these chunks.
  const keepDays = context.options.contentPlace?.keepDays ?? 0;
  const since = (days: number) => new Date(nowMs() - days * dayMs).toISOString();
  const limits = { cutoffs: { writing: since(1), removed: since(keepDays) }, limit: chunksPerStep };
  let handled = 0;
  for (;;) {
    const ids = await findUnattachedChunks(context.database.reader, limits.cutoffs, contentsPerBatch);
    for (const id of ids) {
      if (signal.aborted) return handled;
      while (!(await step((tx) => removeUnattachedChunks(tx, capability, id, limits))));
      handled += 1;
    }
    if (ids.length < contentsPerBatch) return handled;
  }
}
