/** Copies a content to another place, compares the copy with the original byte by byte, and only then makes it the content's place. */
import type { Tx } from "../../../database/database.ts";
import type { ContentChunkTable } from "../../../database/schema/contents.ts";
import { chunkOwner, type ContentReader, damagedContent, listChunkSizes, openChunk, sealedChunks } from "./chunks.ts";
import { type ContentPlace, newObjectName } from "./content-place.ts";
import {
  addChunks,
  beginChunks,
  discardChunks,
  type RelocatableContent,
  referenceOf,
  switchToDatabase,
  switchToObject,
} from "./relocation-store.ts";
import { inDatabase } from "./store.ts";
import { announceObjects, discardObject } from "./unattached-objects.ts";

export interface RelocationContext {
  readonly reader: ContentReader;
  readonly contentPlace: ContentPlace;
  readonly signal: AbortSignal;
  /** A short transaction. */
  step<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** `changed`: deleted or moved by somebody else meanwhile; the copy is discarded. */
export type RelocationOutcome = "moved" | "changed";

/** Also re-encrypts a content of this place: everything is written with the vault's current key. */
export async function relocateToPlace(
  context: RelocationContext,
  content: RelocatableContent,
): Promise<RelocationOutcome> {
  const { contentPlace, reader, step } = context;
  const object = { place: contentPlace.name, name: newObjectName() };
  await contentPlace.requireWritable();
  await step((tx) => announceObjects(tx, object.place, [object.name], { isNew: false }));
  const discard = () => step((tx) => discardObject(tx, object));
  return discardingUnlessMoved(discard, async () => {
    const sizes: number[] = [];
    const chunks = resealed(context, content, sizes);
    const objectBytes = await contentPlace.store.put(contentPlace.keyOf(object.name), chunks);
    const { keyId } = reader.vault;
    const location = {
      place: object.place,
      object: object.name,
      objectBytes,
      keyId,
      chunkSizes: listChunkSizes(sizes),
    };
    const copy = { ...content, ...location };
    await compare(context, content, copy);
    return (await step((tx) => switchToObject(tx, content, copy))) ? "moved" : "changed";
  });
}

const chunksPerStep = 32;
const chunksPerInsert = 4;

export async function relocateToDatabase(
  context: RelocationContext,
  content: RelocatableContent,
): Promise<RelocationOutcome> {
  const { id, organizationId } = content;
  const { step } = context;
  while (!(await step((tx) => beginChunks(tx, id, chunksPerStep))));
  const discard = () => step((tx) => discardChunks(tx, id));
  return discardingUnlessMoved(discard, async () => {
    let batch: ContentChunkTable[] = [];
    let position = 0;
    const store = async () => {
      const chunks = batch.splice(0);
      return chunks.length === 0 || step((tx) => addChunks(tx, content, chunks));
    };
    for await (const bytes of resealed(context, content)) {
      batch.push({ organizationId, contentId: id, position, bytes });
      position += 1;
      if (batch.length === chunksPerInsert && !(await store())) return "changed";
    }
    if (!(await store())) return "changed";
    await compare(context, content, { ...content, ...inDatabase });
    return (await step((tx) => switchToDatabase(tx, content))) ? "moved" : "changed";
  });
}

async function discardingUnlessMoved(
  discard: () => Promise<void>,
  work: () => Promise<RelocationOutcome>,
): Promise<RelocationOutcome> {
  let outcome: RelocationOutcome | undefined;
  try {
    outcome = await work();
    return outcome;
  } finally {
    // If this fails too, the clean-up deletes the copy after a day.
    if (outcome !== "moved") await discard().catch(() => {});
  }
}

interface VerifiedChunk {
  readonly owner: string;
  readonly sealed: Uint8Array;
  readonly opened: Uint8Array;
}

async function* verifiedChunks(
  { reader, signal }: RelocationContext,
  content: RelocatableContent,
): AsyncGenerator<VerifiedChunk> {
  let position = 0;
  for await (const sealed of sealedChunks(reader, content, undefined, signal)) {
    signal.throwIfAborted();
    const opened = openChunk(reader.vault, content.id, position, sealed);
    yield { owner: chunkOwner(content.id, position), sealed, opened };
    position += 1;
  }
}

async function* resealed(
  context: RelocationContext,
  content: RelocatableContent,
  sizes: number[] = [],
): AsyncGenerator<Uint8Array> {
  const { vault } = context.reader;
  for await (const { owner, sealed, opened } of verifiedChunks(context, content)) {
    const current = vault.isCurrent(sealed) ? sealed : vault.seal(owner, opened);
    sizes.push(current.length);
    yield current;
  }
}

async function compare(
  context: RelocationContext,
  content: RelocatableContent,
  copy: RelocatableContent,
): Promise<void> {
  const differs = () => damagedContent(content.id, `the copy ${referenceOf(copy).name} differs from it`);
  const originals = verifiedChunks(context, content);
  try {
    for await (const { opened } of verifiedChunks(context, copy)) {
      const { value } = (await originals.next()) as IteratorResult<VerifiedChunk, undefined>;
      if (value === undefined || !Buffer.from(value.opened).equals(opened)) throw differs();
    }
    if ((await originals.next()).done !== true) throw differs();
  } finally {
    await originals.return(undefined);
  }
}
