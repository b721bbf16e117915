/** Hot statements, compiled once per engine: building one costs more than SQLite needs to answer it. */
import type { Compilable, CompiledQuery, Kysely } from "kysely";
import type { Tx } from "./database.ts";
import type { Dialect } from "./dialect.ts";
import type { Schema } from "./schema/schema.ts";

export class Placeholder {
  readonly name: string;
  position = -1;
  constructor(name: string) {
    this.name = name;
  }
}

function placeholders<Parameters extends object>(): Parameters {
  return new Proxy({} as Parameters, { get: (_, name) => new Placeholder(String(name)) });
}

export type PreparedStatement<Parameters extends object, Row> = (tx: Tx, parameters: Parameters) => Promise<Row[]>;

/** `build` sees placeholders, so it must not depend on a parameter's value. */
export function prepared<Parameters extends object, Row>(
  build: (db: Kysely<Schema>, parameters: Parameters, dialect: Dialect) => Compilable<Row>,
): PreparedStatement<Parameters, Row> {
  const compiled = new Map<string, CompiledQuery<Row>>();
  return async (tx, parameters) => {
    let query = compiled.get(tx.dialect.name);
    if (query === undefined) {
      query = build(tx.db, placeholders<Parameters>(), tx.dialect).compile();
      compiled.set(tx.dialect.name, query);
      for (const [position, value] of query.parameters.entries())
        if (value instanceof Placeholder) value.position = position;
    }
    const values = query.parameters.map((value) =>
      value instanceof Placeholder ? parameters[value.name as keyof Parameters] : value,
    );
    const bound = { ...query, parameters: values };
    const result = await (tx.execute === undefined ? tx.db.executeQuery<Row>(bound) : tx.execute<Row>(bound));
    return result.rows;
  };
}

/** One statement for each table and set of columns. */
export function preparedFor<Table extends string>(
  prepare: (table: Table, columns: readonly string[]) => PreparedStatement<Record<string, unknown>, never>,
): (table: Table, row: object) => PreparedStatement<Record<string, unknown>, never> {
  const statements = new Map<string, PreparedStatement<Record<string, unknown>, never>>();
  return (table, row) => {
    const columns = Object.keys(row);
    const key = `${table} ${columns.join()}`;
    const statement = statements.get(key) ?? prepare(table, columns);
    statements.set(key, statement);
    return statement;
  };
}

/** The placeholders of these columns, by column. */
export const placeholdersOf = (columns: readonly string[], values: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(columns.map((column) => [column, values[column]]));

const insertStatement = preparedFor<keyof Schema>((table, columns) =>
  prepared((db, values) => db.insertInto(table).values(placeholdersOf(columns, values) as never) as never),
);

export async function insertRow<Table extends keyof Schema>(
  tx: Tx,
  table: Table,
  row: Schema[Table] & object,
): Promise<void> {
  await insertStatement(table, row)(tx, row as Record<string, unknown>);
}
