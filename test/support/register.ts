/** The whole register at a glance, and the register without its trail: for tests about what a request leaves behind. */
import { CompiledQuery, sql } from "kysely";
import { tablesAfter } from "../../src/backup/tables.ts";
import type { Database } from "../../src/database/database.ts";
import { migrations } from "../../src/database/migrate.ts";

/** Tables without a version: their rows are added and removed, and counting them tells. */
const unversioned = new Set([
  "meta",
  "jobs",
  "contents",
  "content_chunks",
  "state_version_outputs",
  "state_resources",
  "migrations",
  "team_members",
  "agent_pool_scopes",
  "varset_workspaces",
  "oauth_client_projects",
  "varset_projects",
  "remote_state_consumers",
  "module_consumers",
  "workspace_tags",
  "tag_bindings",
  "audit_events",
  "run_log_chunks",
  "run_events",
  "comments",
  "identity_keys",
  "run_trigger_firings",
  "site_operations",
]);

const tables = tablesAfter(migrations.map((migration) => migration.name));

/**
 * What every table holds, so that a change of any row shows: how many rows there are, and the sum of their versions, which
 * every change raises. One statement, because it is asked before and after each request.
 */
export async function fingerprint(database: Database, besides: readonly string[] = []): Promise<string> {
  const counts = tables
    .filter((name) => !besides.includes(name))
    .map((name) => {
      const versions = unversioned.has(name) ? sql`0` : sql`coalesce(sum(version), 0)`;
      return sql`(select cast(count(*) as text) || '/' || cast(${versions} as text) from ${sql.table(name)})`;
    });
  const columns = counts.map((count, index) => sql`${count} as ${sql.ref(`t${index}`)}`);
  const result = await sql<object>`select ${sql.join(columns)}`.execute(database.reader.db);
  return JSON.stringify(result.rows[0]);
}

/** Takes the trail away while something is tried. */
export async function withoutTrail<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const run = (statement: string) => database.write((tx) => tx.db.executeQuery(CompiledQuery.raw(statement)));
  await run("ALTER TABLE audit_events RENAME TO audit_events_away");
  try {
    return await work();
  } finally {
    await run("ALTER TABLE audit_events_away RENAME TO audit_events");
  }
}
