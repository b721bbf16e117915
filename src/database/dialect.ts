/** The differences between the two engines' SQL. */
import { type Expression, type Kysely, type RawBuilder, sql, type SqlBool } from "kysely";
import { searchWords } from "../kernel/text.ts";
import { postgresCounts, type RegisterCounts, sqliteCounts } from "./counts.ts";
import { type NameIndex, postgresNames, sqliteNames } from "./name-index.ts";
import {
  type ChangeParameters,
  changesSince,
  type OrganizationColumn,
  postgresChangeTriggers,
  sqliteChangeTriggers,
  trimChangesBySize,
  trimChangesBySnapshot,
} from "./organization-changes.ts";
import type { Schema } from "./schema/schema.ts";

/**
 * As in PostgreSQL: `reference` is FOR KEY SHARE, `change` FOR NO KEY UPDATE, `removal` FOR UPDATE. Writing a foreign key locks for a
 * reference automatically.
 */
export type LockPurpose = "reference" | "change" | "removal";

export interface Dialect {
  readonly name: "sqlite" | "postgres";
  /** Replaces the column types of `Migration.statements`. */
  ddl(statement: string): string;
  /** Compares bytes: no wildcards, no folding. */
  contains(text: Expression<string>, part: string | Expression<string>): RawBuilder<SqlBool>;
  isOneOf(text: Expression<string | null>, values: readonly string[]): RawBuilder<SqlBool>;
  valuesTable(values: readonly string[]): RawBuilder<unknown>;
  /** Of a JSON object whose values are lists: tables `list`, with its `key`, and `item`, with its `value`. */
  listItems(json: Expression<string | null>): RawBuilder<unknown>;
  lockRows(table: string, purpose?: LockPurpose): RawBuilder<unknown>;
  lockRowsSkipLocked(table: string, purpose?: LockPurpose): RawBuilder<unknown>;
  /** Whether a bound LIMIT is planned well. Where it is not, statements contain a rounded literal limit. */
  readonly plansBoundLimits: boolean;
  /** The prefix of a large statement with explicit joins, for which replanning gains nothing. */
  readonly genericPlanHint: RawBuilder<unknown>;
  readonly names: NameIndex;
  readonly counts: RegisterCounts;
  readonly nowMs: RawBuilder<number>;
  readonly databaseBytes: RawBuilder<number>;
  msOf(instant: Expression<string | null>): RawBuilder<number>;
  /** In the form of stored timestamps. */
  later(instant: Expression<string>, seconds: Expression<number | null>): RawBuilder<string>;
  /** The statement's snapshot, and what has changed, for `Tx.commits`; null where `Database.snapshotId` needs no statement. */
  snapshotId(since: ChangeParameters): RawBuilder<string | null>;
  /** Triggers that refuse updates and deletions. */
  appendOnly(table: string): string[];
  /** Of any table; valid within a statement. */
  readonly rowId: RawBuilder<unknown>;
  /** A condition: one of the `rowId`s that the statement returns. */
  rowIds(statement: RawBuilder<unknown>): RawBuilder<SqlBool>;
  readonly lockSetup: string | undefined;
  /** `toChange` excludes all writers; `toAdd` excludes only other schema changes. Undefined where there is one writer at a time. */
  readonly lockSchema: { readonly toWrite: string; readonly toAdd: string; readonly toChange: string } | undefined;
  /** Waits for index builds of the table, without making writers wait. Undefined where a transaction builds them. */
  readonly lockIndexBuilds: ((table: string) => string) | undefined;
  /** PostgreSQL can't alter tables with pending deferred triggers. */
  readonly runDeferredNow: string | undefined;
  accessVersionTriggers(tables: Readonly<Record<string, readonly string[]>>): string[];
  accessVersionColumnTriggers(tables: Readonly<Record<string, readonly string[]>>): string[];
  changeTriggers(tables: Readonly<Record<string, OrganizationColumn>>): string[];
  /** Removes old rows of `organization_changes`. Returns how many. */
  trimChanges(db: Kysely<Schema>, limit: number): Promise<number>;
}

/** Starts with the time, so that a restored register continues from another number. */
const firstAccessVersion = (nowMs: string) =>
  `INSERT INTO access_versions (organization_id, version, raised_in) VALUES (NEW.id, ${nowMs}, 0);`;

