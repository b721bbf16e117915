/** The SQLite engine: `node:sqlite`, one writer and separate readers on one file in WAL mode. */
import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { CommitCheck, Database, Tx } from "../database.ts";
import { sqliteDialect } from "../dialect.ts";
import { Fence, type FenceState, fenceStateStatement } from "../fence.ts";
import { ObservedCommits } from "../observed-commits.ts";
import type { Schema } from "../schema/schema.ts";
import { DurableCommits, type SyncFile } from "./durable-commits.ts";
import { refuseDamagedLog, refuseEmptied } from "./log-check.ts";
import { NamesInStatements, rowMaker, type ToRow, toParameters } from "./rows.ts";
import { GroupCommit } from "./group-commit.ts";
import { withCommitCheck, type Failure, retrying, toAppError, withAfterCommit } from "./transactions.ts";

interface StatementCounter {
  statements: number;
}

interface CachedStatement {
  readonly statement: StatementSync;
  toRow: ToRow | undefined;
  width: number;
}

interface SqliteChanges {
  readonly count: number;
  /** The argument, if there are none. */
  readonly last: number;
  readonly organizationIds: readonly string[];
}

const changesStatement = `SELECT count(*), coalesce(max(id), ?), group_concat(DISTINCT organization_id)
  FROM organization_changes WHERE id > ?`;

const preparedMax = 500;

/** Short, because waiting blocks the process; `retrying` waits longer without blocking. */
const busyTimeoutMs = 20;

class SqliteConnection implements DatabaseConnection {
  readonly #file: DatabaseSync;
  readonly #counter: StatementCounter;
  readonly #prepared = new Map<string, CachedStatement>();
  readonly #inTransactions: boolean;
  readonly #dataVersion: StatementSync;
  readonly #log: StatementSync;
  check: CommitCheck | undefined;

  constructor(path: string, counter: StatementCounter, { inTransactions }: { readonly inTransactions: boolean }) {
    this.#inTransactions = inTransactions;
    this.#file = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
    restrictToOwner(path);
    this.#counter = counter;
    this.#dataVersion = this.#file.prepare("PRAGMA data_version");
    this.#dataVersion.setReturnArrays(true);
    // NOOP only reads. An older SQLite checkpoints the log instead, which is correct but slower.
    this.#log = this.#file.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#log.setReturnArrays(true);
    this.control("PRAGMA journal_mode = WAL");
    this.control("PRAGMA synchronous = FULL");
    // Small, because the operating system caches the file, and large contents would evict everything.
    this.control("PRAGMA cache_size = -8192");
    this.control("PRAGMA temp_store = MEMORY");
    // Makes REPLACE fire the triggers that refuse removal.
    this.control("PRAGMA recursive_triggers = ON");
    this.#file.aggregate("bit_or", {
      start: null as number | null,
      step: (sum: number | null, value: SQLInputValue) => (value === null ? sum : (sum ?? 0) | Number(value)),
    } as never);
  }

  dataVersion(): number {
    try {
      return (this.#dataVersion.get() as unknown as [number])[0];
    } catch (error) {
      throw toAppError(error, classify(error));
    }
  }

  fenceState(): FenceState {
    const [migrations, retiredKeys, compatible, readyMigration] = this.#prepare(
      fenceStateStatement,
    ).statement.get() as unknown as [number, string | null, string | null, string | null];
    return { migrations, retiredKeys, compatible, readyMigration };
  }

  /** Before the migration that creates the table, a count that fits nothing. */
  changesAfter(id: number): SqliteChanges {
    try {
      const [count, last, ids] = this.#prepare(changesStatement).statement.get(id, id) as unknown as [
        number,
        number,
        string | null,
      ];
      return { count, last, organizationIds: ids === null ? [] : ids.split(",") };
    } catch (error) {
      if (classify(error).kind !== "other") throw toAppError(error, classify(error));
      return { count: -1, last: id, organizationIds: [] };
    }
  }

  pagesInLog(): number {
    const [, inLog, checkpointed] = this.#log.get() as unknown as [number, number, number];
    return inLog - checkpointed;
  }

  control(statement: string): void {
    this.#prepare(statement).statement.run();
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const result = this.#execute<R>(query);
    this.check?.note(query, result);
    return result;
  }

  #execute<R>(query: CompiledQuery): QueryResult<R> {
    this.#counter.statements += 1;
    // An error can end a transaction; later statements would then be committed one by one.
    if (this.#inTransactions && !this.#file.isTransaction)
      throw new Error("a statement ran after its transaction had ended");
    try {
      const prepared = this.#prepare(query.sql);
      const parameters = toParameters(query.parameters) as SQLInputValue[];
      if (prepared.toRow === undefined) {
        return { rows: [], numAffectedRows: BigInt(prepared.statement.run(...parameters).changes) };
      }
      const rows = prepared.statement.all(...parameters) as unknown as unknown[][];
      // A column was added to a table that is selected with `*`.
      if (rows.length > 0 && rows[0]?.length !== prepared.width) Object.assign(prepared, shapeOf(prepared.statement));
      return { rows: rows.map(prepared.toRow) as R[] };
    } catch (error) {
      const failure = classify(error);
      throw failure.kind === "retry" && this.#inTransactions ? error : toAppError(error, failure);
    }
  }

  async *streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    this.#counter.statements += 1;
    // Not a cached statement, because another use of it would disturb the iteration.
    const statement = this.#file.prepare(query.sql);
    statement.setReturnArrays(true);
    const toRow = rowMaker(statement.columns().map((column) => column.name));
    let rows: R[] = [];
    for (const values of statement.iterate(...(toParameters(query.parameters) as SQLInputValue[]))) {
      rows.push(toRow(values as unknown as unknown[]) as R);
      if (rows.length === chunkSize) {
        yield { rows };
        rows = [];
      }
    }
    if (rows.length > 0) yield { rows };
  }

  close(): void {
    this.#prepared.clear();
    this.#file.close();
  }

  #prepare(text: string): CachedStatement {
    let prepared = this.#prepared.get(text);
    if (prepared === undefined) {
      const statement = this.#file.prepare(withLimitExpressions(text));
      statement.setReturnArrays(true);
      prepared = { statement, ...shapeOf(statement) };
      if (this.#prepared.size === preparedMax) this.#prepared.delete(this.#prepared.keys().next().value ?? "");
    } else {
      this.#prepared.delete(text);
    }
    this.#prepared.set(text, prepared);
    return prepared;
  }
}

