/** Locks rows in the statement that loads them: first the organization, then the row. See docs/reference/lock-order.md. */
import { type Compilable, type Kysely, type RawBuilder, sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import type { Dialect } from "../../database/dialect.ts";
import { prepared } from "../../database/prepared.ts";
import type { Schema } from "../../database/schema/schema.ts";

/**
 * `true`: to change the row. `"removal"`: to delete it; blocks new references. `"alone"`: to delete or change what other rows depend
 * on, one at a time in an organization. `"organization"`: locks no row, because others are locked before it.
 */
export type Lock = boolean | "organization" | "removal" | "alone";

/** The statement calls the organization `o`. */
export function lockClause({ lockRows }: Dialect, table: string, lock: Lock): RawBuilder<unknown> {
  if (lock === false) return sql``;
  if (lock === "organization") return lockRows("o", "reference");
  const own = lockRows(table, lock === true ? "change" : "removal");
  return table === "o" ? own : sql`${lockRows("o", lock === "alone" ? "change" : "reference")} ${own}`;
}

interface LockableQuery<Row> extends Compilable<Row> {
  modifyEnd(modifier: RawBuilder<unknown>): Compilable<Row>;
}

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
