/** The type of a migration. */

export interface Migration {
  readonly name: string;
  /**
   * `removes` drops only what no server has read since `unusedSince`. Nothing is renamed or changed in place; see
   * docs/decisions/0173-rolling-upgrades.md. Absent up to 0030.
   */
  readonly kind?: "adds" | "removes";
  readonly unusedSince?: string;
  /** The migration that a server must know to read and write correctly after this one. Absent: this one. */
  readonly writersKnow?: string;
  /** SQL with the types TEXT, INTEGER (64 bits) and BYTES; `dialect.ddl` replaces them. */
  readonly statements: readonly string[];
  /** Run after `statements`, verbatim: indexes, and tables with derived data, which backups don't contain. */
  readonly only?: Readonly<Record<"sqlite" | "postgres", readonly string[]>>;
  readonly appendOnly?: readonly string[];
  readonly raisesAccess?: Readonly<Record<string, readonly string[]>>;
  readonly raisesAccessToo?: Readonly<Record<string, readonly string[]>>;
}
