/**
 * Writes a backup: one moment of the register, streamed with bounded memory to a temporary file that takes its name only
 * when it is complete and on the disk.
 */
import { createHash, randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { lstat, open, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { sql } from "kysely";
import type { Database, Tx } from "../database/database.ts";
import { appliedIn, unknownOf } from "../database/migrate.ts";
import { conflict } from "../kernel/errors.ts";
import { snake } from "../kernel/names.ts";
import { now } from "../kernel/time.ts";
import {
  encodeRow,
  type Footer,
  formatName,
  formatVersion,
  type Header,
  keyIdsIn,
  type Progress,
  type Section,
  tablesAfter,
  type Value,
} from "./format.ts";

/** Few enough that rows with large contents fit in memory together. */
const rowsPerChunk = 64;

export interface BackupRequest {
  readonly database: Database;
  readonly file: string;
  readonly keyId: string;
  /** The version of Cadastre that writes. */
  readonly version: string;
  readonly progress: Progress;
  /** Stops the work; nothing stays behind. */
  readonly signal?: AbortSignal;
}

export interface BackupResult {
  readonly rows: Footer["rows"];
  readonly bytes: number;
}

/** Replaces an older file. Raises `conflict` when it can't be written, or was stopped. */
export async function writeBackup(request: BackupRequest): Promise<BackupResult> {
  const { file, signal } = request;
  const temporary = `${file}.${randomBytes(4).toString("hex")}.partial`;
  try {
    await refuseNoFile(file);
    const written: Written = { rows: {}, keyIds: new Set() };
    await request.database.snapshot((tx) =>
      pipeline(
        Readable.from(hashed(lines(tx, request, written), written)),
        createGzip(),
        createWriteStream(temporary, { flags: "wx", mode: 0o600, flush: true }),
        { signal },
      ),
    );
    const { size } = await stat(temporary);
    await rename(temporary, file);
    await syncFolder(dirname(resolve(file)));
    return { rows: written.rows, bytes: size };
  } catch (error) {
    // Where it can't be removed it can't be there, or the folder is gone: the first error tells more.
    await rm(temporary, { force: true }).catch(() => {});
    throw told(error, file);
  }
}

/** A file takes the place of whatever has its name: of a device or a link, too. Raises `conflict`. */
async function refuseNoFile(file: string): Promise<void> {
  const found = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (found !== undefined && !found.isFile())
    throw conflict(
      `The backup can't be written to ${file}: what is there is no plain file. Name another, or move it away.`,
    );
}

/** What is known once everything is written. */
interface Written {
  readonly rows: Record<string, number>;
  readonly keyIds: Set<string>;
}

/** Some rows at a time. */
async function* lines(tx: Tx, request: BackupRequest, { rows, keyIds }: Written): AsyncGenerator<string> {
  // Before the moment itself: whatever was committed by then is in it.
  const createdAt = now();
  // The first statement: from here on, every other sees the same moment.
  const applied = await appliedIn(tx);
  refuseUnknownTables(applied);
  const header: Header = {
    format: formatName,
    version: formatVersion,
    createdAt,
    cadastre: request.version,
    migrations: applied,
    keyId: request.keyId,
  };
  yield line(header);
  for (const table of tablesAfter(applied)) {
    const columns = await columnsOf(tx, table);
    const section: Section = { table, columns: columns.map(snake) };
    yield line(section);
    rows[table] = 0;
    for await (const chunk of chunksOf(tx, table)) {
      const values = chunk.map((row) => columns.map((column) => row[column] as Value));
      for (const id of values.flatMap(keyIdsIn)) keyIds.add(id);
      yield* inPieces(values);
      rows[table] += chunk.length;
      request.progress(table, rows[table]);
    }
  }
}

/** Of a schema that is newer, even of one that can be written to, not all tables are known. Raises `conflict`. */
function refuseUnknownTables(applied: readonly string[]): void {
  const unknown = unknownOf(applied);
  if (unknown.length > 0)
    throw conflict(
      `The database was brought to a newer version of Cadastre (it has ${unknown.join(", ")}), so a backup by this one would lack something. Make it with that version.`,
    );
}

/** A piece is short, so that a server that writes a backup answers others in between, also where rows are large. */
const pieceLength = 256 * 1024;

function* inPieces(rows: readonly Value[][]): Generator<string> {
  let piece = "";
  for (const row of rows) {
    piece += `${encodeRow(row)}\n`;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}

/** The text, and at its end the line that vouches for it. */
async function* hashed(text: AsyncIterable<string>, { rows, keyIds }: Written): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  for await (const part of text) {
    const bytes = Buffer.from(part);
    hash.update(bytes);
    yield bytes;
  }
  const footer: Footer = { rows, keyIds: [...keyIds].toSorted(), sha256: hash.digest("hex") };
  yield Buffer.from(line(footer));
}

const line = (value: object) => `${JSON.stringify(value)}\n`;

/** Known also for a table without rows: a row that joins nothing has every column. */
async function columnsOf(tx: Tx, table: string): Promise<string[]> {
  const { rows } = await sql<object>`
    select t.* from (select 1 as one) as single left join ${sql.table(table)} as t on 1 = 0`.execute(tx.db);
  return Object.keys(rows[0] ?? {});
}

async function* chunksOf(tx: Tx, table: string): AsyncGenerator<Record<string, unknown>[]> {
  let chunk: Record<string, unknown>[] = [];
  for await (const row of tx.db
    .selectFrom(table as never)
    .selectAll()
    .stream(rowsPerChunk)) {
    chunk.push(row as Record<string, unknown>);
    if (chunk.length === rowsPerChunk) {
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}

/** Without it, a crash of the machine could forget the file's new name. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function told(error: unknown, file: string): unknown {
  const { code, name, message, syscall } = error as NodeJS.ErrnoException;
  if (name === "AbortError") return conflict("The backup was stopped. Nothing was written.");
  // Only the file system's errors carry a system call; the database's come as they are.
  if (code === undefined || syscall === undefined) return error;
  return conflict(
    `The backup can't be written to ${file} (${message}). Check the folder, its permissions and its space.`,
  );
}
