/** The PostgreSQL engine: a pool of connections, each of which can fail at any time. */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  sql,
  type TransactionSettings,
} from "kysely";
import pg from "pg";
import { type Database, LockTimeout } from "../database.ts";
import { AppError } from "../../kernel/errors.ts";
import { postgresDialect } from "../dialect.ts";
import { Fence } from "../fence.ts";
import type { Schema } from "../schema/schema.ts";
import { type ConnectionOptions, PostgresConnection, Statements } from "./postgres-connection.ts";
import { classify } from "./postgres-failures.ts";
import { isPooled } from "./postgres-pooler.ts";
import { BackendMonitor } from "./backend-monitor.ts";
import { PostgresCommits } from "./postgres-commits.ts";
import { postgresTypes } from "./postgres-statement.ts";
import { NamesInStatements } from "./rows.ts";
import { withCommitCheck, retrying, toAppError, withAfterCommit } from "./transactions.ts";
import { Semaphore } from "./semaphore.ts";

/** Fewer writers than connections, so that readers find a connection while writers wait for each other's rows. */
const writersOf = (connections: number) => Math.floor((connections * 2) / 3);

export interface PostgresLimits {
  readonly connections: number;
  readonly connectMs: number;
  readonly statementTimeoutMs: number;
  /** How long a write waits for a slot among the writers. */
  readonly writerSlotTimeoutMs: number;
  /** How long a write waits for a locked row: not much shorter than `writerSlotTimeoutMs`, because a retry queues again. */
  readonly lockTimeoutMs: number;
  readonly backendCheckIntervalMs: number;
  readonly backendCheckTimeoutMs: number;
}

const defaultLimits: PostgresLimits = {
  connections: 12,
  connectMs: 5_000,
  statementTimeoutMs: 30_000,
  writerSlotTimeoutMs: 20_000,
  lockTimeoutMs: 15_000,
  backendCheckIntervalMs: 3_000,
  backendCheckTimeoutMs: 3_000,
};
/** The server's own timeout should end a statement first. */
const graceMs = 2_000;
const idleInTransactionMs = 30_000;
const keepAliveMs = 10_000;

class PoolDriver implements Driver {
  readonly #options: ConnectionOptions;
  readonly #pool: PostgresPool;

  constructor(options: ConnectionOptions, pool: PostgresPool) {
    this.#options = options;
    this.#pool = pool;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return PostgresConnection.open(this.#options);
  }

  async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const isReading = settings.isolationLevel === "repeatable read";
    const begin = isReading ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN";
    const hasNoTimeout = this.#options.limitMs === undefined;
    (connection as PostgresConnection).begin(
      [begin, ...(hasNoTimeout ? withoutLimits : this.#pool.limitsInTransactions)],
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

  /** The pool is shared with another driver. */
  async destroy(): Promise<void> {}
}

const limitSettings = (
  { statementTimeoutMs, lockTimeoutMs }: Pick<PostgresLimits, "statementTimeoutMs" | "lockTimeoutMs">,
  idleMs = idleInTransactionMs,
) => ({
  statement_timeout: statementTimeoutMs,
  lock_timeout: lockTimeoutMs,
  idle_in_transaction_session_timeout: idleMs,
});

const setLocally = (settings: Readonly<Record<string, number>>): string[] =>
  Object.entries(settings).map(([setting, ms]) => `SET LOCAL ${setting} = ${ms}`);
const withoutLimits = setLocally(limitSettings({ statementTimeoutMs: 0, lockTimeoutMs: 0 }, 0));

function newPool(url: string, limits: PostgresLimits, isBehindPooler: boolean, commits: PostgresCommits): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: limits.connections,
    connectionTimeoutMillis: limits.connectMs,
    ...(!isBehindPooler && limitSettings(limits)),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    application_name: "cadastre",
    // Statements are sent without waiting for the responses to earlier ones.
    pipeline: true,
    types: postgresTypes,
  });
  // Without listeners an error would end the process: the pool's is for idle connections, the client's for those in use.
  pool.on("error", () => commits.forget());
  pool.on("connect", (client) => client.on("error", () => commits.forget()));
  return pool;
}

class PostgresPool {
  readonly #url: string;
  readonly #limits: PostgresLimits;
  readonly #statements: Statements;
  readonly #monitor: BackendMonitor;
  readonly #commits: PostgresCommits;
  #opening: Promise<pg.Pool> | undefined;
  #pool: pg.Pool | undefined;
  /** Behind a pooler the connection can't set timeouts, so each transaction does. */
  limitsInTransactions: readonly string[] = [];

  constructor(
    url: string,
    limits: PostgresLimits,
    { statements, monitor, commits }: { statements: Statements; monitor: BackendMonitor; commits: PostgresCommits },
  ) {
    this.#url = url;
    this.#limits = limits;
    this.#statements = statements;
    this.#monitor = monitor;
    this.#commits = commits;
  }

  async connect(): Promise<pg.PoolClient> {
    const pool = this.#pool ?? (await (this.#opening ??= this.#open()));
    return pool.connect();
  }

