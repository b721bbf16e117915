/**
 * What the rest of the service sees of a database: statements, transactions, a snapshot. Which engine it is shows only in
 * `dialect`, and only there.
 */
import type { CompiledQuery, Kysely, QueryResult } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Fence } from "./fence.ts";
import type { Schema } from "./schema/schema.ts";

/** A place to run statements: a transaction's, or a reader's outside of any. */
export interface Tx {
  readonly db: Kysely<Schema>;
  readonly dialect: Dialect;
  /** A compiled statement straight to the connection, where that is shorter than through the query builder. */
  readonly execute?: <Row>(query: CompiledQuery) => Promise<QueryResult<Row>>;
  /** Has something done once the transaction is committed, and not at all where it never is. Only a transaction has it. */
  readonly afterwards?: (work: () => void) => void;
}

/** Looks at the statements of one transaction that writes, and refuses its commit by raising. */
export interface CommitCheck {
  /** Called after each statement. */
  note(query: CompiledQuery, result: QueryResult<unknown>): void;
  beforeCommit(): void;
}

export interface WriteOptions {
  /** Makes the check of one attempt at the transaction. */
  readonly newCheck?: (() => CommitCheck) | undefined;
  /** Its statements may take as long as they take: nobody waits for an answer, and a large register needs its time. */
  readonly isPatient?: boolean;
  /** How long its statements wait for a lock of others, where there are others: past it `LockTimeout` is raised. */
  readonly lockWaitMs?: number;
  /** Nothing that anybody keeps shows what it writes (when a token was last used), so it need not be another `moment`. */
  readonly isUnseen?: boolean;
}

/**
 * Raised inside `write` by work that looked at something, waited for a lock, and finds that it has changed since: the work runs
 * again from the start.
 */
export class Overtaken extends Error {
  override readonly name = "Overtaken";
}

/** Raised by `write` with `lockWaitMs`: another transaction holds what was to be locked. Nothing was changed. */
export class LockTimeout extends Error {
  override readonly name = "LockTimeout";
}

export interface Database {
  readonly dialect: Dialect;
  /** What every write makes sure of first. */
  readonly fence: Fence;
  /** For single statements that only read. */
  readonly reader: Tx;
  /**
   * One transaction. `work` runs again from the start where the engine asks for it (a deadlock, a busy database, a connection
   * that was cut) or was `Overtaken`, so it must have no other effect. Raises `unavailable` when that does not help, and where
   * the database went away during the COMMIT: then the sentence says that the outcome is unknown; and where the fence does not
   * let it through.
   */
  write<T>(work: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>;
  /**
   * The same, but for the end: whatever was written is taken back, as if it had never been asked for. For finding out what a
   * change would do by making it; the writes of others wait meanwhile as for any transaction.
   */
  rehearse<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** A read-only transaction in which every statement sees the same moment, and may take as long as it takes. */
  snapshot<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * A number that is another one after whatever was committed, by this process or another, unless it was `isUnseen`; undefined where
   * that takes a statement (`Dialect.moment`).
   */
  moment(): number | undefined;
  /** How many statements were run so far, transaction control not counted. */
  statementCount(): number;
  /** How many transactions that write were committed so far. */
  commitCount(): number;
  /** Connections in use and open, for the metrics. */
  connections(): { readonly busy: number; readonly open: number };
  close(): Promise<void>;
}
