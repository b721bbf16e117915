/**
 * What the database counts by itself, by the triggers of migrations 0033 and 0036: an index is gone through one entry after the other,
 * and a list's total is to be exact. On the embedded database the counters themselves are changed. On PostgreSQL writers would wait for
 * each other there: each notes the difference that it makes, a job adds these up, and whoever asks adds those that are left.
 */
import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Schema } from "./schema/schema.ts";

interface CountedKey {
  readonly key: string;
  readonly value?: string | undefined;
}

export interface RegisterCounts {
  /** How many workspaces of an organization have a binding of their own with a key, and a value if one is given. */
  bound(organizationId: string, asked: CountedKey): RawBuilder<number>;
  /** How many have a current run in a state; `fits` is told the column. */
  inState(organizationId: string, fits: (column: string) => RawBuilder<SqlBool>): RawBuilder<number>;
  /** Adds up to so many differences up, of each kind, and gives how many there were of the kind that had most. */
  addUp(db: Kysely<Schema>, most: number): Promise<number>;
}

/** The tables of differences are called like those of counters, as the migration says. */
const counted = {
  tag_binding_counts: { differences: "tag_binding_differences", columns: ["organization_id", "key", "value"] },
  run_status_counts: { differences: "run_status_differences", columns: ["organization_id", "status"] },
} as const;

type Counters = keyof typeof counted;

/** The sum of what a table, called `c`, has for an organization. */
const summed = (table: string, organizationId: string, isAsked: RawBuilder<SqlBool>) => sql<number>`
  (select cast(coalesce(sum(c.number), 0) as bigint) from ${sql.table(table)} as c
    where c.organization_id = ${organizationId} and ${isAsked})`;

const isBound = ({ key, value }: CountedKey) =>
  sql<SqlBool>`c.key = ${key} ${value ? sql`and c.value = ${value}` : sql``}`;

const askedOf = (
  sum: (table: Counters, organizationId: string, isAsked: RawBuilder<SqlBool>) => RawBuilder<number>,
): Pick<RegisterCounts, "bound" | "inState"> => ({
  bound: (organizationId, asked) => sum("tag_binding_counts", organizationId, isBound(asked)),
  inState: (organizationId, fits) => sum("run_status_counts", organizationId, fits("c.status")),
});

export const sqliteCounts: RegisterCounts = {
  ...askedOf(summed),
  addUp: () => Promise.resolve(0),
};

export const postgresCounts: RegisterCounts = {
  ...askedOf(
    (table, ...asked) => sql<number>`(${summed(table, ...asked)} + ${summed(counted[table].differences, ...asked)})`,
  ),
  addUp: async (db, most) => {
    const numbers = [];
    for (const table of Object.keys(counted) as Counters[]) numbers.push(await addUpTable(db, table, most));
    return Math.max(...numbers);
  },
};

/** Whoever reads meanwhile sees all of it, or nothing; whoever writes waits for nobody, because nobody else touches what is added up. */
async function addUpTable(db: Kysely<Schema>, table: Counters, most: number): Promise<number> {
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
  // Of what nothing has any more no row is kept: values come and go.
  await sql`delete from ${sql.table(table)} where number = 0`.execute(db);
  return Number(added.rows[0]?.number ?? 0);
}
