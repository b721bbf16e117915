/** Logs of plans and applies, in encrypted chunks, read by byte range. A log starts with STX and ends with ETX; both count. */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Tx } from "../../../database/database.ts";
import type { RunLogChunkTable, RunPhaseTable } from "../../../database/schema/runs.ts";
import type { Vault } from "../../../database/vault.ts";
import type { ContentReader } from "../../shared/contents/chunks.ts";
import type { Context } from "../../shared/context.ts";
import { readMovedLog } from "./moved-logs.ts";
import { freeBuffersAfter } from "../../../kernel/streams.ts";
import { AppError, conflict } from "../../../kernel/errors.ts";
import {
  findLoggedPhase,
  findStartOfAttempt,
  insertChunks,
  insertLogChunks,
  type LoggedPhase,
  readChunks,
} from "./store.ts";

export type { LoggedPhase };

const stx = 0x02;
const etx = 0x03;
const space = 0x20;

const chunkBytesMax = 256 * 1024;
export const logReadBytesMax = 256 * 1024;
export const logBytesMax = 512 * 1024 * 1024;

/** `offset` counts this attempt's bytes, without STX and ETX. Throws `conflict` for a gap or an ended log, and `too-large`. */
export async function appendLog<Phase extends LoggedPhase>(
  tx: Tx,
  vault: Vault,
  phase: Phase,
  offset: number,
  bytes: Uint8Array,
): Promise<Phase> {
  const attemptStart = await attemptStartOf(tx, phase);
  const position = attemptStart + offset;
  const length = Math.max(phase.logBytes, 1);
  if (position > length)
    throw conflict(
      `The log ends at offset ${length - attemptStart}, and this part starts at ${offset}. Send the missing bytes first.`,
    );
  const newBytes = bytes.subarray(length - position);
  if (newBytes.length === 0) return phase;
  if (phase.logEnded === 1) throw conflict("The log has ended: nothing can be added to it.");
  if (length + newBytes.length > logBytesMax)
    throw new AppError("too-large", `A log can have at most ${logBytesMax} bytes; this part would exceed that.`);
  return writeChunks(tx, vault, phase, withoutMarks(newBytes), 0);
}

export async function endLog<Phase extends LoggedPhase>(tx: Tx, vault: Vault, phase: Phase): Promise<Phase> {
  return phase.logEnded === 1 ? phase : writeChunks(tx, vault, phase, Buffer.from([etx]), 1);
}

export async function appendServiceMessage(
  tx: Tx,
  vault: Vault,
  phaseId: string,
  sentence: string,
): Promise<LoggedPhase | undefined> {
  const phase = await findPhaseWithLog(tx, phaseId);
  if (phase === undefined || phase.logEnded === 1) return phase;
  return writeChunks(tx, vault, phase, Buffer.from(`\n${sentence}\n`), 0);
}

export type LogWriter = Pick<Context, "vault" | "options">;
type EndedLogColumns = Pick<RunPhaseTable, "logBytes" | "logEnded"> & Partial<Pick<RunPhaseTable, "logUnmoved">>;

/** Returns column values that the caller writes together with the final status. */
export async function endLogs(
  tx: Tx,
  { vault, options }: LogWriter,
  phases: readonly LoggedPhase[],
): Promise<Map<string, EndedLogColumns>> {
  const unended = phases.filter(({ logEnded }) => logEnded === 0);
  const ends = unended.map((phase) => {
    const last = Buffer.from(phase.logBytes === 0 ? [stx, etx] : [etx]);
    return { phase, last, chunk: sealChunk(vault, phase, phase.logBytes, last) };
  });
  if (ends.length > 0)
    await insertLogChunks(
      tx,
      ends.map(({ chunk }) => chunk),
    );
  const isToMove = options.contentPlace !== undefined && { logUnmoved: 1 };
  return new Map(
    ends.map(({ phase, last }) => [phase.id, { logBytes: phase.logBytes + last.length, logEnded: 1, ...isToMove }]),
  );
}

export async function readLog(
  reader: ContentReader,
  { id, logBytes, logContentId = null }: LogToRead,
  offset: number,
  limit: number,
): Promise<Uint8Array> {
  const end = Math.min(offset + Math.min(limit, logReadBytesMax), logBytes);
  if (end <= offset) return new Uint8Array();
  if (logContentId !== null) return readMovedLog(reader, logContentId, offset, end);
  const { database, vault } = reader;
  const chunks = await readChunks(database.reader, { phaseId: id, from: offset, before: offset - chunkBytesMax, end });
  const pieces = chunks.map(({ start, bytes }) => {
    const plain = openCached(vault, id, start, bytes);
    return plain.subarray(Math.max(offset - start, 0), end - start);
  });
  const bytes = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  if (bytes.length === end - offset) return bytes;
  // The log may have been moved since the phase was read.
  const moved = (await findPhaseWithLog(database.reader, id))?.logContentId ?? null;
  return moved === null ? bytes : readMovedLog(reader, moved, offset, end);
}

