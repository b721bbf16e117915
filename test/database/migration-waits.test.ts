/** How long a writer waits during each migration since the last release, with many rows in the tables that it changes. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { expect, inject, it } from "vitest";
import { parseReleases, releasesPath } from "../../packaging/schema.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate, migrations } from "../../src/database/migrate.ts";
import type { Migration } from "../../src/database/migrations/migration.ts";
import { newAddress } from "../support/database.ts";
import { isOnBothEngines } from "../support/depth.ts";
import { scaled } from "../support/waiting.ts";
import { startWriter } from "../support/writer.ts";

const isFull = isOnBothEngines || !inject("isWhole");
const rowCount = isFull ? 200_000 : 2_000;
const waitMsMax = 1_000;

const released = parseReleases(readFileSync(releasesPath, "utf8")).at(-1)?.newest ?? "";
const before = migrations.filter(({ name }) => name <= released);
const added = migrations.filter(({ name }) => name > released);

/** Existing tables that the migration changes. */
function tablesOf({ statements, only, online = [] }: Migration): string[] {
  const texts = [
    ...statements,
    ...Object.values(only ?? {}).flat(),
    ...online.map((step) => ("index" in step ? step.index : `UPDATE ${step.table}`)),
  ];
  const created = texts.flatMap((text) => /CREATE TABLE (\w+)/.exec(text)?.[1] ?? []);
  const named = texts.flatMap((text) => /(?:ALTER TABLE|UPDATE|DELETE FROM| ON) (\w+)/.exec(text.trim())?.[1] ?? []);
  return [...new Set(named)].filter(
    (table) =>
      !created.includes(table) &&
      before.some(({ statements }) => statements.some((text) => new RegExp(`CREATE TABLE ${table} `).test(text))),
  );
}

interface FilledColumn {
  readonly name: string;
  readonly type: string;
}

const valueOf = ({ type }: FilledColumn, blob: string) =>
  /text/i.test(type) ? "'x' || n" : /blob|bytea/i.test(type) ? blob : "0";

function fillSqlite(path: string, tables: readonly string[]): void {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  for (const table of tables) {
    const all = db.prepare(`PRAGMA table_info(${table})`).all() as unknown as (FilledColumn & {
      notnull: number;
      pk: number;
      dflt_value: unknown;
    })[];
    const columns = all.filter(({ notnull, pk, dflt_value }) => (notnull === 1 || pk === 1) && dflt_value === null);
    db.exec(`INSERT INTO ${table} (${columns.map(({ name }) => name).join(", ")})
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rowCount})
      SELECT ${columns.map((column) => valueOf(column, "x'00'")).join(", ")} FROM numbers`);
  }
  db.close();
}

async function fillPostgres(url: string, tables: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const table of tables) {
    const { rows: columns } = await client.query<FilledColumn>(
      `SELECT column_name AS name, data_type AS type FROM information_schema.columns
        WHERE table_name = $1 AND is_nullable = 'NO' AND column_default IS NULL`,
      [table],
    );
    await client.query(`SET session_replication_role = replica;
      INSERT INTO ${table} (${columns.map(({ name }) => name).join(", ")})
      SELECT ${columns.map((column) => valueOf(column, "'\\x00'::bytea")).join(", ")} FROM generate_series(1, ${rowCount}) AS numbers (n)`);
  }
  await client.end();
}

async function waitsDuring(
  added: readonly Migration[],
): Promise<{ readonly atRest: number; readonly during: Map<string, number> }> {
  const { address, drop } = await newAddress();
  const database = openDatabase(address);
  await migrate(database, before);
  const tables = [...new Set(added.flatMap(tablesOf))];
  await (inject("engine") === "sqlite"
    ? fillSqlite(address.slice("sqlite:".length), tables)
    : fillPostgres(address, tables));
  const writer = startWriter({ address, tables });
  await writer.longestMs();
  await sleep(1_000);
  const atRest = await writer.longestMs();
  const during = new Map<string, number>();
  for (const [at, { name }] of added.entries()) {
    await migrate(database, [...before, ...added.slice(0, at + 1)]);
    during.set(name, await writer.longestMs());
  }
  await writer.stop();
  await database.close();
  await drop();
  return { atRest, during };
}

const tooLong = ({ atRest, during }: Awaited<ReturnType<typeof waitsDuring>>) =>
  [...during].filter(([, ms]) => ms > scaled(waitMsMax, 4) + atRest).map(([name]) => name);

it.runIf(added.some((migration) => tablesOf(migration).length > 0))(
  `makes no writer wait longer than a second, with ${rowCount} rows in each table`,
  async () => {
    const waits = await waitsDuring(added);
    expect([...waits.during.keys()]).toEqual(added.map(({ name }) => name));
    expect(tooLong(waits), JSON.stringify({ atRest: waits.atRest, during: [...waits.during] })).toEqual([]);
  },
);

/** SQLite has no statement that lasts for a given time. */
it.runIf(isFull && inject("engine") === "postgres")("finds a migration that makes writers wait", async () => {
  const sleepMs = scaled(waitMsMax, 4) * 2 + 2_000;
  const slow: Migration = {
    name: "9999-slow",
    kind: "adds",
    statements: [`ALTER TABLE organizations ADD COLUMN colour TEXT`],
    only: { postgres: [`SELECT pg_sleep(${sleepMs / 1000})`], sqlite: [] },
  };
  expect(tooLong(await waitsDuring([slow]))).toEqual([slow.name]);
});
