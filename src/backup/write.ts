/** Writes a backup of one database snapshot with bounded memory. It renames the temporary file only once it is complete and synced. */
import { createHash, randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { lstat, open, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type RawBuilder, sql } from "kysely";
import type { Database, Tx } from "../database/database.ts";
import { appliedIn, unknownMigrations } from "../database/migrate.ts";
import { objects } from "../database/migrations/0050-objects.ts";
import { conflict } from "../kernel/errors.ts";
import { snake } from "../kernel/names.ts";
import { now } from "../kernel/time.ts";
import {
  chunksTable,
  contentsTable,
  objectIn,
  ObjectList,
  type ObjectReader,
  rowsToBackUp,
  withObject,
  withoutObject,
} from "./contents.ts";
import {
  encodeRow,
  type BackupFooter,
  formatName,
  formatVersion,
  type BackupHeader,
  keyIdsIn,
  type BackupProgress,
  type BackupSection,
  type ObjectTotals,
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
  /** Reads what is in an object store. Undefined: the backup only says which objects its rows need. */
  readonly readObject: ObjectReader | undefined;
  readonly signal?: AbortSignal;
}

export interface BackupResult {
  readonly rows: BackupFooter["rows"];
  readonly bytes: number;
  readonly objects: ObjectTotals;
}

/** Replaces an existing file. Throws `conflict` if it can't be written or was aborted. */
export async function writeBackup(request: BackupRequest): Promise<BackupResult> {
  const { file, signal } = request;
  const temporary = `${file}.${randomBytes(4).toString("hex")}.partial`;
  const list = new ObjectList(`${temporary}.objects`);
  try {
    await requirePlainFile(file);
    const totals: BackupTotals = { rows: {}, keyIds: new Set(), objects: {}, chunkColumns: [] };
    const output = new BackupOutput(temporary, signal);
    await output.closingOnFailure(async () => {
      await request.database.snapshot((tx) => output.add(rowLines(tx, request, totals, list)));
      // After the snapshot: no transaction is open during calls to the store. Removed objects stay for some days.
      await output.add(objectLines(request, totals, list));
      await output.end(totals);
    });
    const { size } = await stat(temporary);
    await rename(temporary, file);
    await syncFolder(dirname(resolve(file)));
    return { rows: totals.rows, bytes: size, objects: totals.objects };
  } catch (error) {
    // The first error is more useful.
    await rm(temporary, { force: true }).catch(() => {});
    throw describeError(error, file);
  } finally {
    await list.remove().catch(() => {});
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
  objects: ObjectTotals;
  chunkColumns: readonly string[];
}

/** Ends with the section of chunks, to which those of objects are added. */
async function* rowLines(
  tx: Tx,
  request: BackupRequest,
  totals: BackupTotals,
  list: ObjectList,
): AsyncGenerator<string> {
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
  const hasPlaces = applied.includes(objects.name);
  const tables = tablesAfter(applied);
  for (const table of hasPlaces ? [...tables.filter((name) => name !== chunksTable), chunksTable] : tables) {
    const columns = await columnsOf(tx, table);
    const section: BackupSection = { table, columns: columns.map(snake) };
    yield line(section);
    totals.rows[table] = 0;
    if (table === chunksTable) totals.chunkColumns = section.columns;
    const where = hasPlaces ? rowsToBackUp(table, request.readObject !== undefined) : sql`1 = 1`;
    for await (const chunk of chunksOf(tx, table, where)) {
      const values = chunk.map((row) => columns.map((column) => row[column] as BackupValue));
      yield* sectionLines(request, totals, section, await withObjects(request, totals, section, values, list));
    }
  }
}

function* sectionLines(
  request: BackupRequest,
  { rows, keyIds }: BackupTotals,
  { table }: BackupSection,
  values: readonly BackupValue[][],
): Generator<string> {
  for (const id of values.flatMap(keyIdsIn)) keyIds.add(id);
  yield* inPieces(values);
  rows[table] = (rows[table] ?? 0) + values.length;
  request.progress(table, rows[table]);
}

/** Notes which objects the rows need; in a backup that contains them, the rows don't refer to them. */
async function withObjects(
  { readObject }: BackupRequest,
  totals: BackupTotals,
  section: BackupSection,
  values: readonly BackupValue[][],
  list: ObjectList,
): Promise<readonly BackupValue[][]> {
  if (section.table !== contentsTable) return values;
  const rows: BackupValue[][] = [];
  for (const row of values) {
    const object = objectIn(section, row);
    if (object !== undefined && readObject === undefined) {
      totals.objects = withObject(totals.objects, object);
      totals.keyIds.add(object.keyId);
    } else if (object !== undefined) await list.add(object);
    rows.push(object === undefined || readObject === undefined ? row : withoutObject(section, row));
  }
  return rows;
}

async function* objectLines(request: BackupRequest, totals: BackupTotals, list: ObjectList): AsyncGenerator<string> {
  const { readObject } = request;
  if (readObject === undefined) return;
  const section: BackupSection = { table: chunksTable, columns: totals.chunkColumns };
  for await (const { id, organizationId, ...object } of list.read()) {
    let position = 0;
    for await (const bytes of readObject({ id, organizationId, ...object })) {
      const row: Record<string, BackupValue> = { organization_id: organizationId, content_id: id, position, bytes };
      yield* sectionLines(request, totals, section, [section.columns.map((column) => row[column] ?? null)]);
      position += 1;
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

/** The file while it is written. */
class BackupOutput {
  readonly #hash = createHash("sha256");
  readonly #gzip = createGzip();
  readonly #signal: AbortSignal | undefined;
  readonly #written: Promise<void>;

  constructor(file: string, signal: AbortSignal | undefined) {
    this.#signal = signal;
    this.#written = pipeline(this.#gzip, createWriteStream(file, { flags: "wx", mode: 0o600, flush: true }));
    this.#written.catch(() => {});
  }

  async add(text: AsyncIterable<string>): Promise<void> {
    await pipeline(Readable.from(this.#hashed(text)), this.#gzip, { end: false, signal: this.#signal });
  }

  async *#hashed(text: AsyncIterable<string>): AsyncGenerator<Buffer> {
    for await (const part of text) {
      const bytes = Buffer.from(part);
      this.#hash.update(bytes);
      yield bytes;
    }
  }

  async end({ rows, keyIds, objects }: BackupTotals): Promise<void> {
    const footer: BackupFooter = {
      rows,
      keyIds: [...keyIds].toSorted(),
      ...(Object.keys(objects).length > 0 && { objects }),
      sha256: this.#hash.digest("hex"),
    };
    this.#gzip.end(line(footer));
    await this.#written;
  }

  /** An error of the file is the cause of the one that `work` throws. */
  async closingOnFailure(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#gzip.destroy();
      const cause: unknown = await this.#written.catch((fileError: unknown) => fileError);
      throw (cause as NodeJS.ErrnoException | undefined)?.syscall === undefined ? error : cause;
    }
  }
}

const line = (value: object) => `${JSON.stringify(value)}\n`;

/** Works for empty tables too: an outer join without a match still has every column. */
async function columnsOf(tx: Tx, table: string): Promise<string[]> {
  const { rows } = await sql<object>`
    select t.* from (select 1 as one) as one_row left join ${sql.table(table)} as t on 1 = 0`.execute(tx.db);
  return Object.keys(rows[0] ?? {});
}

async function* chunksOf(tx: Tx, table: string, where: RawBuilder<unknown>): AsyncGenerator<Record<string, unknown>[]> {
  let chunk: Record<string, unknown>[] = [];
  for await (const row of tx.db
    .selectFrom(table as never)
    .selectAll()
    .where(where as RawBuilder<boolean>)
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