export const sqliteDialect: Dialect = {
  name: "sqlite",
  ddl: (statement) => statement.replace(/\bBYTES\b/g, "BLOB").replace(/^(\s*CREATE TABLE[\s\S]*\))\s*$/, "$1 STRICT"),
  contains: (text, part) => sql<SqlBool>`instr(${text}, ${part}) > 0`,
  isOneOf: (text, values) => sql<SqlBool>`${text} in (select value from json_each(${JSON.stringify(values)}))`,
  valuesTable: (values) => sql`(select value from json_each(${JSON.stringify(values)}))`,
  listItems: (json) => sql`json_each(${json}) as list, json_each(list.value) as item`,
  lockRows: () => sql``,
  lockRowsSkipLocked: () => sql``,
  plansBoundLimits: true,
  genericPlanHint: sql``,
  names: sqliteNames,
  counts: sqliteCounts,
  nowMs: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
  databaseBytes: sql<number>`(select page_count * page_size from pragma_page_count(), pragma_page_size())`,
  msOf: (instant) => sql<number>`cast(unixepoch(${instant}, 'subsec') * 1000 as integer)`,
  later: (instant, seconds) => sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', ${instant}, ${seconds} || ' seconds')`,
  snapshotId: () => sql<null>`null`,
  appendOnly: (table) => {
    const refuse = (name: string, when: string) =>
      `CREATE TRIGGER ${table}_refuse_${name} BEFORE ${when} BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END`;
    return [
      refuse("update", `UPDATE ON ${table}`),
      refuse("delete", `DELETE ON ${table}`),
      // INSERT OR REPLACE would otherwise bypass the other two.
      refuse("replace", `INSERT ON ${table} WHEN EXISTS (SELECT 1 FROM ${table} WHERE id = NEW.id)`),
    ];
  },
  rowId: sql`rowid`,
  rowIds: (statement) => sql<SqlBool>`rowid in (${statement})`,
  lockSetup: undefined,
  lockSchema: undefined,
  lockIndexBuilds: undefined,
  runDeferredNow: undefined,
  accessVersionTriggers: (tables) =>
    Object.entries(tables).flatMap(([table, columns]) => {
      const isOrganization = table === "organizations";
      const raise = (row: "NEW" | "OLD") =>
        `UPDATE access_versions SET version = version + 1 WHERE organization_id = ${row}.${isOrganization ? "id" : "organization_id"};`;
      const trigger = (name: string, when: string, statement: string) =>
        `CREATE TRIGGER ${table}_access_${name} AFTER ${when} ON ${table} BEGIN ${statement} END`;
      return [
        trigger("update", `UPDATE OF ${columns.join(", ")}`, raise("NEW")),
        ...(isOrganization
          ? [trigger("insert", "INSERT", firstAccessVersion("cast(unixepoch('subsec') * 1000 as integer)"))]
          : [trigger("insert", "INSERT", raise("NEW")), trigger("delete", "DELETE", raise("OLD"))]),
      ];
    }),
  accessVersionColumnTriggers: (tables) =>
    Object.entries(tables).map(
      ([table, columns]) =>
        `CREATE TRIGGER ${table}_access_update_${columns.join("_")} AFTER UPDATE OF ${columns.join(", ")} ON ${table}
        BEGIN UPDATE access_versions SET version = version + 1 WHERE organization_id = NEW.organization_id; END`,
    ),
  changeTriggers: sqliteChangeTriggers,
  trimChanges: trimChangesBySize,
};

const setupLock = 4_721_339_001;

/** The weakest sufficient locks, so that references don't wait for changes. */
const strengths: Readonly<Record<LockPurpose, RawBuilder<unknown>>> = {
  reference: sql`for key share`,
  change: sql`for no key update`,
  removal: sql`for update`,
};

const genericPlanMarker = "/* generic plan */";
export const hasGenericPlanHint = (statement: string): boolean => statement.startsWith(genericPlanMarker);

