/** From a driver's row of values to the object that the code sees: the one place where `_` becomes camelCase. */
import { CamelCasePlugin, type PluginTransformResultArgs, type QueryResult, type UnknownRow } from "kysely";
import { isPresent } from "../present.ts";
import { now } from "../../kernel/time.ts";
import { camel, snake } from "../../kernel/names.ts";

export type ToRow = (values: readonly unknown[]) => Record<string, unknown>;

/**
 * Compiles a function that makes the row object of one statement. An object literal with fixed keys is several times faster
 * than filling an object key by key, and this runs for every row. The names come from our own statements' columns.
 */
export function rowMaker(columns: readonly string[]): ToRow {
  const members = columns.map((column, position) => `${JSON.stringify(camel(column))}: values[${position}]`);
  return new Function("values", `return { ${members.join(", ")} };`) as ToRow;
}

/** Flags are integers and absent values are null on both engines; the present is the same moment throughout a statement. */
export function toParameters(values: readonly unknown[]): unknown[] {
  let instant: string | undefined;
  return values.map((value) => {
    if (value === undefined) return null;
    if (typeof value === "boolean") return value ? 1 : 0;
    return isPresent(value) ? (instant ??= now()) : value;
  });
}

/** Statements are written in camelCase; their rows are already converted by `rowMaker`. */
export class NamesInStatements extends CamelCasePlugin {
  protected override snakeCase(name: string): string {
    return snake(name);
  }

  override async transformResult(args: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return args.result;
  }
}
