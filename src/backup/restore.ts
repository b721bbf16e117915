/** Verifies backups, and loads one of this or an older version into an empty database in a single transaction. */
import { type CompiledQuery, sql } from "kysely";
import type { Database, Tx } from "../database/database.ts";
import type { Vault } from "../database/vault.ts";
import {
  appliedIn,
  createMigrationsTable,
  migrateIn,
  migrations,
  withSetupLock,
  unknownMigrations,
} from "../database/migrate.ts";
import { conflict } from "../kernel/errors.ts";
import { camel } from "../kernel/names.ts";
import { counted } from "../kernel/text.ts";
import { type BackupObject, objectIn } from "./contents.ts";
import {
  type BackupFooter,
  type BackupHeader,
  type BackupProgress,
  SecretChecker,
  type BackupSection,
  type ObjectTotals,
  tablesAfter,
  prefilledTables,
  type BackupValue,
} from "./format.ts";
import { readBackup } from "./read.ts";

export interface VerifiedBackup {
  readonly header: BackupHeader;
  readonly rows: BackupFooter["rows"];
  readonly keyIds: readonly string[];
  readonly secrets: number;
  readonly objects: ObjectTotals;
}

/** Sees every object that the rows of a backup without contents need. Throws `conflict`. */
export interface ObjectChecker {
  check(object: BackupObject): Promise<void>;
  finish(): Promise<void>;
}

/** Writes nothing. Throws `conflict` if this version, these keys or these objects can't restore the file. */
export async function verifyBackup(
  file: string,
  progress: BackupProgress,
  vault?: Vault,
  objectChecker?: ObjectChecker,
): Promise<VerifiedBackup> {
  const check = vault && new SecretChecker(vault, file);
  let header: BackupHeader | undefined;
  let footer: BackupFooter | undefined;
  let section: BackupSection = { table: "", columns: [] };
  let rows = 0;
  for await (const part of readBackup(file)) {
    if (part.kind === "header") {
      refuseNewerSchema(part.header, file);
      header = part.header;
    } else if (part.kind === "section") {
      ({ section } = part);
      rows = 0;
      check?.begin(part.section);
    } else if (part.kind === "row") {
      rows += 1;
      check?.row(part.values);
      const object = objectChecker && objectIn(section, part.values);
      if (object !== undefined) await objectChecker?.check(object);
      progress(section.table, rows);
    } else footer = part.footer;
  }
  if (header === undefined || footer === undefined) throw new Error("a backup ended without its last line");
  await objectChecker?.finish();
  const { rows: counts, keyIds = [header.keyId], objects = {} } = footer;
  return { header, rows: counts, keyIds, objects, secrets: check?.count ?? 0 };
}

function refuseNewerSchema({ migrations: applied, cadastre }: BackupHeader, file: string): void {
  if (unknownMigrations(applied).length > 0)
    throw conflict(
      `The backup ${file} was written by a newer version of Cadastre (${cadastre}). Restore it with that version.`,
    );
}

/** `afterLoad` is part of the transaction. Throws `conflict` and writes nothing if the database is not empty or has a newer schema than the file. */
export async function loadBackup(
  database: Database,
  { file, header }: { readonly file: string; readonly header: BackupHeader },
  progress: BackupProgress,
  afterLoad: (tx: Tx) => Promise<void>,
): Promise<void> {
  const schemaOfFile = migrations.filter(({ name }) => header.migrations.includes(name));
  // A transaction that is retried reads the file again from its start.
  const load = async (tx: Tx) => {
    await createMigrationsTable(tx);
    const applied = await appliedIn(tx);
    await requireEmpty(tx, tablesAfter(applied));
    requireOlderSchema(applied, header, file);
    await migrateIn(tx, schemaOfFile);
    const tables = tablesAfter(header.migrations);
    for (const table of prefilledTables.filter((name) => tables.includes(name)))
      await tx.db.deleteFrom(table as never).execute();
    await loadRows(tx, file, progress);
    const { runDeferredNow } = tx.dialect;
    if (runDeferredNow !== undefined) await sql.raw(runDeferredNow).execute(tx.db);
    await migrateIn(tx, migrations);
    await afterLoad(tx);
  };
  database.fence.disable();
  await withSetupLock(database, load);
  database.fence.setMigrations(migrations.map(({ name }) => name));
}

