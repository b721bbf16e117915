/**
 * A row's version tells apart what its document has shown: whatever changes that raises it, in the statement that makes the
 * change. The other columns called `facts_version` do the same for what *other* documents show of a row (its name, the defaults
 * that they follow), so that renaming an organization rewrites nothing in bulk.
 */
import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import type { Schema } from "../../database/schema/schema.ts";

/** In the `set` of an update: raised by the database, never from a value that was read earlier. */
export const raised: { readonly version: RawBuilder<number> } = { version: sql<number>`version + 1` };

/** The same, where other documents show what changes. */
export const factsRaised: typeof raised & { readonly factsVersion: RawBuilder<number> } = {
  ...raised,
  factsVersion: sql<number>`facts_version + 1`,
};

type Versioned = {
  [Table in keyof Schema]: Schema[Table] extends { id: string; version: number } ? Table : never;
}[keyof Schema];

/** Changes one row by its id, and raises its version. */
export async function updateRow<Table extends Versioned>(
  tx: Tx,
  table: Table,
  id: string,
  changes: { readonly [Column in keyof Schema[Table]]?: Schema[Table][Column] | RawBuilder<unknown> },
): Promise<void> {
  await tx.db
    .updateTable(table as "projects")
    .set({ ...raised, ...(changes as object) })
    .where("id", "=", id)
    .execute();
}

/** A locked row as it is after `updateRow`. */
export function afterUpdate<Row extends { readonly version: number }>(
  row: Row,
  changes: Partial<Row> | undefined,
): Row {
  return { ...row, ...changes, version: row.version + 1 };
}
