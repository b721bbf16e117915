/** Stores and reads contents as encrypted chunks, in bounded memory and without long locks. It must not know what the bytes mean. */
import { createHash } from "node:crypto";
import { pipeline, Readable } from "node:stream";
import { pipeline as piped } from "node:stream/promises";
import { promisify } from "node:util";
import { createZstdCompress, createZstdDecompress, zstdCompress, zstdDecompress } from "node:zlib";
import type { Database, Tx } from "../../../database/database.ts";
import type { Vault } from "../../../database/vault.ts";
import { freeBuffersAfter } from "../../../kernel/streams.ts";
import { AppError } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import type { Context } from "../context.ts";
import {
  chunkBytes,
  chunkOwner,
  contentError,
  type ContentReader,
  damagedContent,
  openChunk,
  openedChunks,
} from "./chunks.ts";
import {
  beginContent,
  type ContentOwner,
  type ContentKey,
  findAbandoned,
  findContents,
  inDatabase,
  orphanUpload,
  type PreparedContent,
  readAllChunks,
  removeChunks,
  type StoredContent,
} from "./store.ts";
import type { JobContext } from "../job-context.ts";
import { beginObjects, type ContentLocation, type ContentTarget, putObject, targetForNew } from "./target.ts";
import type { ContentPlace } from "./content-place.ts";
import { discardObject, type ObjectReference } from "./unattached-objects.ts";

export {
  abandonContents,
  abandonHidden,
  beginContent,
  completeContent,
  countOutside,
  findContent,
  findContentById,
  hideContents,
  insertContents,
  orphanContent,
  unhideContents,
} from "./store.ts";
export type { ContentOwner, ContentKey, PreparedContent, StoredContent };

export interface ContentLimit {
  readonly bytes: number;
  /** Begins a sentence: `A state`. */
  readonly thing: string;
}

export const contentBytesMax = 256 * 1024 * 1024;

const compressed = promisify(zstdCompress);
const decompressed = promisify(zstdDecompress);

export async function prepareContent(
  vault: Vault,
  key: Omit<ContentKey, "organizationId">,
  bytes: Uint8Array,
): Promise<PreparedContent> {
  const id = newId("contents");
  const packed = await compressed(bytes);
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < packed.length || start === 0; start += chunkBytes)
    chunks.push(vault.seal(chunkOwner(id, chunks.length), packed.subarray(start, start + chunkBytes)));
  return { ...key, id, size: bytes.length, md5: md5Of(bytes), chunkCount: chunks.length, ...inDatabase, chunks };
}

export const md5Of = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");

export type ContentInspector = (piece: Uint8Array) => void | Promise<void>;

type ContentWriter = Pick<Context, "database" | "vault" | "wake" | "options">;

/** Throws `too-large`, `bad-request` if the sender disconnects, `unavailable`, and the errors of `inspect`; a job later removes what was stored. */
export async function receiveContent(
  context: ContentWriter,
  key: ContentKey,
  source: AsyncIterable<Uint8Array>,
  inspect: ContentInspector,
  limit: ContentLimit,
): Promise<StoredContent> {
  const id = newId("contents");
  const meter = new Meter(inspect, limit);
  const target = await targetForNew(context, { ...key, id }, (tx) => beginContent(tx, { ...key, id }));
  try {
    const location = await packInto(context.vault, id, meter.watch(source, target.touch), target.store);
    return { ...key, id, size: meter.size, md5: meter.md5(), ...location };
  } catch (error) {
    await discardUpload(context, { id, ...target.reference });
    throw contentError(error);
  }
}

async function packInto(
  vault: Vault,
  id: string,
  source: AsyncIterable<Uint8Array>,
  store: ContentTarget["store"],
): Promise<ContentLocation> {
  let location: ContentLocation | undefined;
  let chunkCount = 0;
  async function* sealed(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of inChunks(packed)) {
      yield vault.seal(chunkOwner(id, chunkCount++), chunk);
      freeBuffersAfter(buffersPerChunk * chunk.length);
    }
  }
  await piped(source, createZstdCompress(), async (packed: AsyncIterable<Uint8Array>) => {
    const columns = await store(sealed(packed));
    location = { ...columns, chunkCount };
  });
  if (location === undefined) throw new Error(`content ${id} was not stored`);
  return location;
}

export interface InlineContent {
  readonly kind: string;
  readonly bytes: Uint8Array;
}

