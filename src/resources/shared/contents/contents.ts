/**
 * Contents: bytes of any size, compressed, cut into chunks, each chunk sealed and bound to its place. They stream through in
 * both directions and need the memory of a few chunks. Whoever uploads slowly holds nothing: each chunk is a short transaction
 * of its own, and the version is only told of them when all are there. This file is all that others see of them, and nothing
 * here knows what the bytes mean.
 */
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
  type ContentPlace,
  findAbandoned,
  findContents,
  orphanContent,
  type PreparedContent,
  readAllChunks,
  readChunks,
  removeSome,
  type StoredContent,
} from "./store.ts";
import type { JobWork } from "../job-work.ts";

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
export type { ContentOwner, ContentPlace, PreparedContent, StoredContent };

/** How large a content can be, and what its sender calls it. */
export interface ContentLimit {
  readonly bytes: number;
  /** As the beginning of a sentence: `A state`. */
  readonly thing: string;
}

/** Nothing here is larger. */
export const contentBytesMax = 256 * 1024 * 1024;
const chunkBytes = 256 * 1024;

const compressed = promisify(zstdCompress);
const decompressed = promisify(zstdDecompress);

/** A chunk belongs to one place in one content, so that none can be moved, repeated or left out unnoticed. */
const placeOf = (contentId: string, position: number): string => `state_chunks/${contentId}/${position}`;

/** A content that is in memory already, made ready to be stored with its version in one transaction. */
export async function prepareContent(
  vault: Vault,
  place: Omit<ContentPlace, "organizationId">,
  bytes: Uint8Array,
): Promise<PreparedContent> {
  const id = newId("contents");
  const packed = await compressed(bytes);
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < packed.length || start === 0; start += chunkBytes)
    chunks.push(vault.seal(placeOf(id, chunks.length), packed.subarray(start, start + chunkBytes)));
  return { ...place, id, size: bytes.length, md5: md5Of(bytes), chunkCount: chunks.length, chunks };
}

export const md5Of = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");

/** Sees a piece on its way; the next one waits until it has. */
export type Look = (piece: Uint8Array) => void | Promise<void>;

/**
 * Stores bytes as they arrive; nothing refers to them yet. `look` sees each piece on its way. Raises `too-large`, `bad-request`
 * where the sender breaks off, and what `look` raises; what was stored by then is removed later, by a job.
 */
export async function receiveContent(
  context: Pick<Context, "database" | "vault" | "wake">,
  place: ContentPlace,
  source: AsyncIterable<Uint8Array>,
  look: Look,
  limit: ContentLimit,
): Promise<StoredContent> {
  const { database, vault } = context;
  const id = newId("contents");
  const meter = new Meter(look, limit);
  await database.write((tx) => beginContent(tx, { ...place, id }));
  let chunkCount = 0;
  const store = async (packed: Uint8Array) => {
    const sealed = vault.seal(placeOf(id, chunkCount), packed);
    const chunk = { organizationId: place.organizationId, contentId: id, position: chunkCount, bytes: sealed };
    await database.write((tx) => appendChunk(tx, chunk));
    chunkCount += 1;
  };
  try {
    await piped(meter.watch(source), createZstdCompress(), async (packed: AsyncIterable<Uint8Array>) => {
      for await (const chunk of inChunks(packed)) await store(chunk);
    });
  } catch (error) {
    await giveUp(context, id);
    throw error;
  }
  return { ...place, id, size: meter.size, md5: meter.md5(), chunkCount };
}

/** The job that removes what nothing leads to. */
export const cleaningJob = "abandoned-uploads";

/** What was stored of a content is not wanted: it is removed soon, and not only when its time has run out. */
export async function giveUp({ database, wake }: Pick<Context, "database" | "wake">, id: string): Promise<void> {
  try {
    await database.write((tx) => orphanContent(tx, id));
    wake?.(cleaningJob);
  } catch {
    // The job finds it all the same, later.
  }
}

/** Counts and digests what passes. */
class Meter {
  size = 0;
  readonly #hash = createHash("md5");
  readonly #look: Look;
  readonly #limit: ContentLimit;

  constructor(look: Look, limit: ContentLimit) {
    this.#look = look;
    this.#limit = limit;
  }

  async *watch(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of unbroken(source)) {
      this.size += piece.length;
      const { bytes, thing } = this.#limit;
      if (this.size > bytes)
        throw new AppError("too-large", `${thing} can have at most ${bytes} bytes; this one has more.`);
      this.#hash.update(piece);
      await this.#look(piece);
      freeBuffersAfter(piece.length);
      yield piece;
    }
  }

  md5(): string {
    return this.#hash.digest("hex");
  }
}

/** The digest of bytes that are not to be stored. Raises `too-large` or `bad-request`. */
export async function digestOf(source: AsyncIterable<Uint8Array>, limit: ContentLimit): Promise<string> {
  const meter = new Meter(() => {}, limit);
  // oxlint-disable-next-line no-unused-vars -- the meter sees every piece
  for await (const _ of meter.watch(source));
  return meter.md5();
}

