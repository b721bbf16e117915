/** The type of a migration. */

export interface Migration {
  readonly name: string;
  /**
   * Servers of the previous version keep reading while it is applied and afterwards. `adds` is invisible to them: tables,
   * nullable columns or columns with a default, indexes. `removes` drops tables and columns that no server has read since
   * `unusedSince`. Nothing is renamed or changed in place. See docs/decisions/0173-rolling-upgrades.md. Migrations
   * up to 0030 came before the first version with a fence.
   */
  readonly kind?: "adds" | "removes";
  /** With `removes`: the first version that did not need what is dropped. */
  readonly unusedSince?: string;
  /**
   * The last migration of the released version whose servers, and later ones, keep reading and writing correctly after this one.
   * Absent: servers that don't know this migration stop writing. See docs/decisions/0173-rolling-upgrades.md.
   */
  readonly writersKnow?: string;
  /** SQL with the types TEXT, INTEGER (64 bits) and BYTES; `dialect.ddl` replaces them. */
  readonly statements: readonly string[];
  /**
   * For one engine only, after the others and verbatim: its indexes, and tables with derived data, which backups don't contain.
   */
  readonly only?: Readonly<Record<"sqlite" | "postgres", readonly string[]>>;
  readonly appendOnly?: readonly string[];
  /** Tables and columns that decide access: a change raises the organization's access version. */
  readonly raisesAccess?: Readonly<Record<string, readonly string[]>>;
  readonly raisesAccessToo?: Readonly<Record<string, readonly string[]>>;
}