/** For contents in a request. The caller makes them visible with `insertContents`, or discards each with `discardUpload`. */
export async function storeContents(
  context: ContentWriter,
  owner: ContentOwner,
  contents: readonly InlineContent[],
): Promise<PreparedContent[]> {
  const { database, vault, options } = context;
  const begun = options.contentPlace && (await beginObjects(context, contents.length, (work) => database.write(work)));
  const stored: PreparedContent[] = [];
  try {
    for (const [index, { kind, bytes }] of contents.entries()) {
      const object = begun?.objects[index];
      stored.push(
        begun === undefined || object === undefined
          ? await prepareContent(vault, { owner, kind }, bytes)
          : await storeObject(vault, begun.place, object, { owner, kind, bytes }),
      );
    }
    return stored;
  } catch (error) {
    for (const { place, name } of begun?.objects ?? []) await discardUpload(context, { id: "", place, object: name });
    throw contentError(error);
  }
}

async function storeObject(
  vault: Vault,
  place: ContentPlace,
  object: ObjectReference,
  { owner, kind, bytes }: InlineContent & Pick<ContentKey, "owner">,
): Promise<PreparedContent> {
  const id = newId("contents");
  const hash = createHash("md5");
  async function* slices(): AsyncGenerator<Uint8Array> {
    for (let start = 0; start < bytes.length; start += sliceBytes) {
      const slice = bytes.subarray(start, start + sliceBytes);
      hash.update(slice);
      yield slice;
    }
  }
  // No `touchObject`: a request is much shorter than the clean-up waits.
  const put = (sealed: AsyncIterable<Uint8Array>) => putObject(vault, place, object, sealed);
  const location = await packInto(vault, id, slices(), put);
  return { owner, kind, id, size: bytes.length, md5: hash.digest("hex"), ...location, chunks: [] };
}

const sliceBytes = 64 * 1024;
/** Compressed pieces, the chunk, and the encrypted chunk. */
const buffersPerChunk = 3;

export const contentCleanupJob = "abandoned-uploads";
export const contentsJob = "contents";

type DiscardableContent = Pick<StoredContent, "id"> & Partial<Pick<StoredContent, "place" | "object">>;

export async function discardUpload(
  { database, wake }: Pick<Context, "database" | "wake">,
  { id, place, object }: DiscardableContent,
): Promise<void> {
  try {
    await database.write(async (tx) => {
      await orphanUpload(tx, id);
      if (place && object) await discardObject(tx, { place, name: object });
    });
    wake?.(contentCleanupJob);
    if (place) wake?.(contentsJob);
  } catch {
    // A job finds it later.
  }
}

export function md5Stream(): { readonly size: number; add(bytes: Uint8Array): void; end(): string } {
  const hash = createHash("md5");
  let size = 0;
  return {
    get size() {
      return size;
    },
    add(bytes) {
      size += bytes.length;
      hash.update(bytes);
    },
    end: () => hash.digest("hex"),
  };
}

class Meter {
  size = 0;
  readonly #hash = createHash("md5");
  readonly #inspect: ContentInspector;
  readonly #limit: ContentLimit;

  constructor(inspect: ContentInspector, limit: ContentLimit) {
    this.#inspect = inspect;
    this.#limit = limit;
  }

  async *watch(
    source: AsyncIterable<Uint8Array>,
    touch: () => Promise<void> = async () => {},
  ): AsyncGenerator<Uint8Array> {
    for await (const piece of receivedPieces(source)) {
      await touch();
      this.size += piece.length;
      const { bytes, thing } = this.#limit;
      if (this.size > bytes)
        throw new AppError("too-large", `${thing} can have at most ${bytes} bytes; this one has more.`);
      this.#hash.update(piece);
      await this.#inspect(piece);
      freeBuffersAfter(piece.length);
      yield piece;
    }
  }

  md5(): string {
    return this.#hash.digest("hex");
  }
}

/** Throws `too-large` or `bad-request`. */
export async function streamDigest(source: AsyncIterable<Uint8Array>, limit: ContentLimit): Promise<string> {
  const meter = new Meter(() => {}, limit);
  // oxlint-disable-next-line no-unused-vars -- the meter sees every piece
  for await (const _ of meter.watch(source));
  return meter.md5();
}

