/** What a migration is. */

export interface Migration {
  readonly name: string;
  /**
   * Servers of the version before go on reading while it is applied and afterwards, until they are replaced. What `adds` is nothing that
   * they notice: tables, columns that have a default or may be null, indexes. What `removes` takes away tables and columns that no server
   * has read since `unusedSince`, a version before the one that it is released with. Nothing is renamed or changed in place. See
   * docs/decisions/0140-an-older-server-stops-writing.md. Migrations up to 0030 came before the first version that has a fence.
   */
  readonly kind?: "adds" | "removes";
  /** With `removes`: the first version that needed nothing of what goes. */
  readonly unusedSince?: string;
  /**
   * The last migration of the released version whose servers, and later ones, keep reading and writing correctly once this is applied:
   * whatever it adds may be missed by them. Absent: servers that don't know this migration stop writing. See
   * docs/decisions/0173-older-servers-write-on.md.
   */
  readonly writersKnow?: string;
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
