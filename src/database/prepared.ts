/**
 * Hot statements: built and compiled once per engine, then only bound and run. Building one with the query builder costs
 * more than SQLite needs to answer it.
 */
import type { Compilable, CompiledQuery, Kysely } from "kysely";
import type { Tx } from "./database.ts";
import type { Dialect } from "./dialect.ts";
import type { Schema } from "./schema/schema.ts";

/** Stands for a value that is only known when the statement runs. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Gives, for each name, a placeholder that passes for a value of the right type. */
function placeholders<Parameters extends object>(): Parameters {
  return new Proxy({} as Parameters, { get: (_, name) => new Placeholder(String(name)) });
}

export type Prepared<Parameters extends object, Row> = (tx: Tx, parameters: Parameters) => Promise<Row[]>;

/** `build` sees every parameter as a placeholder, so it must not decide anything by a parameter's value. */
export function prepared<Parameters extends object, Row>(
  build: (db: Kysely<Schema>, parameters: Parameters, dialect: Dialect) => Compilable<Row>,
): Prepared<Parameters, Row> {
  const compiled = new Map<string, CompiledQuery<Row>>();
  return async (tx, parameters) => {
    let query = compiled.get(tx.dialect.name);
    if (query === undefined) {
      query = build(tx.db, placeholders<Parameters>(), tx.dialect).compile();
      compiled.set(tx.dialect.name, query);
    }
    const values = query.parameters.map((value) =>
      value instanceof Placeholder ? parameters[value.name as keyof Parameters] : value,
    );
    const bound = { ...query, parameters: values };
    const result = await (tx.execute === undefined ? tx.db.executeQuery<Row>(bound) : tx.execute<Row>(bound));
    return result.rows;
  };
}

const inserts = new Map<string, Prepared<Record<string, unknown>, never>>();

/** One row into a table, compiled once for each list of columns. */
export async function insertRow<Table extends keyof Schema>(
  tx: Tx,
  table: Table,
  row: Schema[Table] & object,
): Promise<void> {
  const columns = Object.keys(row);
  const key = `${table} ${columns.join()}`;
  let insert = inserts.get(key);
  if (insert === undefined) {
    insert = prepared<Record<string, unknown>, never>(
      (db, values) =>
        db
          .insertInto(table)
          .values(Object.fromEntries(columns.map((column) => [column, values[column]])) as never) as never,
    );
    inserts.set(key, insert);
  }
  await insert(tx, row as Record<string, unknown>);
}
