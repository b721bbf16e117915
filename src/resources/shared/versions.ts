/** Increments versions of rows; ETags combine them. `facts_version` and `defaults_version`: what *other* documents show of the row. */
import { type Expression, isExpression, type Kysely, type RawBuilder, sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import { placeholdersOf, prepared, preparedFor } from "../../database/prepared.ts";
import type { Schema } from "../../database/schema/schema.ts";

/** Incremented by the database, never from a value that was read earlier. */
export const incrementedVersion: { readonly version: RawBuilder<number> } = { version: sql<number>`version + 1` };

type DependentVersion = "factsVersion" | "defaultsVersion";

export function incrementedWhenChanged(
  changes: object,
  dependent: DependentVersion,
  shown: readonly string[],
): { readonly [Name in DependentVersion]?: RawBuilder<number> } {
  return shown.some((column) => column in changes) ? { [dependent]: sql<number>`${sql.ref(dependent)} + 1` } : {};
}

export const executionDefaultColumns = ["defaultExecutionMode", "defaultAgentPoolId"] as const;

type VersionedTable = {
  [Table in keyof Schema]: Schema[Table] extends { id: string; version: number } ? Table : never;
}[keyof Schema];

export async function updateRow<Table extends VersionedTable>(
  tx: Tx,
  table: Table,
  id: string,
  changes: { readonly [Column in keyof Schema[Table]]?: Schema[Table][Column] | RawBuilder<unknown> },
): Promise<void> {
  // Expressions can't be bound as parameters, so these rare updates are compiled each time.
  if (Object.values(changes).some(isExpression)) await updating(tx.db, table, changes, id).execute();
  else await updatingColumns(table, changes)(tx, { ...changes, [rowId]: id });
}

const rowId = "id of the row";

const updatingColumns = preparedFor<VersionedTable>((table, columns) =>
  prepared((db, values) => updating(db, table, placeholdersOf(columns, values), values[rowId] as string) as never),
);

const updating = (db: Kysely<Schema>, table: VersionedTable, changes: object, id: string) =>
  db
    .updateTable(table as "projects")
    .set({ ...incrementedVersion, ...changes })
    .where("id", "=", id);

export interface ChangedRow {
  readonly id: string;
  readonly columns: Readonly<Record<string, unknown>>;
}

export async function updateRows(tx: Tx, table: VersionedTable, rows: readonly ChangedRow[]): Promise<void> {
  const names = [...new Set(rows.flatMap(({ columns }) => Object.keys(columns)))];
  const columns = names.map((name) => {
    const changing = rows.filter((row) => row.columns[name] !== undefined);
    const cases = changing.map((row) => sql`when id = ${row.id} then ${typed(row.columns[name])}`);
    return [name, sql`case ${sql.join(cases, sql` `)} else ${sql.ref(name)} end`];
  });
  await tx.db
    .updateTable(table as "projects")
    .set({ ...(Object.fromEntries(columns) as object), ...incrementedVersion })
    .where(
      tx.dialect.isOneOf(
        sql.ref("id"),
        rows.map(({ id }) => id),
      ),
    )
    .execute();
}

/** In a CASE, the engines infer no parameter types, except for bytes. */
function typed(value: unknown): Expression<unknown> {
  if (isExpression(value)) return value;
  if (value === null) return sql`null`;
  if (value instanceof Uint8Array) return sql`${value}`;
  return typeof value === "number" ? sql`cast(${value} as bigint)` : sql`cast(${value} as text)`;
}

export function afterUpdate<Row extends { readonly version: number }>(
  row: Row,
  changes: Partial<Row> | undefined,
): Row {
  return { ...row, ...changes, version: row.version + 1 };
}
