/** Writes a backup of one database snapshot with bounded memory. It renames the temporary file only once it is complete and synced. */
import { createHash, randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { lstat, open, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { sql } from "kysely";
import type { Database, Tx } from "../database/database.ts";
import { appliedIn, unknownMigrations } from "../database/migrate.ts";
import { conflict } from "../kernel/errors.ts";
import { snake } from "../kernel/names.ts";
import { now } from "../kernel/time.ts";
import {
  encodeRow,
  type BackupFooter,
  formatName,
  formatVersion,
  type BackupHeader,
  keyIdsIn,
  type BackupProgress,
  type BackupSection,
  tablesAfter,
  type BackupValue,
} from "./format.ts";

const rowsPerChunk = 64;

export interface BackupRequest {
  readonly database: Database;
  readonly file: string;
  readonly keyId: string;
  readonly version: string;
  readonly progress: BackupProgress;
  readonly signal?: AbortSignal;
}

export interface BackupResult {
  readonly rows: BackupFooter["rows"];
  readonly bytes: number;
}

/** Replaces an existing file. Throws `conflict` if it can't be written or was aborted. */
export async function writeBackup(request: BackupRequest): Promise<BackupResult> {
  const { file, signal } = request;
  const temporary = `${file}.${randomBytes(4).toString("hex")}.partial`;
  try {
    await requirePlainFile(file);
    const totals: BackupTotals = { rows: {}, keyIds: new Set() };
    await request.database.snapshot((tx) =>
      pipeline(
        Readable.from(withFooter(lines(tx, request, totals), totals)),
        createGzip(),
        createWriteStream(temporary, { flags: "wx", mode: 0o600, flush: true }),
        { signal },
      ),
    );
    const { size } = await stat(temporary);
    await rename(temporary, file);
    await syncFolder(dirname(resolve(file)));
    return { rows: totals.rows, bytes: size };
  } catch (error) {
    // The first error is more useful.
    await rm(temporary, { force: true }).catch(() => {});
    throw describeError(error, file);
  }
}

/** The rename would also replace a device or a link. */
async function requirePlainFile(file: string): Promise<void> {
  const found = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (found !== undefined && !found.isFile())
    throw conflict(
      `The backup can't be written to ${file}, because it exists and is not a regular file. Use another path, or remove it.`,
    );
}

interface BackupTotals {
  readonly rows: Record<string, number>;
  readonly keyIds: Set<string>;
}

async function* lines(tx: Tx, request: BackupRequest, { rows, keyIds }: BackupTotals): AsyncGenerator<string> {
  // Taken before the snapshot, which contains everything that was committed by then.
  const createdAt = now();
  // The first statement starts the snapshot.
  const applied = await appliedIn(tx);
  refuseUnknownTables(applied);
  const header: BackupHeader = {
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
    const section: BackupSection = { table, columns: columns.map(snake) };
    yield line(section);
    rows[table] = 0;
    for await (const chunk of chunksOf(tx, table)) {
      const values = chunk.map((row) => columns.map((column) => row[column] as BackupValue));
      for (const id of values.flatMap(keyIdsIn)) keyIds.add(id);
      yield* inPieces(values);
      rows[table] += chunk.length;
      request.progress(table, rows[table]);
    }
  }
}

/** This version doesn't know all tables of a newer schema, even of a compatible one. */
function refuseUnknownTables(applied: readonly string[]): void {
  const unknown = unknownMigrations(applied);
  if (unknown.length > 0)
    throw conflict(
      `The database has the schema of a newer version of Cadastre (it has ${unknown.join(", ")}), so a backup by this version would be incomplete. Use that newer version.`,
    );
}

/** Short, so that the server can answer requests in between. */
const pieceLength = 256 * 1024;

function* inPieces(rows: readonly BackupValue[][]): Generator<string> {
  let piece = "";
  for (const row of rows) {
    piece += `${encodeRow(row)}\n`;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}

async function* withFooter(text: AsyncIterable<string>, { rows, keyIds }: BackupTotals): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  for await (const part of text) {
    const bytes = Buffer.from(part);
    hash.update(bytes);
    yield bytes;
  }
  const footer: BackupFooter = { rows, keyIds: [...keyIds].toSorted(), sha256: hash.digest("hex") };
  yield Buffer.from(line(footer));
}

const line = (value: object) => `${JSON.stringify(value)}\n`;

/** Works for empty tables too: an outer join without a match still has every column. */
async function columnsOf(tx: Tx, table: string): Promise<string[]> {
  const { rows } = await sql<object>`
    select t.* from (select 1 as one) as one_row left join ${sql.table(table)} as t on 1 = 0`.execute(tx.db);
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

/** Makes the rename durable. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function describeError(error: unknown, file: string): unknown {
  const { code, name, message, syscall } = error as NodeJS.ErrnoException;
  if (name === "AbortError") return conflict("The backup was stopped. Nothing was written.");
  // Only errors of the file system have a `syscall`.
  if (code === undefined || syscall === undefined) return error;
  return conflict(
    `The backup can't be written to ${file} (${message}). Check the directory, its permissions and the free space.`,
  );
}
