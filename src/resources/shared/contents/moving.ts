/** Moves all contents between the database and a place, under the lease of a job: one move at a time. */
import { setTimeout as sleep } from "node:timers/promises";
import type { JobContext } from "../job-context.ts";
import type { ContentPlace } from "./content-place.ts";
import { relocateAll, type RelocationProgress } from "./relocating-all.ts";
import { relocateToDatabase, relocateToPlace } from "./relocation.ts";
import { leavePlace } from "./left-place.ts";
import { countRelocatable, type RelocationSource } from "./relocation-store.ts";
import { countUploads, discardUploads } from "./unattached-objects.ts";

export const contentMoveJob = "contents-move";

type Uploading = Pick<JobContext, "context" | "capability" | "signal" | "step">;

export type MoveTarget = "database" | "place";

/** Later passes move what servers stored during earlier ones. */
const passesMax = 5;

/** How long uploads may take that had begun when the move began. */
const uploadsWaitMs = 30_000;
const pollMs = 500;

/** `progress` says how many are left. Throws `conflict` if the store is unavailable or refuses. */
export async function moveContents(
  { context, capability, signal, step }: JobContext,
  contentPlace: ContentPlace,
  target: MoveTarget,
  progress: RelocationProgress,
): Promise<void> {
  const { reader } = context.database;
  const isToPlace = target === "place";
  const source: RelocationSource = isToPlace ? { from: "database" } : { from: "place", place: contentPlace.name };
  const relocateOne = isToPlace ? relocateToPlace : relocateToDatabase;
  const moveAll = async () => {
    progress.left = await countRelocatable(reader, source);
    for (let pass = 1; pass <= passesMax && progress.left > progress.damaged.size; pass += 1) {
      await relocateAll({ reader: context, contentPlace, signal, step }, source, relocateOne, progress);
      progress.left = await countRelocatable(reader, source);
    }
  };
  const { name } = contentPlace;
  if (isToPlace) return moveAll();
  await step((tx) => leavePlace(tx, name));
  await moveAll();
  await endUploads({ context, capability, signal, step }, name);
  await moveAll();
}

/** Waits for uploads that began before the register left the place; the last ones are refused. */
async function endUploads({ context, capability, signal, step }: Uploading, place: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < uploadsWaitMs; waitedMs += pollMs) {
    // First of all for transactions that did not see that the register leaves.
    await sleep(pollMs, undefined, { signal });
    if ((await countUploads(context.database.reader, place)) === 0) break;
  }
  await step((tx) => discardUploads(tx, capability, place));
}
