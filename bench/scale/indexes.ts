/** Drops indexes before bulk inserts, and recreates them afterwards. */
import { CompiledQuery } from "kysely";
import type { Database } from "../../src/database/database.ts";

export interface Index {
  readonly name: string;
  readonly definition: string;
}

const tables = "('workspaces', 'workspace_tags', 'tag_bindings', 'audit_events')";

const texts = {
  postgres: `select indexname as name, indexdef as definition from pg_indexes
    where tablename in ${tables} and indexname not in (select conname from pg_constraint)`,
  sqlite: `select name, sql as definition from sqlite_schema
    where type = 'index' and sql is not null and tbl_name in ${tables}`,
};

/** Indexes of large tables that no constraint uses. */
export async function plainIndexes({ dialect, reader }: Database): Promise<readonly Index[]> {
  const { rows } = await reader.db.executeQuery<Index>(CompiledQuery.raw(texts[dialect.name]));
  return rows;
}

/** Vacuum, as in a database in use: without it PostgreSQL can't use index-only scans. */
export async function tidy({ dialect, reader }: Database): Promise<void> {
  if (dialect.name === "postgres") await reader.db.executeQuery(CompiledQuery.raw("vacuum analyze"));
}
