/** Reads the counters of migrations 0033 and 0036, including the differences that are not merged yet on PostgreSQL. */
import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Schema } from "./schema/schema.ts";

interface CountedKey {
  readonly key: string;
  readonly value?: string | undefined;
}

export interface RegisterCounts {
  workspacesWithTag(organizationId: string, tag: CountedKey): RawBuilder<number>;
  workspacesWithStatus(organizationId: string, matches: (column: string) => RawBuilder<SqlBool>): RawBuilder<number>;
  /** Merges up to `limit` rows of each table. Returns the largest number of rows merged of one table. */
  mergeDifferences(db: Kysely<Schema>, limit: number): Promise<number>;
}

const counters = {
  tag_binding_counts: { differences: "tag_binding_differences", columns: ["organization_id", "key", "value"] },
  run_status_counts: { differences: "run_status_differences", columns: ["organization_id", "status"] },
} as const;

type CounterTable = keyof typeof counters;

const summed = (table: string, organizationId: string, isCounted: RawBuilder<SqlBool>) => sql<number>`
  (select cast(coalesce(sum(c.number), 0) as bigint) from ${sql.table(table)} as c
    where c.organization_id = ${organizationId} and ${isCounted})`;

const hasBinding = ({ key, value }: CountedKey) =>
  sql<SqlBool>`c.key = ${key} ${value ? sql`and c.value = ${value}` : sql``}`;

const countsFrom = (
  sum: (table: CounterTable, organizationId: string, isCounted: RawBuilder<SqlBool>) => RawBuilder<number>,
): Pick<RegisterCounts, "workspacesWithTag" | "workspacesWithStatus"> => ({
  workspacesWithTag: (organizationId, tag) => sum("tag_binding_counts", organizationId, hasBinding(tag)),
  workspacesWithStatus: (organizationId, matches) => sum("run_status_counts", organizationId, matches("c.status")),
});

export const sqliteCounts: RegisterCounts = {
  ...countsFrom(summed),
  mergeDifferences: () => Promise.resolve(0),
};

export const postgresCounts: RegisterCounts = {
  ...countsFrom(
    (table, ...filter) =>
      sql<number>`(${summed(table, ...filter)} + ${summed(counters[table].differences, ...filter)})`,
  ),
  mergeDifferences: async (db, limit) => {
    const numbers = [];
    for (const table of Object.keys(counters) as CounterTable[]) numbers.push(await mergeTable(db, table, limit));
    return Math.max(...numbers);
  },
};

/** One statement: readers see all of a merge or nothing. Writers don't wait, because nothing else touches the merged rows. */
async function mergeTable(db: Kysely<Schema>, table: CounterTable, limit: number): Promise<number> {
  const { differences, columns } = counters[table];
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const merged = await sql<{ number: number }>`
    with taken as (
      delete from ${sql.table(differences)} where ctid = any(array(
        select ctid from ${sql.table(differences)} limit ${limit} for update skip locked))
      returning ${names}, number
    ), added as (
      insert into ${sql.table(table)} (${names}, number)
      select ${names}, sum(number) from taken group by ${names}
      on conflict (${names}) do update set number = ${sql.table(table)}.number + excluded.number
    )
    select count(*) as number from taken`.execute(db);
  await sql`delete from ${sql.table(table)} where number = 0`.execute(db);
  return Number(merged.rows[0]?.number ?? 0);
}
