/** Reads the counters of migrations 0033 and 0036, including the differences that are not merged yet on PostgreSQL. */
import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Schema } from "./schema/schema.ts";

interface CountedKey {
  readonly key: string;
  readonly value?: string | undefined;
}

export interface RegisterCounts {
  workspacesWithTag(organizationId: string, asked: CountedKey): RawBuilder<number>;
  workspacesWithStatus(organizationId: string, fits: (column: string) => RawBuilder<SqlBool>): RawBuilder<number>;
  /** Returns the largest number merged of one kind. */
  mergeDifferences(db: Kysely<Schema>, most: number): Promise<number>;
}

const counted = {
  tag_binding_counts: { differences: "tag_binding_differences", columns: ["organization_id", "key", "value"] },
  run_status_counts: { differences: "run_status_differences", columns: ["organization_id", "status"] },
} as const;

type Counters = keyof typeof counted;

const summed = (table: string, organizationId: string, isAsked: RawBuilder<SqlBool>) => sql<number>`
  (select cast(coalesce(sum(c.number), 0) as bigint) from ${sql.table(table)} as c
    where c.organization_id = ${organizationId} and ${isAsked})`;

const isBound = ({ key, value }: CountedKey) =>
  sql<SqlBool>`c.key = ${key} ${value ? sql`and c.value = ${value}` : sql``}`;

const askedOf = (
  sum: (table: Counters, organizationId: string, isAsked: RawBuilder<SqlBool>) => RawBuilder<number>,
): Pick<RegisterCounts, "workspacesWithTag" | "workspacesWithStatus"> => ({
  workspacesWithTag: (organizationId, asked) => sum("tag_binding_counts", organizationId, isBound(asked)),
  workspacesWithStatus: (organizationId, fits) => sum("run_status_counts", organizationId, fits("c.status")),
});

export const sqliteCounts: RegisterCounts = {
  ...askedOf(summed),
  mergeDifferences: () => Promise.resolve(0),
};

export const postgresCounts: RegisterCounts = {
  ...askedOf(
    (table, ...asked) => sql<number>`(${summed(table, ...asked)} + ${summed(counted[table].differences, ...asked)})`,
  ),
  mergeDifferences: async (db, most) => {
    const numbers = [];
    for (const table of Object.keys(counted) as Counters[]) numbers.push(await mergeTable(db, table, most));
    return Math.max(...numbers);
  },
};

/** Readers see all of it or nothing; writers don't wait, because only this statement touches the merged rows. */
async function mergeTable(db: Kysely<Schema>, table: Counters, most: number): Promise<number> {
  const { differences, columns } = counted[table];
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const added = await sql<{ number: number }>`
    with taken as (
      delete from ${sql.table(differences)} where ctid = any(array(
        select ctid from ${sql.table(differences)} limit ${most} for update skip locked))
      returning ${names}, number
    ), added as (
      insert into ${sql.table(table)} (${names}, number)
      select ${names}, sum(number) from taken group by ${names}
      on conflict (${names}) do update set number = ${sql.table(table)}.number + excluded.number
    )
    select count(*) as number from taken`.execute(db);
  await sql`delete from ${sql.table(table)} where number = 0`.execute(db);
  return Number(added.rows[0]?.number ?? 0);
}
