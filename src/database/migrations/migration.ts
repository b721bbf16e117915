/** The type of a migration. */
import type { Dialect } from "../dialect.ts";
import type { OrganizationColumn } from "../organization-changes.ts";

export interface IndexStep {
  /** A CREATE INDEX statement; PostgreSQL builds the index concurrently. */
  readonly index: string;
  /** Absent: both. */
  readonly engine?: Dialect["name"];
}

/** Changes rows in batches, in the order of `id`. Rows that are inserted meanwhile need a default, a trigger or a writer that knows it. */
export interface RowsStep {
  readonly table: string;
  readonly set: string;
  readonly where: string;
}

export type OnlineStep = IndexStep | RowsStep;

export interface Migration {
  readonly name: string;
  /**
   * `removes` drops only what no server has read since `unusedSince`. Nothing is renamed or changed in place; see
   * docs/decisions/0173-rolling-upgrades.md. Absent up to 0030.
   */
  readonly kind?: "adds" | "removes";
  readonly unusedSince?: string;
  /** The oldest migration with which a server can still read and write correctly after this one. Absent: this one. */
  readonly writersKnow?: string;
  /** SQL with the types TEXT, INTEGER (64 bits) and BYTES; `dialect.ddl` replaces them. */
  readonly statements: readonly string[];
  /** For one engine only, verbatim, after `statements`: indexes, and tables with derived data, which backups don't contain. */
  readonly only?: Readonly<Record<"sqlite" | "postgres", readonly string[]>>;
  /** Run one by one after the migration's transaction, while servers write, before this server becomes ready. */
  readonly online?: readonly OnlineStep[];
  /** Tables whose rows can't be changed or deleted. */
  readonly appendOnly?: readonly string[];
  /** Table → columns: triggers raise the access version on inserts, deletions and changes of these columns. */
  readonly raisesAccess?: Readonly<Record<string, readonly string[]>>;
  /** Table → further columns of a table in an earlier `raisesAccess`; only their changes get another trigger. */
  readonly raisesAccessToo?: Readonly<Record<string, readonly string[]>>;
  /** Table → the column that names a row's organization: triggers record every change in `organization_changes`. */
  readonly recordsChanges?: Readonly<Record<string, OrganizationColumn>>;
}
