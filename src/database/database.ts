/** The interface to both database engines. Only `dialect` shows which engine it is. */
import type { CompiledQuery, Kysely, QueryResult } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Fence } from "./fence.ts";
import type { ChangeParameters } from "./organization-changes.ts";
import type { ObservedCommits } from "./observed-commits.ts";
import type { Schema } from "./schema/schema.ts";

/** For one statement that selects `Dialect.snapshotId`. */
export interface CommitObservation {
  readonly parameters: ChangeParameters;
  /** Takes what the statement returned. Returns the snapshot's id. */
  end(text: string): number;
}

export interface CommitObserver {
  begin(): CommitObservation;
}

export interface Tx {
  readonly db: Kysely<Schema>;
  readonly dialect: Dialect;
  readonly execute?: <Row>(query: CompiledQuery) => Promise<QueryResult<Row>>;
  /**
   * For the last writes of a transaction, whose results nobody needs: prepared statements resolve without rows as soon as they are sent, and
   * the COMMIT follows in the same packet. It throws their errors. Undefined where a statement has no round trip.
   */
  readonly withCommit?: Tx;
  /** Only where `Database.snapshotId` needs a statement, and outside of transactions. */
  readonly commits?: CommitObserver;
  /** Never runs if the transaction is rolled back. Only in transactions. */
  readonly afterCommit?: (work: () => void) => void;
}

/** Sees every statement of a transaction, and can refuse the commit by raising an error. */
export interface CommitCheck {
  note(query: CompiledQuery, result: QueryResult<unknown>): void;
  beforeCommit(): void;
}

export interface WriteOptions {
  readonly commitCheck?: (() => CommitCheck) | undefined;
  readonly hasNoTimeout?: boolean;
  /** After this time `LockTimeout` is raised; ignored where there is one writer. */
  readonly lockWaitMs?: number;
  /** The write changes nothing that cached responses show (such as a token's last use), so the snapshot id stays the same. */
  readonly keepsCache?: boolean;
}

/** Raised inside `write` if a row changed while the work waited for its lock. The work then runs again. */
export class RetryTransaction extends Error {
  override readonly name = "RetryTransaction";
}

export class LockTimeout extends Error {
  override readonly name = "LockTimeout";
}

export interface Database {
  readonly dialect: Dialect;
  readonly fence: Fence;
  /** Only for single statements that read. */
  readonly reader: Tx;
  /**
   * `work` runs again after a deadlock, a busy database, a lost connection or `RetryTransaction`, so it must have no other effects.
   * Throws `unavailable` if retries fail, if the outcome of COMMIT is unknown, or if the fence refuses the write.
   */
  write<T>(work: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>;
  /** Like `write`, but always rolled back. */
  runAndRollBack<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Read-only, without a timeout; every statement sees the same snapshot. */
  snapshot<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Outside of a transaction and without a timeout; only for schema changes that PostgreSQL refuses in a transaction. */
  readonly runAlone?: (statement: string) => Promise<void>;
  /** Changes with every commit of any process, except with `keepsCache`; undefined where it takes a statement (`Dialect.snapshotId`). */
  snapshotId(): number | undefined;
  /** Without a statement: the newest snapshot that this process knows. */
  newestSnapshotId(): number;
  readonly commits: ObservedCommits;
  statementCount(): number;
  commitCount(): number;
  connections(): { readonly busy: number; readonly open: number };
  close(): Promise<void>;
}
