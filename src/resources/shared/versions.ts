/**
 * A row's version tells apart what its document has shown: whatever changes that raises it, in the statement that makes the
 * change. Two more columns do so for what *other* documents show of a row and enters their ETags: `facts_version` for its name
 * and the like, `defaults_version` for the defaults that they follow. So renaming an organization rewrites nothing in bulk.
 */
import { type Expression, isExpression, type Kysely, type RawBuilder, sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import { placed, prepared, preparedFor } from "../../database/prepared.ts";
import type { Schema } from "../../database/schema/schema.ts";

/** In the `set` of an update: raised by the database, never from a value that was read earlier. */
export const raised: { readonly version: RawBuilder<number> } = { version: sql<number>`version + 1` };

type Further = "factsVersion" | "defaultsVersion";

/** Beside it: the further version, where one of the columns changes that others show. */
export function raisedBy(
  changes: object,
  further: Further,
  shown: readonly string[],
): { readonly [Name in Further]?: RawBuilder<number> } {
  return shown.some((column) => column in changes) ? { [further]: sql<number>`${sql.ref(further)} + 1` } : {};
}

/** The columns of the defaults that workspaces follow. */
export const defaults = ["defaultExecutionMode", "defaultAgentPoolId"] as const;

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
  // What is only an expression is built as it comes; that is rare.
  if (Object.values(changes).some(isExpression)) await updating(tx.db, table, changes, id).execute();
  else await updatingColumns(table, changes)(tx, { ...changes, [rowId]: id });
}

/** Names the row among the parameters; no column is called so. */
const rowId = "id of the row";

const updatingColumns = preparedFor<Versioned>((table, columns) =>
  prepared((db, values) => updating(db, table, placed(columns, values), values[rowId] as string) as never),
);

const updating = (db: Kysely<Schema>, table: Versioned, changes: object, id: string) =>
  db
    .updateTable(table as "projects")
    .set({ ...raised, ...changes })
    .where("id", "=", id);

export interface ChangedRow {
  readonly id: string;
  readonly columns: Readonly<Record<string, unknown>>;
}

/** Rows that change differently, by one statement: each column is what its row's change says, or what it was. */
export async function updateRows(tx: Tx, table: Versioned, rows: readonly ChangedRow[]): Promise<void> {
  const names = [...new Set(rows.flatMap(({ columns }) => Object.keys(columns)))];
  const columns = names.map((name) => {
    const changing = rows.filter((row) => row.columns[name] !== undefined);
    const cases = changing.map((row) => sql`when id = ${row.id} then ${typed(row.columns[name])}`);
    return [name, sql`case ${sql.join(cases, sql` `)} else ${sql.ref(name)} end`];
  });
  await tx.db
    .updateTable(table as "projects")
    .set({ ...(Object.fromEntries(columns) as object), ...raised })
    .where(
      tx.dialect.isOneOf(
        sql.ref("id"),
        rows.map(({ id }) => id),
      ),
    )
    .execute();
}

/** In a CASE the engines do not tell by themselves of which type a parameter is; bytes they do. */
function typed(value: unknown): Expression<unknown> {
  if (isExpression(value)) return value;
  if (value === null) return sql`null`;
  if (value instanceof Uint8Array) return sql`${value}`;
  return typeof value === "number" ? sql`cast(${value} as bigint)` : sql`cast(${value} as text)`;
}

/** A locked row as it is after `updateRow`. */
export function afterUpdate<Row extends { readonly version: number }>(
  row: Row,
  changes: Partial<Row> | undefined,
): Row {
  return { ...row, ...changes, version: row.version + 1 };
}
