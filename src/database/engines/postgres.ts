/**
 * The engine for many servers: PostgreSQL over a pool of connections, every statement prepared by name. This file and
 * `sqlite.ts` are the only ones that import a driver.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from "kysely";
import pg from "pg";
import type { Database } from "../database.ts";
import { postgresDialect } from "../dialect.ts";
import type { Schema } from "../schema/schema.ts";
import { NamesInStatements, rowMaker, type ToRow, toParameter } from "./rows.ts";
import { type Failure, retrying, toAppError } from "./transactions.ts";

interface Statement {
  readonly name: string;
  toRow: ToRow | undefined;
}

/** Past this many different texts, new ones run unprepared: each is memory on every connection of the server. */
const preparedMax = 400;
const poolMax = 12;
const connectTimeoutMs = 5_000;
const statementTimeoutMs = 30_000;

class Statements {
  readonly #known = new Map<string, Statement>();
  count = 0;

  of(text: string): Statement | undefined {
    let statement = this.#known.get(text);
    if (statement === undefined && this.#known.size < preparedMax) {
      statement = { name: `s${this.#known.size}`, toRow: undefined };
      this.#known.set(text, statement);
    }
    return statement;
  }
}

class Connection implements DatabaseConnection {
  readonly client: pg.PoolClient;
  readonly #statements: Statements;

  constructor(client: pg.PoolClient, statements: Statements) {
    this.client = client;
    this.#statements = statements;
  }

  async control(statement: string): Promise<void> {
    await this.client.query(statement);
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    this.#statements.count += 1;
    const statement = this.#statements.of(query.sql);
    try {
      const result = await this.client.query<unknown[]>({
        ...(statement && { name: statement.name }),
        text: query.sql,
        values: query.parameters.map(toParameter),
        rowMode: "array",
      });
      return { rows: toRows<R>(result, statement), numAffectedRows: BigInt(result.rowCount ?? 0) };
    } catch (error) {
      const failure = classify(error);
      throw failure.kind === "retry" ? error : toAppError(error, failure);
    }
  }

  /** By a cursor on the server, so that a table of any size passes through in chunks. */
  async *streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    this.#statements.count += 1;
    await this.client.query({
      text: `DECLARE chunks NO SCROLL CURSOR FOR ${query.sql}`,
      values: query.parameters.map(toParameter),
    });
    for (;;) {
      const result = await this.client.query<unknown[]>({ text: `FETCH ${chunkSize} FROM chunks`, rowMode: "array" });
      if (result.rows.length === 0) break;
      yield { rows: toRows<R>(result, undefined) };
    }
    await this.client.query("CLOSE chunks");
  }
}

function toRows<R>(result: pg.QueryArrayResult<unknown[]>, statement: Statement | undefined): R[] {
  if (result.rows.length === 0) return [];
  const toRow = statement?.toRow ?? rowMaker(result.fields.map((field) => field.name));
  if (statement) statement.toRow = toRow;
  return result.rows.map(toRow) as R[];
}

class PoolDriver implements Driver {
  readonly #pool: pg.Pool;
  readonly #statements: Statements;

  constructor(pool: pg.Pool, statements: Statements) {
    this.#pool = pool;
    this.#statements = statements;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    try {
      return new Connection(await this.#pool.connect(), this.#statements);
    } catch (error) {
      throw toAppError(error, { kind: "unavailable" });
    }
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const snapshot = settings.isolationLevel === "repeatable read";
    await (connection as Connection).control(snapshot ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN");
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as Connection).control("COMMIT");
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await (connection as Connection).control("ROLLBACK");
    } catch {
      // The connection is gone, and the transaction with it.
    }
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as Connection).client.release();
  }

  async destroy(): Promise<void> {
    await this.#pool.end();
  }
}

/** 64-bit integers and numerics as JavaScript numbers: nothing in the register counts past 2^53. */
const numberTypes = new Set([20, 1700]);
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: string) =>
    numberTypes.has(oid) ? Number : pg.types.getTypeParser(oid, format as "text"),
};

export function openPostgres(url: string): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolMax,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    application_name: "cadastre",
    types,
  });
  // An idle connection that dies is replaced by the pool; without a listener its error would end the process.
  pool.on("error", () => {});
  const statements = new Statements();
  const db = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new PoolDriver(pool, statements),
      createIntrospector: (kysely) => new PostgresIntrospector(kysely),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    plugins: [new NamesInStatements()],
  });

  return {
    dialect: postgresDialect,
    reader: { db, dialect: postgresDialect },
    write: (work) =>
      retrying(classify, () => db.transaction().execute((tx) => work({ db: tx, dialect: postgresDialect }))),
    snapshot: (work) =>
      retrying(classify, () =>
        db
          .transaction()
          .setIsolationLevel("repeatable read")
          .execute((tx) => work({ db: tx, dialect: postgresDialect })),
      ),
    statementCount: () => statements.count,
    connections: () => ({ busy: pool.totalCount - pool.idleCount, open: pool.totalCount }),
    close: () => db.destroy(),
  };
}

const networkCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOTFOUND",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENOENT",
]);

function classify(error: unknown): Failure {
  const { code, message, detail } = error as { code?: string; message?: string; detail?: string };
  if (code === "40001" || code === "40P01" || code === "55P03") return { kind: "retry" };
  if (code === "23505") {
    const columns = /^Key \(([^)]*)\)/.exec(detail ?? "")?.[1] ?? "id";
    return { kind: "taken", columns: columns.split(", ").map((column) => column.replaceAll('"', "")) };
  }
  if (code === "23503") return { kind: "orphan" };
  if (code === undefined)
    return /Connection terminated|timeout|not queryable/i.test(message ?? "")
      ? { kind: "unavailable" }
      : { kind: "other" };
  // Class 08: connection; 53: resources; 57P0x: shutting down; 57014: statement timed out; 25P03: idle in transaction; 25006: read-only.
  if (networkCodes.has(code) || /^(08|53|57P0|57014|25P03|25006)/.test(code)) return { kind: "unavailable" };
  return { kind: "other" };
}
