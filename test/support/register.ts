/** Snapshots of the whole database, and a database whose audit log refuses writes: for tests about the effects of a request. */
import { CompiledQuery, sql } from "kysely";
import { tablesAfter } from "../../src/backup/format.ts";
import type { Database } from "../../src/database/database.ts";
import { migrations } from "../../src/database/migrate.ts";
import { isOnBothEngines } from "./depth.ts";

/** Rows of these tables are only added and removed, so counting them is enough. */
const unversioned = new Set([
  "vcs_deliveries",
  "vcs_statuses",
  "vcs_webhooks",
  "sso_identities",
  "sso_sessions",
  "sso_replies",
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
  "import_links",
  "invitations",
  "authorizations",
  "notification_configuration_users",
  "notification_configuration_members",
  "audit_notices",
]);

const tables = tablesAfter(migrations.map((migration) => migration.name));

const seen = new WeakMap<Database, { readonly snapshotId: number; readonly besides: string; readonly text: string }>();

/** Row counts and sums of versions, which every change raises. Cached while the embedded database has no commits, except in the gate. */
export async function fingerprint(database: Database, without: readonly string[] = []): Promise<string> {
  const snapshotId = isOnBothEngines ? undefined : database.snapshotId();
  const besides = without.join();
  const last = seen.get(database);
  if (last !== undefined && last.snapshotId === snapshotId && last.besides === besides) return last.text;
  const result = await database.reader.db.executeQuery(counting(database, without));
  const text = JSON.stringify(result.rows[0]);
  if (snapshotId !== undefined) seen.set(database, { snapshotId, besides, text });
  return text;
}

export async function dump(database: Database): Promise<string> {
  const parts: string[] = [];
  for (const table of tables) {
    const { rows } = await sql<object>`select * from ${sql.table(table)}`.execute(database.reader.db);
    for (const value of rows.flatMap((row) => Object.values(row)))
      parts.push(value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value));
  }
  return parts.join("\n");
}

const compiled = new Map<string, CompiledQuery>();

function counting({ dialect, reader }: Database, without: readonly string[]): CompiledQuery {
  const key = [dialect.name, ...without].join();
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const counts = tables
    .filter((name) => !without.includes(name))
    .map((name) => {
      const versions = unversioned.has(name) ? sql`0` : sql`coalesce(sum(version), 0)`;
      return sql`(select cast(count(*) as text) || '/' || cast(${versions} as text) from ${sql.table(name)})`;
    });
  const columns = counts.map((count, index) => sql`${count} as ${sql.ref(`t${index}`)}`);
  const query = sql`select ${sql.join(columns)}`.compile(reader.db);
  compiled.set(key, query);
  return query;
}

/** Makes writes to the audit log fail by a row: dropping the table would recompile every statement. */
export class Trail {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async guard(): Promise<void> {
    for (const statement of guards[this.#database.dialect.name].made) await this.#run(statement);
  }

  async unguard(): Promise<void> {
    for (const statement of guards[this.#database.dialect.name].gone) await this.#run(statement);
  }

  async without<T>(work: () => Promise<T>): Promise<T> {
    await this.#run("INSERT INTO meta (name, value) VALUES ('no-trail', '')");
    try {
      return await work();
    } finally {
      await this.#run("DELETE FROM meta WHERE name = 'no-trail'");
    }
  }

  async #run(statement: string): Promise<void> {
    await this.#database.write((tx) => tx.db.executeQuery(CompiledQuery.raw(statement)));
  }
}

export async function withoutTrail<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const trail = new Trail(database);
  await trail.guard();
  try {
    return await trail.without(work);
  } finally {
    await trail.unguard();
  }
}

const isClosed = "EXISTS (SELECT 1 FROM meta WHERE name = 'no-trail')";
const guards = {
  sqlite: {
    made: [
      `CREATE TRIGGER no_trail BEFORE INSERT ON audit_events WHEN ${isClosed}
        BEGIN SELECT RAISE(ABORT, 'there is no trail'); END`,
    ],
    gone: ["DROP TRIGGER no_trail"],
  },
  postgres: {
    made: [
      `CREATE FUNCTION no_trail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF ${isClosed} THEN RAISE EXCEPTION 'there is no trail'; END IF; RETURN NEW; END $$`,
      "CREATE TRIGGER no_trail BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION no_trail()",
    ],
    gone: ["DROP TRIGGER no_trail ON audit_events", "DROP FUNCTION no_trail"],
  },
};
