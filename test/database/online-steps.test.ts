/** Migrations that build indexes and change rows while servers write. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { sql } from "kysely";
import { afterAll, expect, inject, it } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate, migrations } from "../../src/database/migrate.ts";
import { newAddress } from "../support/database.ts";
import { itInGate } from "../support/engine-independent.ts";
import { fillColour } from "../support/migrating.ts";
import { until } from "../support/waiting.ts";

const known = [...migrations, fillColour];

const ended: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

async function newRegister(users = 2_500): Promise<{ address: string; database: Database }> {
  const { address, drop } = await newAddress(undefined, true);
  ended.push(drop);
  const database = open(address);
  await migrate(database);
  const shift = inject("engine") === "sqlite" ? sql`printf('%05d', n)` : sql`lpad(n::text, 5, '0')`;
  await database.write(async ({ db }) => {
    const row = { email: "", username: "", isSiteAdmin: 0, isServiceAccount: 0, createdAt: "2026", version: 1 };
    const columns = Object.keys(row);
    await sql`insert into users (id, email_key, username_key, ${sql.join(columns.map((column) => sql.ref(column)))})
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(users)})
      select 'user-' || ${shift}, 'mail' || n, 'name' || n, ${sql.join(Object.values(row))} from numbers`.execute(db);
  });
  return { address, database };
}

function open(address: string): Database {
  const database = openDatabase(address);
  ended.push(() => database.close());
  return database;
}

const pending = (database: Database) =>
  database.reader.db.selectFrom("meta").select("value").where("name", "=", "pending-migration-steps").execute();

async function colours(database: Database): Promise<unknown> {
  const { rows } = await sql`select colour, count(*) as number from users group by colour`.execute(database.reader.db);
  return rows;
}

async function indexes(database: Database): Promise<string[]> {
  const { rows } = await (
    database.dialect.name === "sqlite"
      ? sql<{ name: string }>`select name from sqlite_master where type = 'index'`
      : sql<{
          name: string;
        }>`select relname as name from pg_index inner join pg_class on pg_class.oid = indexrelid where indisvalid`
  ).execute(database.reader.db);
  return rows
    .map(({ name }) => name)
    .filter((name) => /users_(colour|only)/.test(name))
    .toSorted();
}

const allIndexes = () => [
  "users_colour",
  "users_colour_email",
  ...(inject("engine") === "sqlite" ? [] : ["users_only"]),
];

it("runs the steps once, in order, however many servers start together", async () => {
  const { address, database } = await newRegister();
  const lines: string[] = [];
  const start = () => migrate(open(address), known, (line) => void lines.push(line));
  const applied = await Promise.all([start(), start(), start()]);
  expect(applied.flat()).toEqual([fillColour.name]);
  expect(await colours(database)).toEqual([{ colour: "grey", number: 2_500 }]);
  expect(await indexes(database)).toEqual(allIndexes());
  expect(await pending(database)).toEqual([]);
  expect(lines.filter((line) => line.includes("step 2 of 4"))).toContain(
    "migration 9990-colour, step 2 of 4: changing rows of users",
  );
});

it("creates the indexes of a new database with its tables", async () => {
  const { address, drop } = await newAddress();
  ended.push(drop);
  const database = open(address);
  await migrate(database, known);
  expect(await indexes(database)).toEqual(allIndexes());
  expect(await pending(database)).toEqual([]);
});

it("continues after the last changed batch, and changes no row twice", async () => {
  const { address, database } = await newRegister();
  await migrate(database, [...migrations, { ...fillColour, online: [] }]);
  const progress = { [fillColour.name]: { step: 1, after: "user-02000" } };
  await database.write(({ db }) =>
    db
      .insertInto("meta")
      .values({ name: "pending-migration-steps", value: JSON.stringify(progress) })
      .execute(),
  );
  // A version that does not know the migration leaves its steps alone.
  await migrate(open(address), migrations.slice(0, -1)).catch(() => {});
  expect(await pending(database)).toHaveLength(1);
  expect(await migrate(open(address), known)).toEqual([]);
  expect(await colours(database)).toEqual(
    expect.arrayContaining([
      { colour: null, number: 2_000 },
      { colour: "grey", number: 500 },
    ]),
  );
  expect(await pending(database)).toEqual([]);
});

it.runIf(inject("engine") === "postgres")("drops an index that was left invalid, and builds it again", async () => {
  const { address, database } = await newRegister();
  await migrate(database, [...migrations, { ...fillColour, online: [] }]);
  await database.write(({ db }) => sql`update users set colour = 'red', email = 'same'`.execute(db));
  await expect(
    database.runAlone?.("CREATE UNIQUE INDEX CONCURRENTLY users_colour ON users (colour, email)"),
  ).rejects.toThrow(/could not create unique index/);
  const progress = { [fillColour.name]: { step: 0, after: "" } };
  await database.write(({ db }) =>
    db
      .insertInto("meta")
      .values({ name: "pending-migration-steps", value: JSON.stringify(progress) })
      .execute(),
  );
  expect(await indexes(database)).toEqual([]);
  await migrate(open(address), known);
  expect(await indexes(database)).toEqual(allIndexes());
});

it.runIf(inject("engine") === "postgres")("lets others write while an index waits for an old transaction", async () => {
  const { address, database } = await newRegister();
  const { promise: finish, resolve: end } = Promise.withResolvers<void>();
  const lines: string[] = [];
  await database.snapshot(async ({ db }) => {
    await db.selectFrom("organizations").select("id").execute();
    const migrating = migrate(open(address), known, (line) => void lines.push(line));
    await until(() => lines.some((line) => line.includes("step 1 of 4")));
    await until(async () => {
      const { rows } =
        await sql`select 1 as one from pg_stat_progress_create_index where phase like 'waiting%'`.execute(
          database.reader.db,
        );
      return rows.length > 0;
    });
    await database.write(({ db: writer }) => writer.updateTable("users").set({ email: "written" }).execute());
    expect(await indexes(database)).toEqual([]);
    void migrating.then(() => end());
  });
  await finish;
  expect(await indexes(database)).toEqual(allIndexes());
});

itInGate("continues after a server was killed in any step", async () => {
  const { address, database } = await newRegister(20_000);
  const isPostgres = inject("engine") === "postgres";
  // Keeps index builds from finishing.
  const { promise: finish, resolve: end } = Promise.withResolvers<void>();
  const holding = database.snapshot(async ({ db }) => {
    await db.selectFrom("organizations").select("id").limit(1).execute();
    await finish;
  });
  const killAt = async (line: string) => {
    const child = spawn(process.execPath, ["test/support/migrating.ts", address], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    await until(() => output.includes(line) || child.exitCode !== null, line);
    child.kill("SIGKILL");
    await exited;
  };
  await killAt("applying migration");
  await killAt("step 1 of 4");
  if (isPostgres) await killAt("step 1 of 4");
  end();
  await holding;
  for (const step of [2, 3, 4]) await killAt(`step ${step} of 4`);
  await migrate(open(address), known);
  expect(await colours(database)).toEqual([{ colour: "grey", number: 20_000 }]);
  expect(await indexes(database)).toEqual(allIndexes());
  expect(await pending(database)).toEqual([]);
});
