/** A new, migrated database on the engine of the test run. */
import { randomBytes, randomUUID } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { CompiledQuery, sql } from "kysely";
import pg from "pg";
import { inject } from "vitest";
import { triggerMaintainedTables, tablesAfter, prefilledTables } from "../../src/backup/format.ts";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate, migrations } from "../../src/database/migrate.ts";
import { templateName } from "./global-setup.ts";

export type Engine = "sqlite" | "postgres";

export interface TestDatabase {
  readonly address: string;
  readonly database: Database;
  drop(): Promise<void>;
}

export async function newAddress(
  engine: Engine = inject("engine"),
  migrated = false,
): Promise<{ address: string; drop: () => Promise<void> }> {
  if (engine === "sqlite") {
    // The end of the run removes the template's directory with everything in it.
    const folder = mkdtempSync(join(dirname(inject("sqliteTemplate")), "sqlite-"));
    const path = join(folder, "test.db");
    if (migrated) copyFileSync(inject("sqliteTemplate"), path);
    return {
      address: `sqlite:${path}`,
      drop: async () => rmSync(folder, { recursive: true, force: true }),
    };
  }
  const name = `test_${randomBytes(6).toString("hex")}`;
  const adminUrl = inject("postgresUrl");
  await onServer(adminUrl, `CREATE DATABASE ${name} ${migrated ? `TEMPLATE ${templateName} STRATEGY FILE_COPY` : ""}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { address: url.toString(), drop: () => onServer(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

export async function newDatabase(engine: Engine = inject("engine")): Promise<TestDatabase> {
  const { address, drop } = await newAddress(engine, true);
  const database = openDatabase(address);
  await migrate(database);
  return {
    address,
    database,
    drop: async () => {
      await database.close();
      await drop();
    },
  };
}

/** Emptied databases of earlier test files in this worker, with warm connections and prepared statements. */
const idleDatabases: TestDatabase[] = [];

/** For files that leave only rows behind: on PostgreSQL a new database costs more than most files. `drop` empties it for the next. */
export async function borrowDatabase(engine: Engine = inject("engine")): Promise<TestDatabase> {
  if (engine === "sqlite") return newDatabase(engine);
  const borrowed = idleDatabases.pop() ?? (await newDatabase(engine));
  const release = async () => {
    try {
      await empty(borrowed.database);
      idleDatabases.push(borrowed);
    } catch {
      // The database differs by more than rows.
      await borrowed.drop();
    }
  };
  return { ...borrowed, drop: release };
}

/** Commits a change that affects no response. */
export async function change({ write }: Database): Promise<void> {
  const value = randomBytes(8).toString("hex");
  await write(async ({ db }) => {
    await db
      .insertInto("meta")
      .values({ name: "test", value })
      .onConflict((taken) => taken.column("name").doUpdateSet({ value }))
      .execute();
  });
}

const keptTables = ["migrations", "meta"];

/** Derived from other tables, so no backup has them. */
export const tablesOfPostgres = migrations
  .flatMap(({ only }) => only?.postgres ?? [])
  .flatMap((statement) => /^CREATE TABLE (\w+)/.exec(statement)?.[1] ?? []);

/** Restores the rows of a new database, without triggers and without new query plans. */
export async function empty(database: Database): Promise<void> {
  const tables = tablesAfter(migrations.map(({ name }) => name)).filter((name) => !keptTables.includes(name));
  // Without triggers, PostgreSQL doesn't update its counts.
  const counted = database.dialect.name === "sqlite" ? [] : tablesOfPostgres;
  const deletions = [...tables, ...triggerMaintainedTables, ...counted].map((name) => `DELETE FROM ${name};`);
  const refilled = prefilledTables.filter((name) => !keptTables.includes(name));
  const insertions = migrations
    .flatMap(({ statements }) => statements)
    .filter((statement) => refilled.some((name) => statement.trimStart().startsWith(`INSERT INTO ${name} `)))
    .map((statement) => `${statement};`);
  // Running servers reload their list of engine versions.
  const notifyServers = `INSERT INTO meta (name, value) VALUES ('engine-versions-changed', '${randomUUID()}')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;`;
  const resetStatements = [...deletions, ...insertions, notifyServers];
  await (database.dialect.name === "sqlite"
    ? runOnSqlite(database, resetStatements)
    : runOnPostgres(database, resetStatements));
}

async function runOnPostgres(database: Database, statements: readonly string[]): Promise<void> {
  const withoutTriggers = "PERFORM set_config('session_replication_role', 'replica', true);";
  const all = `DO $$ BEGIN ${withoutTriggers} ${statements.join(" ")} END $$`;
  await database.write((tx) => tx.db.executeQuery(CompiledQuery.raw(all)));
}

/** SQLite can't disable triggers: those that refuse are dropped and created again. */
async function runOnSqlite({ write }: Database, statements: readonly string[]): Promise<void> {
  await write(async ({ db }) => {
    const run = (statement: string) => db.executeQuery(CompiledQuery.raw(statement));
    const { rows: triggers } = await sql<{ name: string; sql: string }>`
      SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND instr(name, '_refuse_') > 0`.execute(db);
    await run("PRAGMA defer_foreign_keys = ON");
    for (const { name } of triggers) await run(`DROP TRIGGER ${name}`);
    for (const statement of statements) await run(statement);
    for (const trigger of triggers) await run(trigger.sql);
  });
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
