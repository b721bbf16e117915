/**
 * The interface of a database to the rest of the service: statements, transactions, snapshots. Only `dialect` shows which engine
 * it is.
 */
import type { CompiledQuery, Kysely, QueryResult } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Fence } from "./fence.ts";
import type { Schema } from "./schema/schema.ts";

export interface Tx {
  readonly db: Kysely<Schema>;
  readonly dialect: Dialect;
  /** Executes a compiled statement directly, which is faster than through the query builder. */
  readonly execute?: <Row>(query: CompiledQuery) => Promise<QueryResult<Row>>;
  /** Runs `work` after the transaction is committed, and never if it is not. Only in transactions. */
  readonly afterCommit?: (work: () => void) => void;
}

/** Checks the statements of one writing transaction, and refuses its commit by raising. */
export interface CommitCheck {
  note(query: CompiledQuery, result: QueryResult<unknown>): void;
  beforeCommit(): void;
}

export interface WriteOptions {
  readonly commitCheck?: (() => CommitCheck) | undefined;
  /** Disables the statement timeout, for work that no caller waits for. */
  readonly hasNoTimeout?: boolean;
  /** How long statements wait for a lock, where several writers exist: then `LockTimeout` is raised. */
  readonly lockWaitMs?: number;
  /** The write changes nothing that cached responses show (such as a token's last use), so the snapshot id stays the same. */
  readonly keepsCache?: boolean;
}

/** Raised inside `write` by work that read something, waited for a lock, and finds that it has changed: the work runs again. */
export class Overtaken extends Error {
  override readonly name = "Overtaken";
}

/** Raised by `write` with `lockWaitMs`: another transaction holds the lock. Nothing was changed. */
export class LockTimeout extends Error {
  override readonly name = "LockTimeout";
}

export interface Database {
  readonly dialect: Dialect;
  readonly fence: Fence;
  /** For single statements that only read. */
  readonly reader: Tx;
  /**
   * One transaction. `work` runs again after a deadlock, a busy database, a lost connection or `Overtaken`, so it must have no
   * other effects. Raises `unavailable` if retries don't help, if the connection is lost during COMMIT (the sentence says that
   * the outcome is unknown), and if the fence refuses the write.
   */
  write<T>(work: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>;
  /** Like `write`, but always rolled back: finds out what a change would do by making it. */
  rehearse<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** A read-only transaction without a timeout in which every statement sees the same snapshot. */
  snapshot<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * A number that changes with every commit of any process, except with `keepsCache`; undefined where reading it takes a statement
   * (`Dialect.snapshotId`).
   */
  snapshotId(): number | undefined;
  statementCount(): number;
  commitCount(): number;
  connections(): { readonly busy: number; readonly open: number };
  close(): Promise<void>;
}
