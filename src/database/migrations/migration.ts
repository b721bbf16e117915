/** What a migration is. */

export interface Migration {
  readonly name: string;
  /** Plain SQL with the type words TEXT, INTEGER (64 bits) and BYTES; `dialect.ddl` makes them the engine's own. */
  readonly statements: readonly string[];
  /**
   * What only one engine is told, after the others and as it is: indexes of its own, and tables that hold nothing but what follows
   * from others. No backup holds these.
   */
  readonly only?: Readonly<Record<"sqlite" | "postgres", readonly string[]>>;
  /** Tables whose rows can never be changed or removed. */
  readonly appendOnly?: readonly string[];
  /** Tables, and columns of them, by which it is decided who may do what: a change raises the organization's access version. */
  readonly raisesAccess?: Readonly<Record<string, readonly string[]>>;
  /** Columns that were added to such tables afterwards. */
  readonly raisesAccessToo?: Readonly<Record<string, readonly string[]>>;
}