/** Throws `bad-request` if the sender disconnects; drains what the consumer does not read. */
async function* receivedPieces(source: AsyncIterable<Uint8Array> | undefined): AsyncGenerator<Uint8Array> {
  if (source === undefined) return;
  const pieces = source[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await nextOf(pieces);
    if (done) return;
    let isConsumed = false;
    try {
      yield value;
      isConsumed = true;
    } finally {
      if (!isConsumed) void drain(source, pieces).catch(() => {});
    }
  }
}

async function nextOf(pieces: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  try {
    return await pieces.next();
  } catch (error) {
    throw new AppError("bad-request", "The upload ended before it was complete. Send it again, to the same URL.", {
      internal: error,
    });
  }
}

/** Senders read the response only after sending everything, and an unread connection delays shutdown. Bounded against endless senders. */
async function drain(source: AsyncIterable<Uint8Array>, pieces: AsyncIterator<Uint8Array>): Promise<void> {
  for (let size = 0; size <= contentBytesMax;) {
    const { done, value } = await pieces.next();
    if (done) return;
    size += value.length;
  }
  (source as Partial<Readable>).destroy?.();
}

async function* inChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pending: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    pending.push(piece);
    length += piece.length;
    if (length < chunkBytes) continue;
    const joined = Buffer.concat(pending);
    let start = 0;
    for (; joined.length - start >= chunkBytes; start += chunkBytes) yield joined.subarray(start, start + chunkBytes);
    pending = [joined.subarray(start)];
    length = joined.length - start;
  }
  if (length > 0) yield Buffer.concat(pending);
}

/** Yields the last piece only after the digest is verified, so that a complete read is correct. Throws `internal` and `unavailable`. */
export async function* readContent(reader: ContentReader, content: StoredContent): AsyncGenerator<Uint8Array> {
  const stopping = new AbortController();
  const hash = createHash("md5");
  let previous: Uint8Array | undefined;
  try {
    for await (const piece of unpackedPieces(reader, content, stopping.signal)) {
      hash.update(piece);
      freeBuffersAfter(piece.length);
      if (previous !== undefined) yield previous;
      previous = piece;
    }
    if (hash.digest("hex") !== content.md5) throw damagedContent(content.id, "it does not match its digest");
    if (previous !== undefined) yield previous;
  } finally {
    // A reader that stops early must not leave a request to the object store open.
    stopping.abort();
  }
}

function unpackedPieces(reader: ContentReader, content: StoredContent, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const chunks = openedChunks(reader, content, undefined, signal);
  if (content.chunkSizes !== null) return separately(chunks);
  const unpacked = createZstdDecompress();
  pipeline(Readable.from(chunks, { highWaterMark: 1 }), unpacked, () => {});
  return unpacked;
}

/** Chunks of a log are compressed one by one. */
async function* separately(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield decompressed(chunk);
}

export interface ContentSelection {
  readonly column: ContentOwner["column"];
  readonly ids: readonly string[];
  readonly kind: string;
}

/** At most `bytesMax` in total, in two statements. */
export async function readSmallContents(
  tx: Tx,
  vault: Vault,
  selection: ContentSelection,
  bytesMax: number,
): Promise<ReadonlyMap<string, Uint8Array>> {
  let left = bytesMax;
  const contents = (await findContents(tx, selection.column, selection.ids, selection.kind)).filter(
    ({ size }) => (left -= size) >= 0,
  );
  const chunks = await readAllChunks(
    tx,
    contents.map(({ id }) => id),
  );
  const found = new Map<string, Uint8Array>();
  for (const { id, md5, owner } of contents) {
    const own = chunks.filter(({ contentId }) => contentId === id);
    const packed = own.map(({ bytes, position }) => openChunk(vault, id, position, bytes));
    const bytes = await decompressed(Buffer.concat(packed));
    if (md5Of(bytes) !== md5) throw damagedContent(id, "it does not match its digest");
    found.set(owner.id, bytes);
  }
  return found;
}

const chunksPerStep = 32;

/** Also removes uploads that received nothing since `before`. `removeLeftovers` runs first: nothing refers to its rows afterwards. */
export async function removeAbandonedContents(
  database: Database,
  { capability, signal, step }: JobContext,
  before: string,
  removeLeftovers: (ownerId: string) => Promise<void>,
): Promise<number> {
  let removed = 0;
  while (!signal.aborted) {
    const content = await findAbandoned(database.reader, before);
    if (content === undefined) break;
    if (content.ownerId !== null) await removeLeftovers(content.ownerId);
    while (!(await step((tx) => removeChunks(tx, capability, content.id, chunksPerStep))));
    removed += 1;
  }
  return removed;
}