type LogToRead = Pick<LoggedPhase, "id" | "logBytes" | "logContentId">;

/** All bytes of a log that is in the database. */
export async function* plainLog(
  tx: Tx,
  vault: Vault,
  { id, logBytes }: Pick<LoggedPhase, "id" | "logBytes">,
): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < logBytes;) {
    const chunks = await readChunks(tx, { phaseId: id, from, before: from - 1, end: from + logReadBytesMax });
    if (chunks.length === 0) return;
    for (const { start, bytes } of chunks) {
      const piece = openChunk(vault, id, start, bytes);
      yield piece;
      from = start + piece.length;
    }
  }
}

export async function findPhaseWithLog(tx: Tx, id: string): Promise<LoggedPhase | undefined> {
  const [phase] = await findLoggedPhase(tx, { id });
  return phase;
}

async function attemptStartOf(tx: Tx, phase: LoggedPhase): Promise<number> {
  if (phase.attempt <= 1) return 1;
  return Math.max((await findStartOfAttempt(tx, phase)) ?? phase.logBytes, 1);
}

async function writeChunks<Phase extends LoggedPhase>(
  tx: Tx,
  vault: Vault,
  phase: Phase,
  bytes: Uint8Array,
  logEnded: 0 | 1,
): Promise<Phase> {
  const all = phase.logBytes === 0 ? Buffer.concat([Buffer.from([stx]), bytes]) : bytes;
  const chunks: RunLogChunkTable[] = [];
  for (let at = 0; at < all.length; at += chunkBytesMax) {
    const piece = all.subarray(at, at + chunkBytesMax);
    chunks.push(sealChunk(vault, phase, phase.logBytes + at, piece));
  }
  const after = { logBytes: phase.logBytes + all.length, logEnded };
  await insertChunks(tx, phase, chunks, after);
  freeBuffersAfter(2 * all.length);
  return { ...phase, ...after };
}

/** Readers would take them for the end of the log. In UTF-8 they are never part of another character. */
function withoutMarks(bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(stx) && !bytes.includes(etx)) return bytes;
  return bytes.map((byte) => (byte === stx || byte === etx ? space : byte));
}

/** Encryption binds a chunk to its log and offset, so that moving or repeating one is detected. */
const ownerOf = (phaseId: string, start: number): string => `run_log_chunks/${phaseId}/${start}`;

/** The first stored byte: short chunks would grow if compressed. */
const [uncompressed, compressed] = [Buffer.from([0]), Buffer.from([1])];
const compressedBytesMin = 256;

function sealChunk(
  vault: Vault,
  { id, organizationId, attempt }: LoggedPhase,
  start: number,
  piece: Uint8Array,
): RunLogChunkTable {
  const stored =
    piece.length < compressedBytesMin
      ? Buffer.concat([uncompressed, piece])
      : Buffer.concat([compressed, zstdCompressSync(piece, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })]);
  const bytes = vault.seal(ownerOf(id, start), stored);
  return { organizationId, phaseId: id, attempt, start, length: piece.length, bytes };
}

/** A reader fetches a chunk in several parts, and many clients read the same log. */
const openChunks = new Map<string, { readonly sealed: Uint8Array; readonly plain: Uint8Array }>();
const openChunksMax = 32;

function openCached(vault: Vault, phaseId: string, start: number, sealed: Uint8Array): Uint8Array {
  const key = ownerOf(phaseId, start);
  const cached = openChunks.get(key);
  openChunks.delete(key);
  const isSame = cached !== undefined && Buffer.compare(cached.sealed, sealed) === 0;
  const entry = isSame ? cached : { sealed, plain: openChunk(vault, phaseId, start, sealed) };
  if (!isSame) freeBuffersAfter(entry.plain.length);
  openChunks.set(key, entry);
  if (openChunks.size > openChunksMax) openChunks.delete(openChunks.keys().next().value ?? "");
  return entry.plain;
}

function openChunk(vault: Vault, phaseId: string, start: number, bytes: Uint8Array): Uint8Array {
  const stored = vault.open(ownerOf(phaseId, start), bytes);
  const piece = stored.subarray(1);
  return stored[0] === 1 ? zstdDecompressSync(piece, { maxOutputLength: chunkBytesMax }) : piece;
}
