/** Locks rows in the statement that loads them: first the organization, then the row. See docs/reference/lock-order.md. */
import { type Compilable, type Kysely, type RawBuilder, sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import type { Dialect } from "../../database/dialect.ts";
import { prepared } from "../../database/prepared.ts";
import type { Schema } from "../../database/schema/schema.ts";

/**
 * `change`: to update the row. `removal`: to delete it, so that nothing can refer to it meanwhile. `exclusive`: as `removal`, and no other
 * exclusive lock in the same organization; for rows on which others depend. `organization-only`: not the row, because the caller must
 * lock others before it.
 */
export type RowLock = false | "change" | "removal" | "exclusive" | "organization-only";

/** The statement calls the organization `o`. */
export function lockClause({ lockRows }: Dialect, table: string, lock: RowLock): RawBuilder<unknown> {
  if (lock === false) return sql``;
  if (lock === "organization-only") return lockRows("o", "reference");
  const own = lockRows(table, lock === "change" ? "change" : "removal");
  return table === "o" ? own : sql`${lockRows("o", lock === "exclusive" ? "change" : "reference")} ${own}`;
}

interface LockableQuery<Row> extends Compilable<Row> {
  modifyEnd(modifier: RawBuilder<unknown>): Compilable<Row>;
}

export function lockableStatement<Parameters extends object, Row>(
  table: string,
  build: (db: Kysely<Schema>, parameters: Parameters) => LockableQuery<Row>,
): (tx: Tx, parameters: Parameters, lock: RowLock) => Promise<Row[]> {
  const locking = (lock: RowLock) =>
    prepared<Parameters, Row>((db, parameters, dialect) =>
      build(db, parameters).modifyEnd(lockClause(dialect, table, lock)),
    );
  const variants = new Map(
    ([false, "change", "removal", "exclusive", "organization-only"] as const).map((lock) => [lock, locking(lock)]),
  );
  return async (tx, parameters, lock) => variants.get(lock)?.(tx, parameters) ?? [];
}