function shapeOf(statement: StatementSync): Omit<CachedStatement, "statement"> {
  const names = statement.columns().map((column) => column.name);
  return { toRow: names.length === 0 ? undefined : rowMaker(names), width: names.length };
}

/** SQLite replans a statement whenever a bound LIMIT changes, but not for an expression. */
const withLimitExpressions = (text: string): string => text.replaceAll(/\blimit \?/gi, "limit cast(? as integer)");

class SnapshotIds {
  readonly commits = new ObservedCommits();
  readonly #reading: SqliteConnection;
  readonly #writing: SqliteConnection;
  #version: number;
  #id = 1;
  #lastChange = 0;

  constructor(reading: SqliteConnection, writing: SqliteConnection) {
    this.#reading = reading;
    this.#writing = writing;
    this.#version = reading.dataVersion();
    this.#readChanges();
  }

  now(): number {
    const version = this.#reading.dataVersion();
    if (version !== this.#version) {
      this.#version = version;
      this.#id += 1;
      this.#readChanges();
    }
    return this.#id;
  }

  #readChanges(): void {
    const { count, last, organizationIds } = this.#reading.changesAfter(this.#lastChange);
    // Rows are numbered without gaps: if some are missing, the job has trimmed the table since.
    if (last - this.#lastChange === count) this.commits.recordChanges(organizationIds, this.#id);
    else this.commits.recordChangeOfEverything(this.#id);
    this.#lastChange = last;
  }

  /** Call before COMMIT, and the returned function after it: then the commit does not change the id, unless another process committed too. */
  keepAcrossCommit(): () => void {
    this.now();
    const others = this.#writing.dataVersion();
    return () => {
      const version = this.#reading.dataVersion();
      if (this.#writing.dataVersion() === others) this.#version = version;
    };
  }
}

class SingleConnectionDriver implements Driver {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }
  async releaseConnection(): Promise<void> {}
  async beginTransaction(): Promise<void> {
    this.#connection.control("BEGIN");
  }
  async commitTransaction(): Promise<void> {
    this.#connection.control("COMMIT");
  }
  async rollbackTransaction(): Promise<void> {
    this.#connection.control("ROLLBACK");
  }
  async destroy(): Promise<void> {
    this.#connection.close();
  }
}

function kyselyOn(connection: SqliteConnection): Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new SingleConnectionDriver(connection),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    plugins: [new NamesInStatements()],
  });
}