  async runAlone(statement: string): Promise<void> {
    const client = await this.connect();
    try {
      // A pooler would keep the setting for others.
      if (this.limitsInTransactions.length === 0) await client.query("SET statement_timeout = 0; SET lock_timeout = 0");
      await client.query(statement);
    } finally {
      client.release(true);
    }
  }

  counts(): { readonly busy: number; readonly open: number } {
    const { totalCount: open = 0, idleCount: idle = 0 } = this.#pool ?? {};
    return { busy: open - idle, open };
  }

  async end(): Promise<void> {
    const pool = await this.#opening?.catch(() => undefined);
    await pool?.end();
  }

  async #open(): Promise<pg.Pool> {
    try {
      const isBehindPooler = await isPooled({ url: this.#url, connectMs: this.#limits.connectMs });
      if (isBehindPooler) {
        this.limitsInTransactions = setLocally(limitSettings(this.#limits));
        this.#statements.isUnprepared = true;
        this.#monitor.isDisabled = true;
      }
      return (this.#pool = newPool(this.#url, this.#limits, isBehindPooler, this.#commits));
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }
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

function raiseLockTimeout(error: unknown): never {
  const isTimeout =
    error instanceof AppError && error.internal !== undefined && classify(error.internal).kind === "busy";
  throw isTimeout ? new LockTimeout("a lock was not granted in time") : error;
}

const connectionOf = (tx: Kysely<Schema>): Promise<PostgresConnection> =>
  tx.getExecutor().provideConnection(async (connection) => connection as PostgresConnection);

async function rolledBack<T>(db: Kysely<Schema>, work: (tx: Kysely<Schema>) => Promise<T>): Promise<T> {
  let result: { readonly value: T } | undefined;
  const rollback = new Error("rolled back on purpose");
  try {
    await db.transaction().execute(async (tx) => {
      result = { value: await work(tx) };
      await (await connectionOf(tx)).waitForBegin();
      throw rollback;
    });
  } catch (error) {
    if (error !== rollback || result === undefined) throw error;
  }
  return (result as { readonly value: T }).value;
}

async function executeAlone<Row>(
  options: Parameters<typeof PostgresConnection.open>[0],
  query: CompiledQuery,
): Promise<QueryResult<Row>> {
  const connection = await PostgresConnection.open(options);
  try {
    return await connection.executeQuery<Row>(query);
  } finally {
    connection.release();
  }
}

export function openPostgres(url: string, overrides: Partial<PostgresLimits> = {}): Database {
  const limits = { ...defaultLimits, ...overrides };
  const statements = new Statements();
  const monitor = new BackendMonitor({ url, backendCheckTimeoutMs: limits.backendCheckTimeoutMs });
  const commits = new PostgresCommits();
  const pool = new PostgresPool(url, limits, { statements, monitor, commits });
  const { backendCheckIntervalMs, statementTimeoutMs } = limits;
  const fence = new Fence();
  const common = { statements, fence, backendCheckIntervalMs, monitor, connect: () => pool.connect() };
  const options = { ...common, limitMs: statementTimeoutMs + graceMs };
  const db = kyselyOn(new PoolDriver(options, pool));
  const withoutTimeout = kyselyOn(new PoolDriver({ ...common, limitMs: undefined }, pool));
  const semaphore = new Semaphore(writersOf(limits.connections), limits.writerSlotTimeoutMs);
  let closed: Promise<void> | undefined;

  return {
    dialect: postgresDialect,
    fence,
    reader: { db, dialect: postgresDialect, execute: (query) => executeAlone(options, query), commits },
    write: (work, { hasNoTimeout = false, lockWaitMs, commitCheck } = {}) => {
      const attempt = () =>
        withAfterCommit((afterCommit) =>
          (hasNoTimeout ? withoutTimeout : db).transaction().execute(async (tx) => {
            if (lockWaitMs !== undefined) await sql.raw(`SET LOCAL lock_timeout = ${lockWaitMs}`).execute(tx);
            const connection = await connectionOf(tx);
            const execute = <Row>(query: CompiledQuery) => connection.executeQuery<Row>(query);
            const send = (query: CompiledQuery) => connection.send(query);
            const common = { db: tx, dialect: postgresDialect, afterCommit };
            const run = () => work({ ...common, execute, withCommit: { ...common, execute: send } });
            return withCommitCheck(connection, commitCheck, run);
          }),
        );
      const running = retrying(classify, hasNoTimeout ? attempt : () => semaphore.run(attempt));
      return lockWaitMs === undefined ? running : running.catch(raiseLockTimeout);
    },
    runAndRollBack: (work) =>
      retrying(classify, () => semaphore.run(() => rolledBack(db, (tx) => work({ db: tx, dialect: postgresDialect })))),
    snapshot: async (work) => {
      try {
        return await withoutTimeout
          .transaction()
          .setIsolationLevel("repeatable read")
          .execute((tx) => work({ db: tx, dialect: postgresDialect }));
      } catch (error) {
        throw toAppError(error, classify(error));
      }
    },
    runAlone: (statement) => pool.runAlone(statement),
    snapshotId: () => undefined,
    newestSnapshotId: () => commits.newestId,
    commits,
    statementCount: () => statements.count,
    commitCount: () => statements.commits,
    connections: () => pool.counts(),
    close: () => (closed ??= pool.end()),
  };
}
