/**
 * The log of a plan or an apply: bytes at offsets, written while the engine speaks and read by range. The first byte is STX, the
 * last ETX, each there once; both count. Pieces are compressed and sealed, each bound to its place, and neither writing nor reading
 * needs more memory than a few of them.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Tx } from "../../../database/database.ts";
import type { RunLogChunkTable } from "../../../database/schema/runs.ts";
import type { Vault } from "../../../database/vault.ts";
import { freeBuffersAfter } from "../../../kernel/streams.ts";
import { AppError, conflict } from "../../../kernel/errors.ts";
import {
  findLoggedPhase,
  findStartOfAttempt,
  insertChunks,
  insertPieces,
  type LoggedPhase,
  readChunks,
} from "./store.ts";

export type { LoggedPhase };

const stx = 0x02;
const etx = 0x03;
const space = 0x20;

/** No piece is longer. */
const chunkBytesMax = 256 * 1024;
/** However much is asked for, no answer has more. */
export const logReadBytesMax = 256 * 1024;
/** No log is longer: what an engine says beyond that is not for people to read. */
export const logBytesMax = 512 * 1024 * 1024;

/**
 * Adds what an agent sends. `offset` counts the bytes of this attempt, without our marks: an attempt that follows another goes on
 * behind what that one said, for readers are there already. What was sent before is let pass. Raises `conflict` where something is
 * missing in between or the log has ended, and `too-large`. The phase's row is locked; gives it as it is then.
 */
export async function appendLog<Phase extends LoggedPhase>(
  tx: Tx,
  vault: Vault,
  phase: Phase,
  offset: number,
  bytes: Uint8Array,
): Promise<Phase> {
  const begin = await startOf(tx, phase);
  const place = begin + offset;
  const length = Math.max(phase.logBytes, 1);
  if (place > length)
    throw conflict(
      `The log is at offset ${length - begin}, and this piece begins at ${offset}. Send what is missing first.`,
    );
  const news = bytes.subarray(length - place);
  if (news.length === 0) return phase;
  if (phase.logEnded === 1) throw conflict("The log has ended: nothing can be added to it.");
  if (length + news.length > logBytesMax)
    throw new AppError("too-large", `A log can have at most ${logBytesMax} bytes; this piece would make it longer.`);
  return write(tx, vault, phase, withoutMarks(news), 0);
}

/** Ends a log, also that of a phase that never ran. Where it has ended nothing happens. */
export async function endLog<Phase extends LoggedPhase>(tx: Tx, vault: Vault, phase: Phase): Promise<Phase> {
  return phase.logEnded === 1 ? phase : write(tx, vault, phase, Buffer.from([etx]), 1);
}

/**
 * A sentence of the service itself, at the end of what an engine has said; nothing where the log has ended. Gives the phase as it is
 * then; undefined where there is none.
 */
export async function sayInLog(
  tx: Tx,
  vault: Vault,
  phaseId: string,
  sentence: string,
): Promise<LoggedPhase | undefined> {
  const phase = await loggedPhase(tx, phaseId);
  if (phase === undefined || phase.logEnded === 1) return phase;
  return write(tx, vault, phase, Buffer.from(`\n${sentence}\n`), 0);
}

/**
 * Ends the logs of phases that become final, in one statement, and gives what their rows are to hold then: the statement that makes
 * them final writes it.
 */
export async function endLogs(
  tx: Tx,
  vault: Vault,
  phases: readonly LoggedPhase[],
): Promise<Map<string, Pick<LoggedPhase, "logBytes" | "logEnded">>> {
  const open = phases.filter(({ logEnded }) => logEnded === 0);
  const ends = open.map((phase) => {
    const last = Buffer.from(phase.logBytes === 0 ? [stx, etx] : [etx]);
    return { phase, last, chunk: sealed(vault, phase, phase.logBytes, last) };
  });
  if (ends.length > 0)
    await insertPieces(
      tx,
      ends.map(({ chunk }) => chunk),
    );
  return new Map(ends.map(({ phase, last }) => [phase.id, { logBytes: phase.logBytes + last.length, logEnded: 1 }]));
}

