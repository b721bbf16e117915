/**
 * The table `organization_changes`: triggers record in it, in the transaction of every change, whose responses the change can alter. See
 * docs/decisions/0193-stale-responses-by-organization.md.
 */
import { type Kysely, type RawBuilder, sql } from "kysely";
import { siteId } from "./observed-commits.ts";
import type { Schema } from "./schema/schema.ts";

/** The column that names a row's organization; null for tables of the site. Rows without an organization are the site's. */
export type OrganizationColumn = "organization_id" | "id" | null;

export interface ChangeParameters {
  /** Of transactions with this number or a higher one. */
  readonly changedAfter: number;
  /** And of these, as an array in PostgreSQL's notation. */
  readonly changedIn: string;
}

/** Where nothing is observed, as in transactions. */
export const noChanges: ChangeParameters = { changedAfter: 0, changedIn: "{}" };

/** A statement returns at most as many changes; as many mean that there are more. */
export const changesMax = 101;

/** Starts a change that stands for the removal of all rows of transactions before the number that follows it. */
export const trimMark = "<";

/** Starts with `|` for each change. The order makes the planner use the index, whatever it knows of the table. */
export const changesSince = ({
  changedAfter,
  changedIn,
}: ChangeParameters): RawBuilder<string> => sql<string>`coalesce((
  select string_agg('|' || change.organization_id, '') from (
    (select organization_id from organization_changes where transaction_id >= cast(${changedAfter} as bigint)
      order by transaction_id desc limit ${sql.lit(changesMax)})
    union all
    (select organization_id from organization_changes where transaction_id = any(cast(${changedIn} as bigint[]))
      limit ${sql.lit(changesMax)})) as change), '')`;

const events = ["insert", "update", "delete"] as const;
type ChangeEvent = (typeof events)[number];
const rowOf: Record<ChangeEvent, "NEW" | "OLD"> = { insert: "NEW", update: "NEW", delete: "OLD" };

export const sqliteChangeTriggers = (tables: Readonly<Record<string, OrganizationColumn>>): string[] =>
  Object.entries(tables).flatMap(([table, column]) =>
    events.map((event) => {
      const organization = column === null ? `'${siteId}'` : `coalesce(${rowOf[event]}.${column}, '${siteId}')`;
      return `CREATE TRIGGER ${table}_change_${event} AFTER ${event.toUpperCase()} ON ${table} BEGIN
        INSERT INTO organization_changes (organization_id) VALUES (${organization}); END`;
    }),
  );

const functionOf = (column: OrganizationColumn): string =>
  column === null ? "record_site_change" : column === "id" ? "record_own_change" : "record_organization_change";

/** Once per statement, and once per transaction and organization. */
export function postgresChangeTriggers(tables: Readonly<Record<string, OrganizationColumn>>): string[] {
  if (Object.keys(tables).length === 0) return [];
  const insertion = (organization: string) =>
    `INSERT INTO organization_changes (transaction_id, organization_id)
        SELECT DISTINCT cast(cast(pg_current_xact_id() AS text) AS bigint), ${organization} FROM changed_rows
        ON CONFLICT DO NOTHING`;
  const functions = ([null, "id", "organization_id"] as const).map(
    (column) =>
      `CREATE OR REPLACE FUNCTION ${functionOf(column)}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        ${insertion(column === null ? `'${siteId}'` : `coalesce(${column}, '${siteId}')`)};
        RETURN NULL;
      END $$`,
  );
  const triggers = Object.entries(tables).flatMap(([table, column]) =>
    events.map(
      (event) =>
        `CREATE TRIGGER ${table}_change_${event} AFTER ${event.toUpperCase()} ON ${table}
        REFERENCING ${rowOf[event]} TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION ${functionOf(column)}()`,
    ),
  );
  return [...functions, ...triggers];
}

/** SQLite numbers the rows without gaps, so a server notices when rows that it has not read are gone. */
const rowsKept = 10_000;

export async function trimChangesBySize(db: Kysely<Schema>, limit: number): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    delete from organization_changes where id in (
      select id from organization_changes
      where id <= (select max(id) from organization_changes) - ${rowsKept} order by id limit ${limit})
    returning id`.execute(db);
  return rows.length;
}

/**
 * Removes rows of transactions that had ended at the time of the last trim, and leaves a mark: a server that knows only older snapshots reads
 * everything again. No clock is involved.
 */
export async function trimChangesBySnapshot(db: Kysely<Schema>, limit: number): Promise<number> {
  const { rows } = await sql<{ removed: number }>`
    with kept as (
      select 1 from organization_changes offset ${rowsKept} limit 1
    ), boundary as (
      select least(horizon, (select transaction_id from organization_changes order by transaction_id offset ${limit} limit 1))
        as transaction_id
      from organization_changes where horizon is not null and exists (select from kept)
      order by organization_changes.transaction_id desc limit 1
    ), removed as (
      delete from organization_changes where transaction_id < (select transaction_id from boundary) returning 1
    ), mark as (
      insert into organization_changes (transaction_id, organization_id, horizon)
      select cast(cast(pg_current_xact_id() as text) as bigint),
        ${trimMark} || coalesce((select transaction_id from boundary), 0),
        cast(cast(pg_snapshot_xmin(pg_current_snapshot()) as text) as bigint)
      where exists (select from kept)
    )
    select count(*) as removed from removed`.execute(db);
  return Number(rows[0]?.removed ?? 0);
}
