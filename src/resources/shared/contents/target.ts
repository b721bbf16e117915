/** Decides where a new content goes, and stores its encrypted chunks there. */
import type { Tx } from "../../../database/database.ts";
import type { Vault } from "../../../database/vault.ts";
import { nowMs } from "../../../kernel/time.ts";
import type { Context } from "../context.ts";
import { type ContentPlace, newObjectName } from "./content-place.ts";
import {
  appendChunk,
  type ContentKey,
  inDatabase,
  removedMeanwhile,
  type StoredContent,
  touchContent,
} from "./store.ts";
import { announceObjects, type ObjectReference, touchObject } from "./unattached-objects.ts";

export type ContentLocation = Pick<
  StoredContent,
  "chunkCount" | "place" | "object" | "objectBytes" | "keyId" | "chunkSizes"
>;

export interface ContentTarget {
  /** Undefined in the database. */
  readonly reference: { readonly place: string; readonly object: string } | undefined;
  /** Whenever the sender has sent something, so that the clean-up leaves a slow upload alone. */
  readonly touch: () => Promise<void>;
  readonly store: (sealed: AsyncIterable<Uint8Array>) => Promise<Omit<ContentLocation, "chunkCount">>;
}

type TargetContext = Pick<Context, "database" | "vault" | "options">;
type NewContent = ContentKey & { readonly id: string };

export interface NewObjects {
  readonly place: ContentPlace;
  readonly objects: readonly ObjectReference[];
}

/** Begins objects and runs `begin`, in one transaction of `step`. Undefined if contents go to the database. Throws `unavailable` if the place can't be written to. */
export async function beginObjects(
  { options: { contentPlace: place } }: Pick<TargetContext, "options">,
  count: number,
  step: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
  begin: (tx: Tx, isInPlace: boolean) => Promise<void> = async () => {},
): Promise<NewObjects | undefined> {
  await place?.requireWritable();
  const names = Array.from({ length: count }, newObjectName);
  const isInPlace = await step(async (tx) => {
    const isBegun = place !== undefined && (await announceObjects(tx, place.name, names, { isNew: true }));
    await begin(tx, isBegun);
    return isBegun;
  });
  return isInPlace && place !== undefined
    ? { place, objects: names.map((name) => ({ place: place.name, name })) }
    : undefined;
}

/** Begins the content. */
export async function targetForNew(
  context: TargetContext,
  content: NewContent,
  begin: (tx: Tx) => Promise<void>,
): Promise<ContentTarget> {
  const begun = await beginObjects(context, 1, (work) => context.database.write(work), begin);
  const object = begun?.objects[0];
  return begun === undefined || object === undefined
    ? rowTarget(context, content)
    : objectTarget(context, begun.place, object, content.id);
}

function rowTarget({ database }: TargetContext, { id, organizationId }: NewContent): ContentTarget {
  return {
    reference: undefined,
    touch: async () => {},
    async store(sealed) {
      let position = 0;
      for await (const bytes of sealed) {
        const chunk = { organizationId, contentId: id, position, bytes };
        await database.write((tx) => appendChunk(tx, chunk));
        position += 1;
      }
      return inDatabase;
    },
  };
}

const touchIntervalMs = 60_000;

export function objectTarget(
  { database, vault }: TargetContext,
  place: ContentPlace,
  object: ObjectReference,
  contentId: string,
): ContentTarget {
  const { name } = object;
  let touchedMs = nowMs();
  return {
    reference: { place: place.name, object: name },
    async touch() {
      if (nowMs() - touchedMs < touchIntervalMs) return;
      touchedMs = nowMs();
      await database.write(async (tx) => {
        await touchContent(tx, contentId);
        await touchObject(tx, object);
      });
    },
    async store(sealed) {
      const location = await putObject(vault, place, object, sealed);
      // From here on the clean-up finds the object. Before, it can have deleted nothing, and then nobody would know this one.
      if (!(await database.write((tx) => touchObject(tx, object)))) throw removedMeanwhile();
      return location;
    },
  };
}

export async function putObject(
  vault: Vault,
  place: ContentPlace,
  { name }: ObjectReference,
  sealed: AsyncIterable<Uint8Array>,
): Promise<Omit<ContentLocation, "chunkCount">> {
  const objectBytes = await place.store.put(place.keyOf(name), sealed);
  return { place: place.name, object: name, objectBytes, keyId: vault.keyId, chunkSizes: null };
}
