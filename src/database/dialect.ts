/** The few true differences between the two engines' SQL, behind one interface. */
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";

/**
 * What a row is locked for, and so what others may not do to it meanwhile: for a reference, remove it; for a change, neither
 * remove nor change it; for its removal, nor refer to it. A foreign key that is written refers by itself.
 */
export type LockPurpose = "reference" | "change" | "removal";

export interface Dialect {
  readonly name: "sqlite" | "postgres";
  /** Turns the type words of a migration (TEXT, INTEGER, BYTES) into the engine's own. */
  ddl(statement: string): string;
  /** `text` contains `part`, byte by byte: no wildcards, no folding. */
  contains(text: Expression<string>, part: string): RawBuilder<SqlBool>;
  /** Membership in a list of any length, as one parameter, so that the statement stays the same. */
  isOneOf(text: Expression<string | null>, values: readonly string[]): RawBuilder<SqlBool>;
  /** Appended to a SELECT inside a transaction: the rows of this table are held until it ends. */
  lockRows(table: string, purpose?: LockPurpose): RawBuilder<unknown>;
  /** The same, without waiting: rows that others hold are passed over. */
  lockFreeRows(table: string, purpose?: LockPurpose): RawBuilder<unknown>;
  /** The database's own clock, in milliseconds: the one that every server agrees on. */
  readonly nowMs: RawBuilder<number>;
  /** The statements that make a table refuse UPDATE and DELETE. */
  appendOnly(table: string): string[];
  /** Takes, until the transaction ends, the right to set the database up: its schema and its first rows. */
  readonly lockSetup: string | undefined;
}

export const sqliteDialect: Dialect = {
  name: "sqlite",
  ddl: (statement) => statement.replace(/\bBYTES\b/g, "BLOB").replace(/^(\s*CREATE TABLE[\s\S]*\))\s*$/, "$1 STRICT"),
  contains: (text, part) => sql<SqlBool>`instr(${text}, ${part}) > 0`,
  isOneOf: (text, values) => sql<SqlBool>`${text} in (select value from json_each(${JSON.stringify(values)}))`,
  // The one writer holds the whole file already.
  lockRows: () => sql``,
  lockFreeRows: () => sql``,
  nowMs: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
  appendOnly: (table) => {
    const refuse = (name: string, when: string) =>
      `CREATE TRIGGER ${table}_refuse_${name} BEFORE ${when} BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END`;
    return [
      refuse("update", `UPDATE ON ${table}`),
      refuse("delete", `DELETE ON ${table}`),
      // INSERT OR REPLACE would otherwise be a way around the other two.
      refuse("replace", `INSERT ON ${table} WHEN EXISTS (SELECT 1 FROM ${table} WHERE id = NEW.id)`),
    ];
  },
  lockSetup: undefined,
};

/** An arbitrary number that names our lock among the database's advisory locks. */
const setupLock = 4_721_339_001;

/** The weakest that will do, so that whoever only refers to a row does not wait for whoever changes it. */
const strengths: Readonly<Record<LockPurpose, RawBuilder<unknown>>> = {
  reference: sql`for key share`,
  change: sql`for no key update`,
  removal: sql`for update`,
};

export const postgresDialect: Dialect = {
  name: "postgres",
  ddl: (statement) =>
    statement
      .replace(/\bTEXT\b/g, 'text COLLATE "C"')
      .replace(/\bINTEGER\b/g, "bigint")
      .replace(/\bBYTES\b/g, "bytea"),
  contains: (text, part) => sql<SqlBool>`strpos(${text}, ${part}) > 0`,
  isOneOf: (text, values) => sql<SqlBool>`${text} = any(${[...values]}::text[])`,
  lockRows: (table, purpose = "change") => sql`${strengths[purpose]} of ${sql.table(table)}`,
  lockFreeRows: (table, purpose = "change") => sql`${strengths[purpose]} of ${sql.table(table)} skip locked`,
  nowMs: sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
  appendOnly: (table) => [
    `CREATE FUNCTION ${table}_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '${table} is append-only'; END $$`,
    `CREATE TRIGGER ${table}_refuse_change BEFORE UPDATE OR DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_refuse_change()`,
    `CREATE TRIGGER ${table}_refuse_truncate BEFORE TRUNCATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION ${table}_refuse_change()`,
  ],
  lockSetup: `SELECT pg_advisory_xact_lock(${setupLock})`,
};