export const postgresDialect: Dialect = {
  name: "postgres",
  ddl: (statement) =>
    statement
      .replace(/\bTEXT\b/g, 'text COLLATE "C"')
      .replace(/\bINTEGER\b/g, "bigint")
      .replace(/\bBYTES\b/g, "bytea"),
  contains: (text, part) => sql<SqlBool>`strpos(${text}, ${part}) > 0`,
  isOneOf: (text, values) => sql<SqlBool>`${text} = any(${[...values]}::text[])`,
  valuesTable: (values) => sql`(select value from unnest(${[...values]}::text[]) as list (value))`,
  listItems: (json) => sql`json_each(${json}::json) as list, json_array_elements_text(list.value) as item (value)`,
  lockRows: (table, purpose = "change") => sql`${strengths[purpose]} of ${sql.table(table)}`,
  lockRowsSkipLocked: (table, purpose = "change") => sql`${strengths[purpose]} of ${sql.table(table)} skip locked`,
  // PostgreSQL estimates a bound limit as a tenth of all rows, and plans joins for that number.
  plansBoundLimits: false,
  genericPlanHint: sql.raw(genericPlanMarker),
  names: postgresNames,
  counts: postgresCounts,
  nowMs: sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
  databaseBytes: sql<number>`pg_database_size(current_database())`,
  msOf: (instant) => sql<number>`cast(extract(epoch from cast(${instant} as timestamptz)) * 1000 as bigint)`,
  later: (instant, seconds) => sql<string>`to_char(
    (cast(${instant} as timestamptz) + ${seconds} * interval '1 second') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') collate "C"`,
  // What a statement sees depends only on its snapshot. The start time distinguishes servers and restarts.
  snapshotId: (since) =>
    sql<string>`pg_postmaster_start_time()::text || '|' || pg_current_snapshot()::text || ${changesSince(since)}`,
  appendOnly: (table) => [
    `CREATE FUNCTION ${table}_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '${table} is append-only'; END $$`,
    `CREATE TRIGGER ${table}_refuse_change BEFORE UPDATE OR DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_refuse_change()`,
    `CREATE TRIGGER ${table}_refuse_truncate BEFORE TRUNCATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION ${table}_refuse_change()`,
  ],
  rowId: sql`ctid`,
  // An array is looked up by position; IN would read the whole table.
  rowIds: (statement) => sql<SqlBool>`ctid = any (array(${statement}))`,
  lockSetup: `SELECT pg_advisory_xact_lock(${setupLock})`,
  lockSchema: {
    toWrite: "LOCK TABLE migrations IN ROW SHARE MODE",
    toAdd: "LOCK TABLE migrations IN SHARE UPDATE EXCLUSIVE MODE",
    toChange: "LOCK TABLE migrations IN EXCLUSIVE MODE",
  },
  lockIndexBuilds: (table) => `LOCK TABLE ${table} IN SHARE UPDATE EXCLUSIVE MODE`,
  runDeferredNow: "SET CONSTRAINTS ALL IMMEDIATE",
  accessVersionTriggers: (tables) => {
    if (Object.keys(tables).length === 0) return [];
    // Deferred to the commit, because the row is last in the lock order; and once per transaction.
    const raiseFunction = (name: string, id: string) =>
      `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE access_versions SET version = version + 1, raised_in = txid_current()
          WHERE organization_id = ${id} AND raised_in <> txid_current();
        RETURN NULL;
      END $$`;
    const trigger = (table: string, events: string, calls: string) =>
      `CREATE CONSTRAINT TRIGGER ${table}_${calls} AFTER ${events} ON ${table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${calls}()`;
    return [
      raiseFunction("raise_access_version", "COALESCE(NEW.organization_id, OLD.organization_id)"),
      raiseFunction("raise_own_access_version", "NEW.id"),
      `CREATE FUNCTION begin_access_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        ${firstAccessVersion("cast(extract(epoch from clock_timestamp()) * 1000 as bigint)")}
        RETURN NULL;
      END $$`,
      `CREATE TRIGGER organizations_begin_access_version AFTER INSERT ON organizations FOR EACH ROW EXECUTE FUNCTION begin_access_version()`,
      ...Object.entries(tables).map(([table, columns]) =>
        table === "organizations"
          ? trigger(table, `UPDATE OF ${columns.join(", ")}`, "raise_own_access_version")
          : trigger(table, `INSERT OR DELETE OR UPDATE OF ${columns.join(", ")}`, "raise_access_version"),
      ),
    ];
  },
  accessVersionColumnTriggers: (tables) =>
    Object.entries(tables).map(
      ([table, columns]) =>
        `CREATE CONSTRAINT TRIGGER ${table}_raise_access_version_${columns.join("_")} AFTER UPDATE OF ${columns.join(", ")} ON ${table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION raise_access_version()`,
    ),
  changeTriggers: postgresChangeTriggers,
  trimChanges: trimChangesBySnapshot,
};

/** Each word is in one of the texts, in any order and ignoring case. SQL wildcards are plain characters. A blank search matches all. */
export function containsWords(
  { contains }: Pick<Dialect, "contains">,
  texts: readonly Expression<string>[],
  search: string,
  folded?: (text: string) => string,
): RawBuilder<SqlBool> {
  const isInOneText = (word: string) =>
    sql<SqlBool>`(${sql.join(
      texts.map((text) => contains(text, word)),
      sql` or `,
    )})`;
  const words = searchWords(search, folded);
  return words.length === 0 ? sql<SqlBool>`1 = 1` : sql<SqlBool>`${sql.join(words.map(isInOneText), sql` and `)}`;
}
