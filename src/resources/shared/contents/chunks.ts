/** Encrypted chunks of contents: where they are, how large they are, and how they are read. A chunk is verified before it is used. */
import type { Database } from "../../../database/database.ts";
import { sealOverheadBytes, type Vault } from "../../../database/vault.ts";
import { AppError } from "../../../kernel/errors.ts";
import { freeBuffersAfter } from "../../../kernel/streams.ts";
import { ObjectStoreError } from "../../../object-store/object-store.ts";
import { type ContentPlace, contentsUnavailable } from "./content-place.ts";
import { readChunks, type StoredContent } from "./store.ts";

export type ChunkedContent = Pick<
  StoredContent,
  "id" | "chunkCount" | "place" | "object" | "objectBytes" | "chunkSizes"
>;

/** What reading contents needs of a context. */
export interface ContentReader {
  readonly database: Pick<Database, "reader">;
  readonly vault: Vault;
  readonly options: { readonly contentPlace?: ContentPlace | undefined };
}

/** Before encryption. Every chunk but the last has exactly this size, except those of logs. */
export const chunkBytes = 256 * 1024;
const sealedChunkBytes = chunkBytes + sealOverheadBytes;

/** Received pieces, the encrypted chunk, and the chunk. */
const buffersPerChunk = 3;

/** Limits the memory for a large content. */
const chunksPerRead = 4;

/** So that no chunk can be moved, repeated or left out unnoticed. Authenticated with each stored chunk, so the prefix can't change. */
export const chunkOwner = (contentId: string, position: number): string => `state_chunks/${contentId}/${position}`;

export const damagedContent = (id: string, reason: string, internal?: unknown): AppError =>
  new AppError(
    "internal",
    `The stored content ${id} is damaged: ${reason}. Give this id to the operator, who can restore it from a backup.`,
    { internal: internal ?? new Error(`content ${id} is damaged: ${reason}`) },
  );

/** The errors of the object store, as callers of the API see them. */
export function contentError(error: unknown, contentId?: string): unknown {
  if (!(error instanceof ObjectStoreError)) return error;
  if (error.result === "missing" && contentId !== undefined)
    return damagedContent(contentId, "its object is missing or incomplete in the object store", error);
  return contentsUnavailable(error);
}

/** Chunks `from` to `to`, without `to`. */
export interface ChunkRange {
  readonly from: number;
  readonly to: number;
}

/** Throws `internal` for missing chunks, and `unavailable`. */
export async function* sealedChunks(
  reader: ContentReader,
  content: ChunkedContent,
  { from, to }: ChunkRange = { from: 0, to: content.chunkCount },
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  if (content.place !== null) yield* chunksOfObject(placeOf(reader, content), content, { from, to }, signal);
  else yield* chunksOfRows(reader, content, { from, to });
}

/** Throws `internal` for a damaged chunk, too. */
export async function* openedChunks(
  reader: ContentReader,
  content: ChunkedContent,
  range: ChunkRange = { from: 0, to: content.chunkCount },
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let position = range.from;
  for await (const sealed of sealedChunks(reader, content, range, signal)) {
    yield openChunk(reader.vault, content.id, position, sealed);
    position += 1;
    freeBuffersAfter(buffersPerChunk * sealed.length);
  }
}

export function openChunk(vault: Vault, contentId: string, position: number, sealed: Uint8Array): Uint8Array {
  try {
    return vault.open(chunkOwner(contentId, position), sealed);
  } catch (error) {
    throw damagedContent(contentId, (error as Error).message, error);
  }
}

function placeOf({ options: { contentPlace } }: ContentReader, { id, place }: ChunkedContent): ContentPlace {
  if (contentPlace !== undefined && contentPlace.name === place) return contentPlace;
  throw new AppError(
    "internal",
    `The content ${id} is in the place ${place}, which this server does not use. The operator must set CADASTRE_CONTENTS to it.`,
    { internal: new Error(`content ${id} is in another place: ${place}`) },
  );
}

async function* chunksOfRows(
  { database }: ContentReader,
  { id }: ChunkedContent,
  { from, to }: ChunkRange,
): AsyncGenerator<Uint8Array> {
  for (let position = from; position < to; position += chunksPerRead) {
    const limit = Math.min(chunksPerRead, to - position);
    const chunks = await readChunks(database.reader, id, position, limit);
    if (chunks.length !== limit) throw damagedContent(id, `parts of it are missing`);
    yield* chunks;
  }
}

export async function* chunksOfObject(
  place: ContentPlace,
  content: ChunkedContent,
  { from, to }: ChunkRange = { from: 0, to: content.chunkCount },
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { id, objectBytes } = content;
  const sizes = chunkSizesOf(content).slice(from, to);
  const start = sum(chunkSizesOf(content).slice(0, from));
  try {
    const range = { start, end: start + sum(sizes) };
    const { bytes, body } = await place.store.get(place.keyOf(content.object ?? ""), range, signal);
    const split = new ChunkSplitter(sizes);
    for await (const piece of body) {
      // Checked in the loop, whose end frees the connection.
      if (bytes !== objectBytes) throw damagedContent(id, `its object has ${bytes} instead of ${objectBytes} bytes`);
      yield* split.add(piece);
    }
    if (!split.isComplete) throw damagedContent(id, "its object is incomplete");
  } catch (error) {
    throw contentError(error, id);
  }
}

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

/** As `chunkSizes` has them: null if they follow from the size of the object. */
export const listChunkSizes = (sizes: readonly number[]): string | null =>
  sizes.slice(0, -1).every((size) => size === sealedChunkBytes) ? null : sizes.join(",");

/** Encrypted sizes, in order. */
function chunkSizesOf({ chunkCount, chunkSizes, objectBytes }: ChunkedContent): readonly number[] {
  if (chunkSizes !== null) return chunkSizes.split(",").map(Number);
  const last = (objectBytes ?? 0) - (chunkCount - 1) * sealedChunkBytes;
  return Array.from({ length: chunkCount }, (_, position) => (position === chunkCount - 1 ? last : sealedChunkBytes));
}

class ChunkSplitter {
  readonly #sizes: readonly number[];
  #position = 0;
  #pending: Uint8Array[] = [];
  #length = 0;

  constructor(sizes: readonly number[]) {
    this.#sizes = sizes;
  }

  get isComplete(): boolean {
    return this.#position === this.#sizes.length;
  }

  *add(piece: Uint8Array): Generator<Uint8Array> {
    this.#pending.push(piece);
    this.#length += piece.length;
    for (;;) {
      const size = this.#sizes[this.#position];
      if (size === undefined || this.#length < size) return;
      const joined = Buffer.concat(this.#pending);
      this.#position += 1;
      this.#pending = [joined.subarray(size)];
      this.#length = joined.length - size;
      yield joined.subarray(0, size);
    }
  }
}
