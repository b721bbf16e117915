/** The engine for many servers: PostgreSQL over a pool of connections, of which any may go at any moment. */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type TransactionSettings,
} from "kysely";
import pg from "pg";
import type { Database } from "../database.ts";
import { postgresDialect } from "../dialect.ts";
import type { Schema } from "../schema/schema.ts";
import { type ConnectionOptions, PostgresConnection, Statements } from "./postgres-connection.ts";
import { classify } from "./postgres-failures.ts";
import { Watch } from "./postgres-watch.ts";
import { NamesInStatements } from "./rows.ts";
import { retrying, toAppError, withAfterwards } from "./transactions.ts";
import { Turnstile } from "./turnstile.ts";

const poolMax = 12;
/** Fewer, because they wait for each other's rows: however many do, those who read find a connection. */
const writersMax = 8;

export interface PostgresLimits {
  /** How long to wait for a connection: a new one, or one of the pool. */
  readonly connectMs: number;
  /** After which the database itself gives a statement up, and says so. */
  readonly statementMs: number;
  /** How long a write waits for its turn, while as many as may are writing. */
  readonly turnMs: number;
  /** How long it then waits for a row that others hold. Not shorter than many turns: whoever waits again begins at the end. */
  readonly lockMs: number;
  /** After which we ask whether the database is still at work on a statement. */
  readonly suspectMs: number;
  /** How long it may take to be asked that. */
  readonly answerMs: number;
}

const limitsByDefault: PostgresLimits = {
  connectMs: 5_000,
  statementMs: 30_000,
  turnMs: 20_000,
  lockMs: 15_000,
  suspectMs: 3_000,
  answerMs: 3_000,
};
/** How much longer than the database itself we wait for it to give a statement up. */
const graceMs = 2_000;
const idleInTransactionMs = 30_000;
const keepAliveMs = 10_000;

class PoolDriver implements Driver {
  readonly #options: ConnectionOptions;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return PostgresConnection.open(this.#options);
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const isReading = settings.isolationLevel === "repeatable read";
    const begin = isReading ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN";
    const isPatient = this.#options.limitMs === undefined;
    await (connection as PostgresConnection).begin(
      isPatient ? `${begin}; ${withoutLimits}` : begin,
      isReading ? "reading" : "writing",
    );
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as PostgresConnection).commit();
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as PostgresConnection).rollback();
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as PostgresConnection).release();
  }

  /** The pool is not this driver's alone. */
  async destroy(): Promise<void> {}
}

const withoutLimits = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
  .map((setting) => `SET LOCAL ${setting} = 0`)
  .join("; ");

/** 64-bit integers and numerics as JavaScript numbers: nothing in the register counts past 2^53. */
const numberTypes = new Set([20, 1700]);
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: string) =>
    numberTypes.has(oid) ? Number : pg.types.getTypeParser(oid, format as "text"),
};

function newPool(url: string, { connectMs, statementMs, lockMs }: PostgresLimits): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolMax,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    application_name: "cadastre",
    types,
  });
  // A connection that dies is replaced, and whoever uses it is told by the statement under way. Without a listener its
  // error would end the process: the pool's is for idle connections, the client's own for those that somebody has.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

function kyselyOn(driver: Driver): Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (kysely) => new PostgresIntrospector(kysely),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    plugins: [new NamesInStatements()],
  });
}

/** A transaction that ends by ROLLBACK, and answers all the same. */
async function takenBack<T>(db: Kysely<Schema>, work: (tx: Kysely<Schema>) => Promise<T>): Promise<T> {
  let answer: { readonly value: T } | undefined;
  const done = new Error("what was rehearsed is taken back");
  try {
    await db.transaction().execute(async (tx) => {
      answer = { value: await work(tx) };
      throw done;
    });
  } catch (error) {
    if (error !== done || answer === undefined) throw error;
  }
  return (answer as { readonly value: T }).value;
}

export function openPostgres(url: string, limits: PostgresLimits = limitsByDefault): Database {
  const pool = newPool(url, limits);
  const statements = new Statements();
  const { suspectMs, answerMs, statementMs } = limits;
  const common = { statements, suspectMs, watch: new Watch({ url, answerMs }), connect: () => pool.connect() };
  const options = { ...common, limitMs: statementMs + graceMs };
  const db = kyselyOn(new PoolDriver(options));
  const execute = async <Row>(query: CompiledQuery) => {
    const connection = await PostgresConnection.open(options);
    try {
      return await connection.executeQuery<Row>(query);
    } finally {
      connection.release();
    }
  };
  const patient = kyselyOn(new PoolDriver({ ...common, limitMs: undefined }));
  const turnstile = new Turnstile(writersMax, limits.turnMs);
  let closed: Promise<void> | undefined;

  return {
    dialect: postgresDialect,
    reader: { db, dialect: postgresDialect, execute },
    write: (work, { isPatient = false } = {}) => {
      const run = () =>
        withAfterwards((afterwards) =>
          (isPatient ? patient : db)
            .transaction()
            .execute((tx) => work({ db: tx, dialect: postgresDialect, afterwards })),
        );
      return retrying(classify, isPatient ? run : () => turnstile.through(run));
    },
    rehearse: (work) =>
      retrying(classify, () =>
        turnstile.through(() => takenBack(db, (tx) => work({ db: tx, dialect: postgresDialect }))),
      ),
    snapshot: async (work) => {
      try {
        return await patient
          .transaction()
          .setIsolationLevel("repeatable read")
          .execute((tx) => work({ db: tx, dialect: postgresDialect }));
      } catch (error) {
        throw toAppError(error, classify(error));
      }
    },
    moment: () => undefined,
    statementCount: () => statements.count,
    commitCount: () => statements.commits,
    connections: () => ({ busy: pool.totalCount - pool.idleCount, open: pool.totalCount }),
    close: () => (closed ??= pool.end()),
  };
}
