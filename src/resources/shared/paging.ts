/**
 * A page of a list and its total in one statement, always: also when the page lies past the end and has no row to carry the
 * total. Nothing is counted, filtered or sorted in memory.
 */
import { type Expression, type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import type { Page } from "../../jsonapi/query.ts";

export interface Order {
  /** A column of the selected rows, in camelCase; with its table's name (`k.id`) where more than one table has it. */
  readonly column: string;
  readonly descending?: boolean;
  /** Where the engines would put absent values first, or differ. */
  readonly nullsLast?: boolean;
}

/** Any query whose rows have an id. */
type Rows<Row> = SelectQueryBuilder<any, any, Row>;

interface PageRequest<Row, Total extends string> {
  /** Every row that belongs to the list, with neither order nor limit. */
  readonly rows: Rows<Row>;
  readonly order: readonly Order[];
  readonly page: Page;
  /** Each either known (a counter that was read before) or to be found by the same statement. */
  readonly totals: Readonly<Record<Total, number | Expression<number>>>;
}

export async function fetchPage<Row extends { id: string }, Total extends string>(
  tx: Tx,
  { rows, order, page, totals }: PageRequest<Row, Total>,
): Promise<{ rows: Row[]; totals: Record<Total, number> }> {
  const limited = ordered(rows, order)
    .limit(page.size)
    .offset((page.number - 1) * page.size);
  const names = Object.keys(totals) as Total[];
  if (names.every((name) => typeof totals[name] === "number")) {
    return { rows: (await limited.execute()) as Row[], totals: totals as Record<Total, number> };
  }
  const counted = sql.join(names.map((name) => sql`${value(totals[name])} as ${sql.ref(name)}`));
  const sorted = sql.join(order.map(({ column, ...how }) => term(`page.${column.replace(/^.*\./, "")}`, how)));
  const result = await sql<Row & Record<Total, number>>`
    select * from (select ${counted}) as totals left join ${limited} as page on true order by ${sorted}`.execute(tx.db);
  const found = result.rows;
  return {
    rows: found.filter((row) => row.id !== null),
    totals: Object.fromEntries(names.map((name) => [name, Number(found[0]?.[name] ?? 0)])) as Record<Total, number>,
  };
}

/** How many rows a query has. */
export function countOf(query: Rows<unknown>): Expression<number> {
  return sql<number>`(select count(*) from ${query} as counted)`;
}

function ordered<Row>(rows: Rows<Row>, order: readonly Order[]): Rows<Row> {
  return order.reduce((query, { column, ...how }) => query.orderBy(term(column, how)), rows);
}

function term(column: string, { descending, nullsLast }: Omit<Order, "column">): RawBuilder<unknown> {
  return sql`${sql.ref(column)} ${sql.raw(descending ? "desc" : "asc")}${sql.raw(nullsLast ? " nulls last" : "")}`;
}

function value(total: number | Expression<number>): Expression<number> {
  return typeof total === "number" ? sql<number>`cast(${total} as bigint)` : total;
}