/** A sender that goes away in the middle is no failure of ours. What is not wanted any more is let pass. */
async function* unbroken(source: AsyncIterable<Uint8Array> | undefined): AsyncGenerator<Uint8Array> {
  if (source === undefined) return;
  const pieces = source[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await nextOf(pieces);
    if (done) return;
    let wanted = false;
    try {
      yield value;
      wanted = true;
    } finally {
      if (!wanted) void letPass(source, pieces).catch(() => {});
    }
  }
}

async function nextOf(pieces: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  try {
    return await pieces.next();
  } catch (error) {
    throw new AppError("bad-request", "The upload broke off before its end. Send it again, to the same URL.", {
      internal: error,
    });
  }
}

/**
 * Reads on without keeping anything: a sender that is refused in the middle reads the answer once it has sent all, and a
 * connection whose rest nobody reads would hang, and keep the server from stopping. Bounded, for whoever never ends.
 */
async function letPass(source: AsyncIterable<Uint8Array>, pieces: AsyncIterator<Uint8Array>): Promise<void> {
  for (let size = 0; size <= contentBytesMax;) {
    const { done, value } = await pieces.next();
    if (done) return;
    size += value.length;
  }
  (source as Partial<Readable>).destroy?.();
}

/** Pieces of any size as pieces of one size, the last one shorter; always at least one. */
async function* inChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    gathered.push(piece);
    length += piece.length;
    if (length < chunkBytes) continue;
    const joined = Buffer.concat(gathered);
    let start = 0;
    for (; joined.length - start >= chunkBytes; start += chunkBytes) yield joined.subarray(start, start + chunkBytes);
    gathered = [joined.subarray(start)];
    length = joined.length - start;
  }
  if (length > 0) yield Buffer.concat(gathered);
}

/** Four chunks at a time: a small content is one statement, a large one never needs more memory than these. */
const chunksAtOnce = 4;

async function* openedChunks(database: Database, vault: Vault, content: StoredContent): AsyncGenerator<Uint8Array> {
  for (let position = 0; position < content.chunkCount; position += chunksAtOnce) {
    const chunks = await readChunks(database.reader, content.id, position, chunksAtOnce);
    if (chunks.length !== Math.min(chunksAtOnce, content.chunkCount - position))
      throw new Error(`the content ${content.id} lacks chunks after ${position}`);
    for (const [offset, bytes] of chunks.entries()) yield vault.open(placeOf(content.id, position + offset), bytes);
  }
}

/**
 * A content's bytes. The last of them are held back until the digest of the whole is right, so that whoever gets all has got
 * what was stored. Raises an Error where it is not.
 */
export async function* readContent(
  { database, vault }: { readonly database: Database; readonly vault: Vault },
  content: StoredContent,
): AsyncGenerator<Uint8Array> {
  const unpacked = createZstdDecompress();
  pipeline(Readable.from(openedChunks(database, vault, content)), unpacked, () => {});
  const hash = createHash("md5");
  let held: Uint8Array | undefined;
  for await (const piece of unpacked as AsyncIterable<Uint8Array>) {
    hash.update(piece);
    freeBuffersAfter(piece.length);
    if (held !== undefined) yield held;
    held = piece;
  }
  if (hash.digest("hex") !== content.md5) throw new Error(`the content ${content.id} is not what was stored`);
  if (held !== undefined) yield held;
}

/** Contents of one kind, by their owners. */
export interface SmallContents {
  readonly column: ContentOwner["column"];
  readonly ids: readonly string[];
  readonly kind: string;
}

/** Small contents of several owners, by the owner's id, as many as have so many bytes together: two statements. */
export async function readSmallContents(
  tx: Tx,
  vault: Vault,
  wanted: SmallContents,
  bytesMax: number,
): Promise<ReadonlyMap<string, Uint8Array>> {
  let left = bytesMax;
  const contents = (await findContents(tx, wanted.column, wanted.ids, wanted.kind)).filter(
    ({ size }) => (left -= size) >= 0,
  );
  const chunks = await readAllChunks(
    tx,
    contents.map(({ id }) => id),
  );
  const found = new Map<string, Uint8Array>();
  for (const { id, md5, owner } of contents) {
    const own = chunks.filter(({ contentId }) => contentId === id);
    const packed = own.map(({ bytes, position }) => vault.open(placeOf(id, position), bytes));
    const bytes = await decompressed(Buffer.concat(packed));
    if (md5Of(bytes) !== md5) throw new Error(`the content ${id} is not what was stored`);
    found.set(owner.id, bytes);
  }
  return found;
}

const chunksPerStep = 32;

/**
 * Removes contents that nothing leads to, and those that nothing was added to since a time. Gives how many. What else the
 * owner of a content has left behind is removed before it, by `leftBy`: once the content is gone, nobody knows of it.
 */
export async function removeAbandonedContents(
  database: Database,
  { capability, signal, step }: JobWork,
  before: string,
  leftBy: (ownerId: string) => Promise<void>,
): Promise<number> {
  let removed = 0;
  while (!signal.aborted) {
    const content = await findAbandoned(database.reader, before);
    if (content === undefined) break;
    if (content.ownerId !== null) await leftBy(content.ownerId);
    while (!(await step((tx) => removeSome(tx, capability, content.id, chunksPerStep))));
    removed += 1;
  }
  return removed;
}
