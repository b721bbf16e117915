/** Backups of every released schema in test/fixtures/backups: this version verifies and restores each, on both engines. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { fixtureContents, fixtureKey, fixtureToken } from "../../packaging/fixture.ts";
import { readBackup } from "../../src/backup/read.ts";
import type { BackupHeader } from "../../src/backup/format.ts";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { appliedIn, migrate, migrations } from "../../src/database/migrate.ts";
import { createVault } from "../../src/database/vault.ts";
import { type Api, type Json, startApiOn } from "../support/api.ts";
import { type Engine, newAddress } from "../support/database.ts";
import { cadastre, dropRegistersAfterwards, newRegister } from "./support.ts";

dropRegistersAfterwards();
const folder = "test/fixtures/backups";
const files = readdirSync(folder).filter((name) => name.endsWith(".backup"));
const engines = ["sqlite", "postgres"] as const;
const key = { CADASTRE_ENCRYPTION_KEY: fixtureKey };

const emptyRegister = async (engine: Engine, migrated = false) => ({
  ...(await newRegister(engine, migrated)),
  ...key,
});

async function headerOf(file: string): Promise<BackupHeader> {
  for await (const part of readBackup(file)) if (part.kind === "header") return part.header;
  throw new Error("a backup begins with its header");
}

/** Tables with their columns, indexes and triggers, as the engine describes them. */
async function schemaOf({ reader: { db, dialect } }: Database): Promise<unknown[]> {
  const { rows } =
    dialect.name === "sqlite"
      ? await sql`select type, name, tbl_name, sql from sqlite_master where name not like 'sqlite_%' order by type, name`.execute(
          db,
        )
      : await sql`
          select 'column' as type, table_name || '.' || column_name as name, ordinal_position::text as place,
            concat_ws(' ', data_type, is_nullable, column_default, collation_name) as sql
          from information_schema.columns where table_schema = 'public'
          union all select 'index', indexname, '', indexdef from pg_indexes where schemaname = 'public'
          union all select 'trigger', tgname, '', pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
          union all select 'constraint', conname, '', pg_get_constraintdef(oid) from pg_constraint
            where connamespace = 'public'::regnamespace
          order by 1, 2, 3`.execute(db);
  return rows;
}

async function freshSchema(engine: Engine): Promise<unknown[]> {
  const { address, drop } = await newAddress(engine);
  const database = openDatabase(address);
  await migrate(database);
  const schema = await schemaOf(database);
  await database.close();
  await drop();
  return schema;
}

async function expectContents(api: Api): Promise<void> {
  const admin = api.as(fixtureToken);
  const { organization, workspace: name, plain, sensitive, output } = fixtureContents;
  const workspace = (await admin.get(`/organizations/${organization}/workspaces/${name}`)).body.data;
  const vars = (await admin.get(`/workspaces/${workspace.id}/vars`)).body.data.map(
    ({ attributes }: Json) => attributes,
  );
  expect(vars).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ ...plain, sensitive: false }),
      expect.objectContaining({ key: sensitive.key, value: null, sensitive: true }),
    ]),
  );
  const state = (await admin.get(`/workspaces/${workspace.id}/current-state-version?include=outputs`)).body;
  expect(state.data.attributes.serial).toBe(1);
  const outputs = (await admin.get(`/state-versions/${state.data.id}/outputs`)).body.data;
  const shown = await admin.get(`/state-version-outputs/${outputs[0].id}`);
  expect(shown.body.data.attributes).toMatchObject(output);
  const made = await admin.post(`/organizations/${organization}/workspaces`, {
    data: { type: "workspaces", attributes: { name: "afterwards" } },
  });
  expect(made.status).toBe(201);
}

describe.each(files)("%s", (name) => {
  const file = join(folder, name);

  test("is small, and has a schema that this version can migrate", async () => {
    expect(statSync(file).size).toBeLessThan(100_000);
    const names = migrations.map((migration) => migration.name);
    const { migrations: applied } = await headerOf(file);
    expect(applied).toEqual(names.slice(0, applied.length));
  });

  test("can be verified with every secret", async () => {
    const { code, out } = await cadastre(["backup", "verify", file], { CADASTRE_DATABASE: "sqlite:/none", ...key });
    expect(code).toBe(0);
    expect(out).toMatch(/ is complete: [\s\S]*\nIts (?:[6-9]|\d\d) secrets can be decrypted/);
  });

  test.each(engines)("can be restored into %s, is migrated as by an upgrade, and can be served", async (engine) => {
    const register = await emptyRegister(engine);
    const { code, out } = await cadastre(["restore", file], register);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^Restored \d+ rows/) });
    const database = openDatabase(register.CADASTRE_DATABASE);
    expect(await appliedIn(database.reader)).toEqual(migrations.map((migration) => migration.name));
    expect(await schemaOf(database)).toEqual(await freshSchema(engine));
    expect(await migrate(database)).toEqual([]);
    const vault = createVault(Buffer.from(fixtureKey, "hex"));
    const api = await startApiOn(
      { database, address: register.CADASTRE_DATABASE, drop: () => database.close() },
      { vault },
    );
    try {
      await expectContents(api);
    } finally {
      await api.stop();
    }
  });
});

describe("an older backup", () => {
  const file = join(folder, "0.2.0-2026-11-15.backup");

  test.each(engines)("that can't be loaded completely leaves nothing behind, on %s", async (engine) => {
    const register = await emptyRegister(engine);
    const database = openDatabase(register.CADASTRE_DATABASE);
    // A foreign table that conflicts with a migration after the rows.
    await database.write((tx) => sql`create table runs (id text primary key)`.execute(tx.db));
    expect((await cadastre(["restore", file], register)).code).not.toBe(0);
    const tables = (await schemaOf(database)) as { readonly name: string }[];
    expect(tables.filter((table) => /^(?:migrations|organizations|users)\b/.test(table.name))).toEqual([]);
    await database.close();
  });

  test.each(engines)("is refused by a database with a newer schema, on %s", async (engine) => {
    const register = await emptyRegister(engine, true);
    const { code, err } = await cadastre(["restore", file], register);
    expect(code).toBe(1);
    expect(err).toMatch(/The database is empty, but has a newer schema .* Nothing was written\.$/);
  });
});
