/** Fetches a page and its totals in one statement. It must not count, filter or sort in memory. */
import { type Expression, type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import type { Page } from "../../jsonapi/query.ts";

export interface SortColumn {
  /** In camelCase; with its table (`k.id`) if several tables have it. */
  readonly column: string;
  readonly descending?: boolean;
  /** For columns whose nulls the engines sort differently. */
  readonly nullsLast?: boolean;
}

type RowQuery<Row> = SelectQueryBuilder<any, any, Row>;

interface PageRequest<Row, Total extends string> {
  readonly rows: RowQuery<Row>;
  readonly order: readonly SortColumn[];
  readonly page: Page;
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

export function countOf(query: RowQuery<unknown>): Expression<number> {
  return sql<number>`(select count(*) from ${query} as counted)`;
}

function ordered<Row>(rows: RowQuery<Row>, order: readonly SortColumn[]): RowQuery<Row> {
  return order.reduce((query, { column, ...how }) => query.orderBy(term(column, how)), rows);
}

function term(column: string, { descending, nullsLast }: Omit<SortColumn, "column">): RawBuilder<unknown> {
  return sql`${sql.ref(column)} ${sql.raw(descending ? "desc" : "asc")}${sql.raw(nullsLast ? " nulls last" : "")}`;
}

function value(total: number | Expression<number>): Expression<number> {
  return typeof total === "number" ? sql<number>`cast(${total} as bigint)` : total;
}
