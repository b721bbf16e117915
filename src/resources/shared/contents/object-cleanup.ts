/** Deletes objects that no content uses: one by one, by the names in the database, never by listing a prefix. */
import { nowMs } from "../../../kernel/time.ts";
import type { JobContext } from "../job-context.ts";
import type { ContentPlace } from "./content-place.ts";
import { claimObjects, findDeletable, forgetObjects } from "./unattached-objects.ts";

const dayMs = 24 * 3_600_000;
/** An upload is touched every minute. */
const abandonedMs = dayMs;
const objectsPerStep = 100;
const deletionsAtOnce = 8;

/** Claims the row, deletes the object and its unfinished upload, then the row: a crash in between leaves a row. */
export async function deleteUnattachedObjects(work: JobContext): Promise<number> {
  const { context, capability, signal, step } = work;
  const place = context.options.contentPlace;
  if (place === undefined) return 0;
  const since = (ms: number) => new Date(nowMs() - ms).toISOString();
  const cutoffs = { writing: since(abandonedMs), removed: since(place.keepDays * dayMs) };
  let handled = 0;
  while (!signal.aborted) {
    const found = await findDeletable(context.database.reader, place.name, cutoffs, objectsPerStep);
    // Another register may have adopted the place meanwhile.
    if (found.length === 0 || !(await place.confirmDeletion())) break;
    const names = found.map(({ name }) => name);
    const claimed = await step((tx) => claimObjects(tx, capability, place.name, names, cutoffs));
    await deleteObjects(place, claimed, signal);
    await step((tx) => forgetObjects(tx, capability, place.name, claimed));
    handled += claimed.length;
  }
  return handled;
}

async function deleteObjects(place: ContentPlace, names: readonly string[], signal: AbortSignal): Promise<void> {
  for (let start = 0; start < names.length; start += deletionsAtOnce) {
    signal.throwIfAborted();
    const some = names.slice(start, start + deletionsAtOnce);
    await Promise.all(some.map((name) => place.store.delete(place.keyOf(name))));
  }
}
