/** One PostgreSQL connection in use: prepares statements by name, and gives up on statements that get no response. */
import type { Socket } from "node:net";
import type { CompiledQuery, DatabaseConnection, QueryResult } from "kysely";
import type pg from "pg";
import type { CommitCheck } from "../database.ts";
import { hasGenericPlanHint, postgresDialect } from "../dialect.ts";
import { type Fence, type FenceState, fenceStateStatement } from "../fence.ts";
import { classify, DatabaseSilent, endsConnection, isAnswer, isRefusal, isStalePlan } from "./postgres-failures.ts";
import { pipelined } from "../pipelined.ts";
import {
  type StatementOptions,
  type RowShape,
  StatementExecution,
  type StatementResult,
} from "./postgres-statement.ts";
import { toParameters } from "./rows.ts";
import type { BackendMonitor } from "./backend-monitor.ts";
import { outcomeUnknown, toAppError } from "./transactions.ts";

interface Statement {
  readonly name: string;
  shape: RowShape | undefined;
}

/** Further statements run unprepared, because each takes memory on every connection of the server. */
const preparedMax = 400;

/** How often a read outside of a transaction is sent again on another connection. */
const reconnectsMax = 2;

/** Connections that use generic plans only. */
const genericPlanConnections = new WeakSet<pg.PoolClient>();

/** The prepared statements of all connections, by text. */
export class Statements {
  readonly #known = new Map<string, Statement>();
  #generation = 0;
  /** Set behind a pooler, where prepared statements can't be used. */
  isUnprepared = false;
  count = 0;
  commits = 0;

  of(text: string): Statement | undefined {
    let statement = this.#known.get(text);
    if (statement === undefined && this.#known.size < preparedMax) {
      statement = { name: `s${this.#generation}_${this.#known.size}`, shape: undefined };
      this.#known.set(text, statement);
    }
    return statement;
  }

  renew(): void {
    this.#generation += 1;
    this.#known.clear();
  }
}

export interface ConnectionOptions {
  readonly connect: () => Promise<pg.PoolClient>;
  readonly statements: Statements;
  readonly fence: Fence;
  readonly monitor: BackendMonitor;
  readonly backendCheckIntervalMs: number;
  /** Undefined: no limit while the backend is working. */
  readonly limitMs: number | undefined;
}

export class PostgresConnection implements DatabaseConnection {
  readonly #options: ConnectionOptions;
  #client: pg.PoolClient | undefined;
  #transaction: "none" | "reading" | "writing" = "none";
  /** Until a statement of the transaction or its COMMIT has waited for the response to BEGIN. */
  #begun: Promise<void> | undefined;
  /** COMMIT or ROLLBACK was sent: a further statement would be committed alone. */
  #hasEnded = false;
  /** Sent by `send`. */
  #unanswered: Promise<unknown>[] = [];
  #hasFailed = false;
  #isBroken = false;
  check: CommitCheck | undefined;

  private constructor(client: pg.PoolClient, options: ConnectionOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Throws `unavailable`. */
  static async open(options: ConnectionOptions): Promise<PostgresConnection> {
    return new PostgresConnection(await connected(options), options);
  }

  /**
   * Sends BEGIN; the first statement or the COMMIT waits for the response and throws its error, so that it costs no round trip of its own. A
   * writing transaction checks the fence under a lock that it holds until its end, and throws `unavailable` if refused.
   */
  begin(statements: readonly string[], transaction: "reading" | "writing"): void {
    this.#transaction = transaction;
    this.#begun = this.#begin(statements);
    this.#begun.catch(() => {});
  }

  async #begin(statements: readonly string[]): Promise<void> {
    const { fence } = this.#options;
    const isFenced = this.#transaction === "writing" && fence.isEnabled;
    const fenceCheck = isFenced ? [postgresDialect.lockSchema?.toWrite, fenceStateStatement] : [];
    const [, results] = await pipelined([
      this.#setGenericPlan(false),
      this.#run([...statements, ...fenceCheck].join("; ")),
    ]);
    if (isFenced) fence.check(fenceStateIn(results as unknown as pg.QueryResult[]));
  }

  /** Needed only where no statement follows. Throws the error of BEGIN, each time. */
  async waitForBegin(): Promise<void> {
    await this.#begun;
    this.#begun = undefined;
  }

