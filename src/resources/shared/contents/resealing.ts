/** Re-encrypts contents in an object store with the vault's current key: each gets a new object, verified before the switch. */
import type { Database } from "../../../database/database.ts";
import type { Vault } from "../../../database/vault.ts";
import { conflict } from "../../../kernel/errors.ts";
import { counted } from "../../../kernel/text.ts";
import type { ContentPlace } from "./content-place.ts";
import { newProgress, relocateAll } from "./relocating-all.ts";
import { relocateToPlace } from "./relocation.ts";
import { countByPlace, countRelocatable } from "./relocation-store.ts";

export interface ResealingOptions {
  readonly database: Database;
  readonly vault: Vault;
  readonly contentPlace: ContentPlace | undefined;
  readonly signal: AbortSignal;
}

/** Throws `conflict` if a place with older objects is not the given one: they could not be read. */
export async function requireReachableObjects({
  database,
  vault,
  contentPlace,
}: Omit<ResealingOptions, "signal">): Promise<void> {
  for (const { place } of await countByPlace(database.reader)) {
    if (place === contentPlace?.name) continue;
    const count = await countRelocatable(database.reader, { from: "place", place, exceptKeyId: vault.keyId });
    if (count > 0)
      throw conflict(
        `${counted(count, "content")} in ${place} must be re-encrypted, too. Set CADASTRE_CONTENTS to that place. Nothing was changed.`,
      );
  }
}

/** Returns how many it re-encrypted. Can be stopped and repeated. Throws `conflict` if the store is unavailable or contents are damaged. */
export async function resealObjects(
  { database, vault, contentPlace, signal }: ResealingOptions,
  report: (done: number) => void,
): Promise<number> {
  if (contentPlace === undefined) return 0;
  const progress = newProgress();
  const context = {
    reader: { database, vault, options: { contentPlace } },
    contentPlace,
    signal,
    async step<T>(work: Parameters<typeof database.write<T>>[0]): Promise<T> {
      const result = await database.write(work);
      report(progress.moved);
      return result;
    },
  };
  const source = { from: "place", place: contentPlace.name, exceptKeyId: vault.keyId } as const;
  await relocateAll(context, source, relocateToPlace, progress);
  const [damaged] = progress.damaged;
  if (damaged !== undefined)
    throw conflict(
      `Re-encrypted ${counted(progress.moved, "object")}, but ${counted(progress.damaged.size, "content")} can't be read, such as ${damaged[0]}: ${damaged[1]} Keep the old key until they are restored or deleted.`,
    );
  return progress.moved;
}
