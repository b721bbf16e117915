/** Turns a driver's rows into objects. The only place where `_` becomes camelCase in rows. */
import { CamelCasePlugin, type PluginTransformResultArgs, type QueryResult, type UnknownRow } from "kysely";
import { isNowParameter } from "../now-parameter.ts";
import { now } from "../../kernel/time.ts";
import { camel, snake } from "../../kernel/names.ts";

export type ToRow = (values: readonly unknown[]) => Record<string, unknown>;

/** Compiled, because an object literal with fixed keys is several times faster. Safe: the names come from our own statements. */
export function rowMaker(columns: readonly string[]): ToRow {
  const members = columns.map((column, position) => `${JSON.stringify(camel(column))}: values[${position}]`);
  return new Function("values", `return { ${members.join(", ")} };`) as ToRow;
}

export function toParameters(values: readonly unknown[]): unknown[] {
  let instant: string | undefined;
  return values.map((value) => {
    if (value === undefined) return null;
    if (typeof value === "boolean") return value ? 1 : 0;
    return isNowParameter(value) ? (instant ??= now()) : value;
  });
}

export class NamesInStatements extends CamelCasePlugin {
  protected override snakeCase(name: string): string {
    return snake(name);
  }

  override async transformResult(args: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return args.result;
  }
}
