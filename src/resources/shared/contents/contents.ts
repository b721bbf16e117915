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
  appendChunk,
  beginContent,
  type ContentOwner,
  type ContentKey,
  findAbandoned,
  findContents,
  orphanContent,
  type PreparedContent,
  readAllChunks,
  readChunks,
  removeChunks,
  type StoredContent,
} from "./store.ts";
import type { JobContext } from "../job-context.ts";

export {
  abandonContents,
  abandonHidden,
  completeContent,
  findContent,
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
const chunkBytes = 256 * 1024;

const compressed = promisify(zstdCompress);
const decompressed = promisify(zstdDecompress);

/** So that no chunk can be moved, repeated or left out unnoticed. Authenticated with each stored chunk, so the prefix can't change. */
const chunkOwner = (contentId: string, position: number): string => `state_chunks/${contentId}/${position}`;

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
  return { ...key, id, size: bytes.length, md5: md5Of(bytes), chunkCount: chunks.length, chunks };
}

export const md5Of = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");

export type ContentInspector = (piece: Uint8Array) => void | Promise<void>;

/** Throws `too-large`, `bad-request` if the sender disconnects, and the errors of `inspect`; a job later removes what was stored. */
export async function receiveContent(
  context: Pick<Context, "database" | "vault" | "wake">,
  key: ContentKey,
  source: AsyncIterable<Uint8Array>,
  inspect: ContentInspector,
  limit: ContentLimit,
): Promise<StoredContent> {
  const { database, vault } = context;
  const id = newId("contents");
  const meter = new Meter(inspect, limit);
  await database.write((tx) => beginContent(tx, { ...key, id }));
  let chunkCount = 0;
  const store = async (packed: Uint8Array) => {
    const sealed = vault.seal(chunkOwner(id, chunkCount), packed);
    const chunk = { organizationId: key.organizationId, contentId: id, position: chunkCount, bytes: sealed };
    await database.write((tx) => appendChunk(tx, chunk));
    chunkCount += 1;
  };
  try {
    await piped(meter.watch(source), createZstdCompress(), async (packed: AsyncIterable<Uint8Array>) => {
      for await (const chunk of inChunks(packed)) await store(chunk);
    });
  } catch (error) {
    await discardUpload(context, id);
    throw error;
  }
  return { ...key, id, size: meter.size, md5: meter.md5(), chunkCount };
}

export const contentCleanupJob = "abandoned-uploads";

export async function discardUpload({ database, wake }: Pick<Context, "database" | "wake">, id: string): Promise<void> {
  try {
    await database.write((tx) => orphanContent(tx, id));
    wake?.(contentCleanupJob);
  } catch {
    // The job finds it later.
  }
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

  async *watch(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of receivedPieces(source)) {
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

/** Limits the memory for a large content. */
const chunksPerRead = 4;

async function* openedChunks(database: Database, vault: Vault, content: StoredContent): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < content.chunkCount; position += chunksPerRead) {
    const chunks = await readChunks(database.reader, content.id, position, chunksPerRead);
    if (chunks.length !== Math.min(chunksPerRead, content.chunkCount - position))
      throw new Error(`content ${content.id} lacks chunks after position ${position}`);
    for (const [offset, bytes] of chunks.entries()) yield vault.open(chunkOwner(content.id, position + offset), bytes);
  }
}

/** Yields the last piece only after the digest is verified, so that a complete read is correct. Throws Error on a mismatch. */
export async function* readContent(
  { database, vault }: { readonly database: Database; readonly vault: Vault },
  content: StoredContent,
): AsyncGenerator<Uint8Array> {
  const unpacked = createZstdDecompress();
  pipeline(Readable.from(openedChunks(database, vault, content)), unpacked, () => {});
  const hash = createHash("md5");
  let previous: Uint8Array | undefined;
  for await (const piece of unpacked as AsyncIterable<Uint8Array>) {
    hash.update(piece);
    freeBuffersAfter(piece.length);
    if (previous !== undefined) yield previous;
    previous = piece;
  }
  if (hash.digest("hex") !== content.md5) throw new Error(`content ${content.id} does not match its digest`);
  if (previous !== undefined) yield previous;
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
    const packed = own.map(({ bytes, position }) => vault.open(chunkOwner(id, position), bytes));
    const bytes = await decompressed(Buffer.concat(packed));
    if (md5Of(bytes) !== md5) throw new Error(`content ${id} does not match its digest`);
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
