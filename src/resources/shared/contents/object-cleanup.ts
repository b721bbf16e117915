/** Deletes objects that no content uses: one by one, by the names in the database, never by listing a prefix. */
import { nowMs } from "../../../kernel/time.ts";
import { ObjectStoreError } from "../../../object-store/object-store.ts";
import type { JobContext } from "../job-context.ts";
import { claimObjects, findDeletable, forgetObjects } from "./unattached-objects.ts";

const dayMs = 24 * 3_600_000;
/** An upload is touched every minute. */
const abandonedMs = dayMs;
const objectsPerStep = 100;
const deletionsAtOnce = 8;
/** After so many refusals the store is at fault, not single objects. */
const refusedMax = 100;

/**
 * Claims the row, deletes the object and its unfinished upload, then the row: a crash in between leaves a row. An object that the store
 * refuses to delete does not keep others from being deleted. Throws the first refusal, or that the store is unavailable.
 */
export async function deleteUnattachedObjects(work: JobContext): Promise<number> {
  const { context, capability, signal, step } = work;
  const place = context.options.contentPlace;
  if (place === undefined) return 0;
  const since = (ms: number) => new Date(nowMs() - ms).toISOString();
  const cutoffs = { writing: since(abandonedMs), removed: since(place.keepDays * dayMs) };
  let handled = 0;
  const refused = new Map<string, ObjectStoreError>();
  while (!signal.aborted && refused.size < refusedMax) {
    const page = { except: [...refused.keys()], limit: objectsPerStep };
    const names = await findDeletable(context.database.reader, place.name, cutoffs, page);
    // Another register may have adopted the place meanwhile.
    if (names.length === 0 || !(await place.confirmDeletion())) break;
    const claimed = await step((tx) => claimObjects(tx, capability, place.name, names, cutoffs));
    const deleted: string[] = [];
    const remove = async (name: string) => {
      try {
        await place.store.delete(place.keyOf(name));
        deleted.push(name);
      } catch (error) {
        if (!(error instanceof ObjectStoreError) || error.result !== "refused") throw error;
        refused.set(name, error);
      }
    };
    await deleteObjects(claimed, remove, signal);
    await step((tx) => forgetObjects(tx, capability, place.name, deleted));
    handled += deleted.length;
  }
  const [refusal] = refused.values();
  if (refusal !== undefined) throw refusal;
  return handled;
}

async function deleteObjects(
  names: readonly string[],
  remove: (name: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (let start = 0; start < names.length; start += deletionsAtOnce) {
    signal.throwIfAborted();
    await Promise.all(names.slice(start, start + deletionsAtOnce).map(remove));
  }
}