/** Before the log exists, because SQLite gives it the database's mode. Also fixes files of older versions. */
function restrictToOwner(path: string): void {
  chmodSync(path, 0o600);
  for (const file of [`${path}-wal`, `${path}-shm`]) {
    try {
      chmodSync(file, 0o600);
    } catch (error) {
      // There is none, or the last process has just removed it.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

async function withSnapshot<T>(
  connection: SqliteConnection,
  work: (connection: SqliteConnection) => Promise<T>,
): Promise<T> {
  try {
    connection.control("BEGIN");
    return await work(connection);
  } finally {
    connection.close();
  }
}

export function openSqlite(path: string, sync?: SyncFile): Database {
  refuseDamagedLog(path);
  refuseEmptied(path);
  if (!existsSync(path)) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const counter: StatementCounter = { statements: 0 };
  const connect = (inTransactions: boolean) => new SqliteConnection(path, counter, { inTransactions });
  const [writing, reading] = [connect(true), connect(false)];
  const txOn = (connection: SqliteConnection): Tx => ({
    db: kyselyOn(connection),
    dialect: sqliteDialect,
    execute: (query) => connection.executeQuery(query),
  });
  const [writer, reader] = [txOn(writing), txOn(reading)];
  const snapshotIds = new SnapshotIds(reading, writing);
  const control = (statement: string) => writing.control(statement);
  const durable = new DurableCommits(path, { writing, reading }, sync);
  const commit = (keepsCache: boolean) => durable.commit(keepsCache ? snapshotIds.keepAcrossCommit() : undefined);
  const checkpointIfDue = () => durable.checkpointIfDue();
  const fence = new Fence();
  const checkFence = () => {
    if (fence.isEnabled) fence.check(writing.fenceState());
  };
  const transaction = { control, checkFence, commit, checkpointIfDue };
  const commits = new GroupCommit(transaction, (error) => classify(error).kind === "retry");
  const close = async () => {
    await durable.close();
    for (const connection of [reading, writing]) connection.close();
  };
  let closed: Promise<void> | undefined;

  return {
    dialect: sqliteDialect,
    fence,
    reader,
    write: (work, { keepsCache, commitCheck } = {}) =>
      retrying(classify, () =>
        withAfterCommit((afterCommit) =>
          commits.write(
            () => withCommitCheck(writing, commitCheck, () => work({ ...writer, afterCommit })),
            keepsCache,
          ),
        ),
      ),
    runAndRollBack: (work) => retrying(classify, () => commits.runAndRollBack(() => work(writer))),
    snapshot: (work) => withSnapshot(connect(true), (connection) => work(txOn(connection))),
    snapshotId: () => snapshotIds.now(),
    newestSnapshotId: () => snapshotIds.now(),
    commits: snapshotIds.commits,
    statementCount: () => counter.statements,
    commitCount: () => commits.commits,
    connections: () => ({ busy: commits.isWriting ? 1 : 0, open: 2 }),
    close: () => (closed ??= commits.idle().then(close)),
  };
}

const primaryCode = (code: number) => code & 0xff;

function classify(error: unknown): Failure {
  const { errcode, message } = error as { errcode?: number; message?: string };
  if (errcode === undefined || message === undefined) return { kind: "other" };
  switch (primaryCode(errcode)) {
    case 5: // busy
    case 6: // locked
      return { kind: "retry" };
    case 8: // read-only
    case 14: // can't open
      return { kind: "unavailable" };
    case 10: // input or output failed
      return { kind: "disk-failed" };
    case 13:
      return { kind: "disk-full" };
    case 11: // malformed
    case 26: // not a database
      return { kind: "damaged" };
    case 19: {
      const columns = /UNIQUE constraint failed: (.*)$/.exec(message)?.[1];
      if (columns !== undefined) {
        return { kind: "unique-violation", columns: columns.split(", ").map((column) => column.replace(/^.*\./, "")) };
      }
      return message.includes("FOREIGN KEY") ? { kind: "foreign-key-violation" } : { kind: "other" };
    }
    default:
      return { kind: "other" };
  }
}