async function loadRows(tx: Tx, file: string, progress: BackupProgress): Promise<void> {
  const loader = new RowLoader(tx, progress);
  for await (const part of readBackup(file)) {
    if (part.kind === "section") await loader.begin(part.section);
    else if (part.kind === "row") await loader.add(part.values);
    else if (part.kind === "footer") {
      await loader.flush();
      await verifyCounts(tx, part.footer.rows);
    }
  }
}

/** Rows can't be loaded into tables that a later migration changed. */
function requireOlderSchema(
  applied: readonly string[],
  { migrations: ofFile, cadastre }: BackupHeader,
  file: string,
): void {
  const newer = applied.filter((name) => !ofFile.includes(name));
  if (newer.length > 0)
    throw conflict(
      `The database is empty, but has a newer schema (${newer.join(", ")}) than the backup ${file}, which Cadastre ${cadastre} wrote. Set CADASTRE_DATABASE to a database without tables, or for SQLite to a file that doesn't exist. Nothing was written.`,
    );
}

async function requireEmpty(tx: Tx, tables: readonly string[]): Promise<void> {
  for (const table of tables.filter((name) => !prefilledTables.includes(name))) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(tx.db);
    if (rows.length > 0)
      throw conflict(
        `The database is not empty (it has ${table.replaceAll("_", " ")}). A backup can only be restored into an empty database: set CADASTRE_DATABASE to another one.`,
      );
  }
}

async function verifyCounts(tx: Tx, expected: BackupFooter["rows"]): Promise<void> {
  for (const [table, count] of Object.entries(expected)) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(tx.db);
    if (rows[0]?.count !== count)
      throw conflict(
        `The table ${table} has ${rows[0]?.count} of ${counted(count, "row")} after the restore. Nothing was written. Check that nothing else uses the database.`,
      );
  }
}

const rowsPerStatement = 100;
/** SQLite and PostgreSQL limit the parameters of a statement; SQLite to 32,766. */
const parametersMax = 30_000;
const bytesPerStatement = 4 * 1024 * 1024;

class RowLoader {
  readonly #tx: Tx;
  readonly #progress: BackupProgress;
  #section: BackupSection = { table: "", columns: [] };
  #fullStatement: CompiledQuery | undefined;
  #batch: BackupValue[][] = [];
  #batchBytes = 0;
  #rowCount = 0;

  constructor(tx: Tx, progress: BackupProgress) {
    this.#tx = tx;
    this.#progress = progress;
  }

  async begin(section: BackupSection): Promise<void> {
    await this.flush();
    this.#section = section;
    this.#fullStatement = undefined;
    this.#rowCount = 0;
  }

  async add(values: BackupValue[]): Promise<void> {
    this.#batch.push(values);
    for (const value of values)
      this.#batchBytes += typeof value === "object" ? (value?.length ?? 0) : String(value).length;
    if (this.#batch.length >= this.#rowsMax() || this.#batchBytes >= bytesPerStatement) await this.flush();
  }

  async flush(): Promise<void> {
    const batch = this.#batch;
    if (batch.length === 0) return;
    await this.#tx.db.executeQuery({ ...this.#statement(batch.length), parameters: batch.flat() });
    this.#rowCount += batch.length;
    this.#batch = [];
    this.#batchBytes = 0;
    this.#progress(this.#section.table, this.#rowCount);
  }

  #rowsMax(): number {
    return Math.min(rowsPerStatement, Math.floor(parametersMax / this.#section.columns.length));
  }

  /** Compiled once: compiling costs more than running. */
  #statement(rows: number): CompiledQuery {
    if (rows < this.#rowsMax()) return this.#compile(rows);
    this.#fullStatement ??= this.#compile(rows);
    return this.#fullStatement;
  }

  #compile(rows: number): CompiledQuery {
    const { table, columns } = this.#section;
    const row = Object.fromEntries(columns.map((column) => [camel(column), 0]));
    return this.#tx.db
      .insertInto(table as never)
      .values(Array.from({ length: rows }, () => row) as never)
      .compile();
  }
}
