/**
 * How the statement that loads a row also locks it: first the organization, then the row. The order of all further locks is in
 * docs/architecture.md ("The order of locks").
 */
import { type Compilable, type Kysely, type RawBuilder, sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import type { Dialect } from "../../database/dialect.ts";
import { prepared } from "../../database/prepared.ts";
import type { Schema } from "../../database/schema/schema.ts";

/**
 * `true`: to change the row; nobody else changes or deletes it, or deletes its organization, until the transaction ends.
 * `"removal"`: to delete it; nobody can reference it either. `"alone"`: to delete what other rows depend on, or to change such
 * dependencies; one such write at a time in an organization, next to any number of others. `"organization"`: locks only the
 * organization, where other rows are locked before this one.
 */
export type Lock = boolean | "organization" | "removal" | "alone";

/** The end of a statement that calls the organization `o`; empty if nothing is to be locked. */
export function lockClause({ lockRows }: Dialect, table: string, lock: Lock): RawBuilder<unknown> {
  if (lock === false) return sql``;
  if (lock === "organization") return lockRows("o", "reference");
  const own = lockRows(table, lock === true ? "change" : "removal");
  return table === "o" ? own : sql`${lockRows("o", lock === "alone" ? "change" : "reference")} ${own}`;
}

interface LockableQuery<Row> extends Compilable<Row> {
  modifyEnd(modifier: RawBuilder<unknown>): Compilable<Row>;
}

/** A frequent statement that can also lock a table's rows: compiled once for each kind of lock. */
export function lockableStatement<Parameters extends object, Row>(
  table: string,
  build: (db: Kysely<Schema>, parameters: Parameters) => LockableQuery<Row>,
): (tx: Tx, parameters: Parameters, lock: Lock) => Promise<Row[]> {
  const locking = (lock: Lock) =>
    prepared<Parameters, Row>((db, parameters, dialect) =>
      build(db, parameters).modifyEnd(lockClause(dialect, table, lock)),
    );
  const variants = new Map(
    ([false, true, "organization", "removal", "alone"] as const).map((lock) => [lock, locking(lock)]),
  );
  return async (tx, parameters, lock) => variants.get(lock)?.(tx, parameters) ?? [];
}
