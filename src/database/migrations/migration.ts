/** What a migration is. */

export interface Migration {
  readonly name: string;
  /** Plain SQL with the type words TEXT, INTEGER (64 bits) and BYTES; `dialect.ddl` makes them the engine's own. */
  readonly statements: readonly string[];
  /** Tables whose rows can never be changed or removed. */
  readonly appendOnly?: readonly string[];
}
