/** For tests of a request's effects: snapshots of the whole database, and an audit log that refuses writes. */
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
  "unattached_objects",
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
  "access_offer_teams",
  "access_violations",
  "access_violation_scans",
  "access_request_requirements",
  "access_request_parties",
]);

const tables = tablesAfter(migrations.map((migration) => migration.name));

const seen = new WeakMap<Database, { readonly snapshotId: number; readonly excluded: string; readonly text: string }>();

/** Row counts and sums of versions, which every change raises. Cached until SQLite commits, except in runs on both engines. */
export async function fingerprint(database: Database, without: readonly string[] = []): Promise<string> {
  const snapshotId = isOnBothEngines ? undefined : database.snapshotId();
  const excluded = without.join();
  const last = seen.get(database);
  if (last !== undefined && last.snapshotId === snapshotId && last.excluded === excluded) return last.text;
  const result = await database.reader.db.executeQuery(counting(database, without));
  const text = JSON.stringify(result.rows[0]);
  if (snapshotId !== undefined) seen.set(database, { snapshotId, excluded, text });
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

/** Makes writes to the audit log fail while a marker row exists: dropping the table would recompile every statement. */
export class AuditLogBlocker {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async install(): Promise<void> {
    for (const statement of triggers[this.#database.dialect.name].create) await this.#run(statement);
  }

  async uninstall(): Promise<void> {
    for (const statement of triggers[this.#database.dialect.name].drop) await this.#run(statement);
  }

  async whileBlocked<T>(work: () => Promise<T>): Promise<T> {
    await this.#run("INSERT INTO meta (name, value) VALUES ('audit-log-blocked', '')");
    try {
      return await work();
    } finally {
      await this.#run("DELETE FROM meta WHERE name = 'audit-log-blocked'");
    }
  }

  async #run(statement: string): Promise<void> {
    await this.#database.write((tx) => tx.db.executeQuery(CompiledQuery.raw(statement)));
  }
}

export async function withAuditLogBlocked<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const blocker = new AuditLogBlocker(database);
  await blocker.install();
  try {
    return await blocker.whileBlocked(work);
  } finally {
    await blocker.uninstall();
  }
}

const isBlocked = "EXISTS (SELECT 1 FROM meta WHERE name = 'audit-log-blocked')";
const triggers = {
  sqlite: {
    create: [
      `CREATE TRIGGER audit_log_blocked BEFORE INSERT ON audit_events WHEN ${isBlocked}
        BEGIN SELECT RAISE(ABORT, 'the audit log is blocked'); END`,
    ],
    drop: ["DROP TRIGGER audit_log_blocked"],
  },
  postgres: {
    create: [
      `CREATE FUNCTION audit_log_blocked() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF ${isBlocked} THEN RAISE EXCEPTION 'the audit log is blocked'; END IF; RETURN NEW; END $$`,
      "CREATE TRIGGER audit_log_blocked BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION audit_log_blocked()",
    ],
    drop: ["DROP TRIGGER audit_log_blocked ON audit_events", "DROP FUNCTION audit_log_blocked"],
  },
};