  /** Throws `unavailable` if the outcome is unknown. */
  async commit(): Promise<void> {
    if (this.#begun !== undefined) await this.waitForBegin();
    // A statement that failed before it was sent would be missing in what is committed.
    if (this.#hasFailed) await this.#waitForUnanswered();
    this.#hasEnded = true;
    const [written, committed] = await Promise.allSettled([this.#waitForUnanswered(), this.#run("COMMIT")]);
    // PostgreSQL answers a COMMIT after a failed statement with ROLLBACK, without an error.
    if (written.status === "rejected" && (committed.status === "fulfilled" || isAnswer(written.reason)))
      throw written.reason;
    if (committed.status === "rejected") {
      const { reason } = committed;
      throw this.#transaction === "reading" || isRefusal(reason) ? reason : outcomeUnknown(reason);
    }
    if (this.#transaction === "writing") this.#options.statements.commits += 1;
    if (committed.value.command !== "COMMIT")
      throw new Error("COMMIT was sent after a statement of the transaction had failed");
  }

  async rollback(): Promise<void> {
    this.#hasEnded = true;
    if (this.#isBroken) return;
    try {
      await this.#run("ROLLBACK");
    } catch {
      // The connection is in an unknown state and must not be reused.
      this.#isBroken = true;
    }
  }

  release(): void {
    this.#client?.release(this.#isBroken);
    this.#client = undefined;
    this.#isBroken = false;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const executing = this.#executeStatement<R>(query);
    if (this.#unanswered.length > 0) await pipelined([this.#waitForUnanswered(), executing]);
    const result = await executing;
    this.check?.note(query, result);
    return result;
  }

  /** Resolves when the statement is sent, without rows. The next statement, or the COMMIT, throws its error. */
  async send(query: CompiledQuery): Promise<QueryResult<never>> {
    if (this.#begun !== undefined) await this.waitForBegin();
    const executing = this.#executeStatement(query);
    executing.catch(() => {});
    this.#unanswered.push(executing);
    this.check?.note(query, presumedResult);
    return { rows: [] };
  }

  async #waitForUnanswered(): Promise<void> {
    await pipelined(this.#unanswered.splice(0));
  }

  async #executeStatement<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#hasEnded) throw new Error("a statement was sent after its transaction had ended");
    const { statements } = this.#options;
    statements.count += 1;
    const statement = statements.of(query.sql);
    try {
      const { rows, rowCount, shape } = await this.#runInTransaction(query, statement);
      if (statement !== undefined) statement.shape = shape;
      return { rows: rows as R[], numAffectedRows: BigInt(rowCount) };
    } catch (error) {
      if (isStalePlan(error)) {
        statements.renew();
        if (this.#transaction === "none") return this.#executeStatement(query);
      }
      const failure = classify(error);
      const isRetried = failure.kind === "retry" || (failure.kind === "lost" && this.#transaction !== "none");
      throw isRetried ? error : toAppError(error, failure);
    }
  }

  async *streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    this.#options.statements.count += 1;
    await this.waitForBegin();
    await this.#execute(`DECLARE chunks NO SCROLL CURSOR FOR ${query.sql}`, query.parameters);
    for (let shape: RowShape | undefined; ;) {
      const result = await this.#execute(`FETCH ${chunkSize} FROM chunks`, [], { shape });
      if (result.rows.length === 0) break;
      shape = result.shape;
      yield { rows: result.rows as R[] };
    }
    await this.#run("CLOSE chunks");
  }

  /** Outside of transactions, because a rollback would undo it. Sent only on a change, because connections keep the setting. */
  async #setGenericPlan(isGeneric: boolean): Promise<void> {
    const client = this.#client;
    if (client === undefined || genericPlanConnections.has(client) === isGeneric) return;
    await this.#run(isGeneric ? "SET plan_cache_mode = force_generic_plan" : "RESET plan_cache_mode");
    if (isGeneric) genericPlanConnections.add(client);
    else genericPlanConnections.delete(client);
  }

  /** Only a statement that reads is sent before the response to BEGIN: if BEGIN fails, any other would be committed alone. */
  async #runInTransaction(query: CompiledQuery, statement: Statement | undefined): Promise<StatementResult> {
    const options = this.#options.statements.isUnprepared ? {} : statement;
    if (this.#transaction === "none") return this.#runWithReconnect(query, options);
    if (this.#begun === undefined) return this.#execute(query.sql, query.parameters, options);
    if (!isReading(query.sql)) {
      await this.waitForBegin();
      return this.#execute(query.sql, query.parameters, options);
    }
    const executed = this.#execute(query.sql, query.parameters, options);
    return (await pipelined([this.waitForBegin(), executed]))[1];
  }

  async #runWithReconnect(query: CompiledQuery, options: StatementOptions | undefined): Promise<StatementResult> {
    const isRepeatable = isReading(query.sql);
    for (let reconnects = 0; ; reconnects += 1) {
      try {
        if (options?.name !== undefined) await this.#setGenericPlan(hasGenericPlanHint(query.sql));
        return await this.#execute(query.sql, query.parameters, options);
      } catch (error) {
        if (!isRepeatable || reconnects === reconnectsMax || classify(error).kind !== "lost") throw error;
        this.release();
        this.#client = await connected(this.#options);
      }
    }
  }

  async #execute(text: string, parameters: readonly unknown[], options?: StatementOptions): Promise<StatementResult> {
    return this.#waitFor(
      (client) => client.query(new StatementExecution(text, toParameters(parameters), options)).result,
    );
  }

  /** Several statements, separated by semicolons, give several results. */
  async #run(text: string): Promise<pg.QueryResult> {
    return this.#waitFor((client) => client.query(text));
  }

  /** Throws DatabaseSilent if no response comes, and closes the connection, so that a late response is never read. */
  async #waitFor<T>(send: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = this.#client;
    if (client === undefined) throw new Error("a connection was used after its release");
    const wait = new StatementWait(client, this.#options);
    sendWithOthers(client);
    try {
      return await send(client);
    } catch (error) {
      this.#hasFailed = true;
      const actual = wait.isGivenUp ? new DatabaseSilent(wait.ms()) : error;
      // The driver's stack ends where it read the response.
      if (actual instanceof Error) Error.captureStackTrace(actual);
      if (endsConnection(actual)) this.#isBroken = true;
      throw actual;
    } finally {
      wait.end();
    }
  }
}

/** A statement without a result yet is checked as if it wrote a row. */
const presumedResult = { rows: [], numAffectedRows: 1n };

const isReading = (text: string): boolean => hasGenericPlanHint(text) || /^\s*select\b/i.test(text);

class StatementWait {
  isGivenUp = false;
  readonly #client: pg.PoolClient;
  readonly #options: ConnectionOptions;
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(client: pg.PoolClient, options: ConnectionOptions) {
    this.#client = client;
    this.#options = options;
    this.#schedule();
  }

  ms(): number {
    return performance.now() - this.#startedAt;
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => void this.#checkActivity(), this.#options.backendCheckIntervalMs);
  }

  async #checkActivity(): Promise<void> {
    const { monitor, limitMs = Number.POSITIVE_INFINITY } = this.#options;
    const isAtWork = await monitor.isAtWork((this.#client as unknown as { processID?: number }).processID);
    if (this.#isOver) return;
    if (isAtWork && this.ms() < limitMs) return this.#schedule();
    this.isGivenUp = true;
    void this.#client.end();
    // `end` waits for the responses to what was sent.
    socketOf(this.#client).destroy();
  }
}

const socketOf = (client: pg.PoolClient) => (client as unknown as { connection: { stream: Socket } }).connection.stream;

/** Statements that are sent in the same turn go in one packet. */
function sendWithOthers(client: pg.PoolClient): void {
  const socket = socketOf(client);
  socket.cork();
  process.nextTick(() => socket.uncork());
}

async function connected({ connect }: ConnectionOptions): Promise<pg.PoolClient> {
  try {
    return await connect();
  } catch (error) {
    throw toAppError(error, { kind: "unavailable" });
  }
}

function fenceStateIn(results: readonly pg.QueryResult[]): FenceState {
  const [row] = (results.at(-1) as pg.QueryResult<Record<string, unknown>>).rows;
  const { migrations, retired_keys: retiredKeys, compatible, ready_migration: readyMigration } = row ?? {};
  return { migrations, retiredKeys, compatible, readyMigration } as FenceState;
}
