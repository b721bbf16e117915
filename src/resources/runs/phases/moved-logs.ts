/** Moves logs of ended runs to the object store, as contents in chunks that can be read one by one, and reads them there. */
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import type { Vault } from "../../../database/vault.ts";
import { AppError } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { freeBuffersAfter } from "../../../kernel/streams.ts";
import {
  chunkOwner,
  contentError,
  type ContentReader,
  damagedContent,
  openedChunks,
} from "../../shared/contents/chunks.ts";
import {
  beginContent,
  completeContent,
  discardUpload,
  findContentById,
  md5Stream,
} from "../../shared/contents/contents.ts";
import { beginObjects, objectTarget } from "../../shared/contents/target.ts";
import type { JobContext } from "../../shared/job-context.ts";
import {
  deleteSomeChunks,
  findUnmovedLogs,
  finishMove,
  flagLogs,
  lockUnmovedLog,
  setLogContent,
  type UnmovedLog,
} from "./store.ts";

/** Small, because a reader gets at most one of them more than it needs at each end of its range. */
const movedChunkBytes = 64 * 1024;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export async function readMovedLog(
  reader: ContentReader,
  contentId: string,
  offset: number,
  end: number,
): Promise<Uint8Array> {
  const content = await findContentById(reader.database.reader, contentId);
  if (content === undefined) throw damagedContent(contentId, "its row is missing");
  const from = Math.floor(offset / movedChunkBytes);
  const range = { from, to: Math.ceil(end / movedChunkBytes) };
  const pieces: Uint8Array[] = [];
  for await (const chunk of openedChunks(reader, content, range))
    pieces.push(await decompress(chunk, { maxOutputLength: movedChunkBytes }));
  const start = from * movedChunkBytes;
  return Buffer.concat(pieces).subarray(offset - start, end - start);
}

const logsPerPage = 50;
const chunksPerStep = 100;

/** `plainLog` yields the log's bytes in order. `damaged` gets the logs that could not be moved. Returns the number of the others. */
export async function moveEndedLogs(
  work: JobContext,
  plainLog: PlainLog,
  damaged: Map<string, unknown>,
): Promise<number> {
  if (work.context.options.contentPlace === undefined) return 0;
  let handled = 0;
  for (let after = ""; !work.signal.aborted;) {
    const logs = await findUnmovedLogs(work.context.database.reader, after, logsPerPage);
    for (const log of logs) {
      if (work.signal.aborted) break;
      try {
        if (log.logUnmoved !== awaitingMove) await removeChunks(work, log.id);
        else if (!(await moveLog(work, log, plainLog))) return handled;
        handled += 1;
      } catch (error) {
        if (error instanceof AppError && error.code === "unavailable") throw error;
        if (!work.signal.aborted) damaged.set(log.id, error);
      }
    }
    const last = logs.at(-1);
    if (last === undefined) break;
    after = last.id;
  }
  return handled;
}

/** For logs of runs that ended before contents were in an object store. */
export async function flagOldLogs({ capability, signal, step }: JobContext): Promise<void> {
  let last: string | undefined = "";
  while (last !== undefined && !signal.aborted) {
    const after: string = last;
    last = await step((tx) => flagLogs(tx, capability, after, logsPerFlagging));
  }
}

const logsPerFlagging = 500;
const awaitingMove = 1;

type PlainLog = (vault: Vault, log: UnmovedLog) => AsyncIterable<Uint8Array>;

/** False if the register leaves the place. */
async function moveLog(
  { context, capability, step }: JobContext,
  log: UnmovedLog,
  plainLog: PlainLog,
): Promise<boolean> {
  const id = newId("contents");
  const owner = { column: "runId", id: log.runId } as const;
  const key = { organizationId: log.organizationId, owner, kind: logKind(log.kind) };
  const begun = await beginObjects(context, 1, step, async (tx, isInPlace) => {
    if (isInPlace) await beginContent(tx, { ...key, id });
  });
  const object = begun?.objects[0];
  if (begun === undefined || object === undefined) return false;
  const target = objectTarget(context, begun.place, object, id);
  try {
    const digest = md5Stream();
    const sizes: number[] = [];
    async function* sealed(): AsyncGenerator<Uint8Array> {
      for await (const piece of inPieces(plainLog(context.vault, log))) {
        digest.add(piece);
        const bytes = context.vault.seal(chunkOwner(id, sizes.length), await compress(piece, level));
        freeBuffersAfter(2 * piece.length);
        sizes.push(bytes.length);
        await target.touch();
        yield bytes;
      }
    }
    const location = await target.store(sealed());
    const columns = { ...location, chunkCount: sizes.length, chunkSizes: sizes.join(",") };
    const content = { ...key, id, size: digest.size, md5: digest.end(), ...columns };
    if (content.size !== log.logBytes)
      throw new Error(`the log ${log.id} has ${content.size} of ${log.logBytes} bytes`);
    const isMoved = await step(async (tx) => {
      // It can have been deleted meanwhile.
      if (!(await lockUnmovedLog(tx, log.id))) return false;
      await completeContent(tx, content);
      await setLogContent(tx, capability, log.id, id);
      return true;
    });
    if (isMoved) await removeChunks({ capability, step }, log.id);
    else await discardUpload(context, content);
    return true;
  } catch (error) {
    await discardUpload(context, { id, ...target.reference });
    // Another process has moved it meanwhile, and deleted what was being read.
    if (!(await step((tx) => lockUnmovedLog(tx, log.id)))) return true;
    throw contentError(error);
  }
}

export const logKind = (kind: string): string => `${kind}-log`;

async function removeChunks(
  { capability, step }: Pick<JobContext, "capability" | "step">,
  phaseId: string,
): Promise<void> {
  let deleted: number;
  do {
    deleted = await step(async (tx) => {
      const count = await deleteSomeChunks(tx, capability, phaseId, chunksPerStep);
      if (count < chunksPerStep) await finishMove(tx, capability, phaseId);
      return count;
    });
  } while (deleted === chunksPerStep);
}

async function* inPieces(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pending = Buffer.alloc(0);
  for await (const piece of source) {
    pending = Buffer.concat([pending, piece]);
    let start = 0;
    for (; pending.length - start >= movedChunkBytes; start += movedChunkBytes)
      yield pending.subarray(start, start + movedChunkBytes);
    pending = pending.subarray(start);
  }
  if (pending.length > 0) yield pending;
}