/** The bytes of a log from an offset on, at most so many; none where there are none yet, or no more. */
export async function readLog(
  tx: Tx,
  vault: Vault,
  { id, logBytes }: Pick<LoggedPhase, "id" | "logBytes">,
  offset: number,
  limit: number,
): Promise<Uint8Array> {
  const end = Math.min(offset + Math.min(limit, logReadBytesMax), logBytes);
  if (end <= offset) return new Uint8Array();
  const chunks = await readChunks(tx, { phaseId: id, from: offset, before: offset - chunkBytesMax, end });
  const pieces = chunks.map(({ start, bytes }) => {
    const plain = openedOnce(vault, id, start, bytes);
    return plain.subarray(Math.max(offset - start, 0), end - start);
  });
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
}

/** What reading a log needs to know of its phase; undefined where there is none. */
export async function loggedPhase(tx: Tx, id: string): Promise<LoggedPhase | undefined> {
  const [phase] = await findLoggedPhase(tx, { id });
  return phase;
}

/** Where the current attempt's bytes begin in the log. */
async function startOf(tx: Tx, phase: LoggedPhase): Promise<number> {
  if (phase.attempt <= 1) return 1;
  return Math.max((await findStartOfAttempt(tx, phase)) ?? phase.logBytes, 1);
}

async function write<Phase extends LoggedPhase>(
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
    chunks.push(sealed(vault, phase, phase.logBytes + at, piece));
  }
  const after = { logBytes: phase.logBytes + all.length, logEnded };
  await insertChunks(tx, phase, chunks, after);
  freeBuffersAfter(2 * all.length);
  return { ...phase, ...after };
}

/** A byte that an engine writes must not be taken for the end. In UTF-8 these two are never part of another character. */
function withoutMarks(bytes: Uint8Array): Uint8Array {
  if (!bytes.includes(stx) && !bytes.includes(etx)) return bytes;
  return bytes.map((byte) => (byte === stx || byte === etx ? space : byte));
}

/** A piece belongs to one place in one log, so that none can be moved or repeated unnoticed. */
const ownerOf = (phaseId: string, start: number): string => `run_log_chunks/${phaseId}/${start}`;

/** Before what is stored: whether it is compressed. Few lines get longer by that. */
const [plainly, compressed] = [Buffer.from([0]), Buffer.from([1])];
const compressedFrom = 256;

function sealed(
  vault: Vault,
  { id, organizationId, attempt }: LoggedPhase,
  start: number,
  piece: Uint8Array,
): RunLogChunkTable {
  const stored =
    piece.length < compressedFrom
      ? Buffer.concat([plainly, piece])
      : Buffer.concat([compressed, zstdCompressSync(piece, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })]);
  const bytes = vault.seal(ownerOf(id, start), stored);
  return { organizationId, phaseId: id, attempt, start, length: piece.length, bytes };
}

/** A reader takes a stored piece in several parts, and many read the same: the last pieces stay open, a few MiB. */
const keptOpen = new Map<string, { readonly sealed: Uint8Array; readonly plain: Uint8Array }>();
const keptOpenMax = 32;

function openedOnce(vault: Vault, phaseId: string, start: number, sealed: Uint8Array): Uint8Array {
  const place = ownerOf(phaseId, start);
  const known = keptOpen.get(place);
  keptOpen.delete(place);
  const isSame = known !== undefined && Buffer.compare(known.sealed, sealed) === 0;
  const kept = isSame ? known : { sealed, plain: opened(vault, phaseId, start, sealed) };
  if (!isSame) freeBuffersAfter(kept.plain.length);
  keptOpen.set(place, kept);
  if (keptOpen.size > keptOpenMax) keptOpen.delete(keptOpen.keys().next().value ?? "");
  return kept.plain;
}

function opened(vault: Vault, phaseId: string, start: number, bytes: Uint8Array): Uint8Array {
  const stored = vault.open(ownerOf(phaseId, start), bytes);
  const piece = stored.subarray(1);
  return stored[0] === 1 ? zstdDecompressSync(piece, { maxOutputLength: chunkBytesMax }) : piece;
}
