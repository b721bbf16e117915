/**
 * How the statement that loads a thing also holds it: its organization first, then its own row. In which order a write takes the
 * locks that come after is one table for all: "The order of locks" in docs/architecture.md.
 */
import { type Compilable, type Kysely, type RawBuilder, sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import type { Dialect } from "../../database/dialect.ts";
import { prepared } from "../../database/prepared.ts";
import type { Schema } from "../../database/schema/schema.ts";

/**
 * `true` for a change of the row: nobody else changes or removes it until the transaction ends, and nobody removes its
 * organization. `"removal"`: nor does anybody refer to it. `"alone"` for the removal of what hangs together with other things, and
 * for changes of how: one such write at a time in an organization, beside any number of the others. `"organization"` holds that
 * alone, where other rows come before this one.
 */
export type Lock = boolean | "organization" | "removal" | "alone";

/** At the end of a statement in which the organization is called `o`; nothing where nothing is to be held. */
export function held({ lockRows }: Dialect, table: string, lock: Lock): RawBuilder<unknown> {
  if (lock === false) return sql``;
  if (lock === "organization") return lockRows("o", "reference");
  const own = lockRows(table, lock === true ? "change" : "removal");
  return table === "o" ? own : sql`${lockRows("o", lock === "alone" ? "change" : "reference")} ${own}`;
}

interface Endable<Row> extends Compilable<Row> {
  modifyEnd(modifier: RawBuilder<unknown>): Compilable<Row>;
}

/** A hot statement that can also hold the rows of a table: compiled once for each way. */
export function lockable<Parameters extends object, Row>(
  table: string,
  build: (db: Kysely<Schema>, parameters: Parameters) => Endable<Row>,
): (tx: Tx, parameters: Parameters, lock: Lock) => Promise<Row[]> {
  const holding = (lock: Lock) =>
    prepared<Parameters, Row>((db, parameters, dialect) => build(db, parameters).modifyEnd(held(dialect, table, lock)));
  const ways = new Map(
    ([false, true, "organization", "removal", "alone"] as const).map((lock) => [lock, holding(lock)]),
  );
  return async (tx, parameters, lock) => ways.get(lock)?.(tx, parameters) ?? [];
}
