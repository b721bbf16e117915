/** Deletes chunks in the database that no content uses: what moves to an object store left there, and copies that were not finished. */
import { nowMs } from "../../../kernel/time.ts";
import type { JobContext } from "../job-context.ts";
import { countOutside } from "./store.ts";
import { findUnattachedChunks, removeUnattachedChunks } from "./relocation-store.ts";

const dayMs = 86_400_000;
const contentsPerBatch = 100;
const chunksPerStep = 32;

/** Returns the number of contents. */
export async function deleteUnattachedChunks({ context, capability, signal, step }: JobContext): Promise<number> {
  const { contentPlace } = context.options;
  // Without a place, nothing goes back to these chunks, except during the first move to one.
  if (contentPlace === undefined && (await countOutside(context.database.reader, undefined)) !== undefined) return 0;
  const keepDays = contentPlace?.keepDays ?? 0;
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
