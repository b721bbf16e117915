/** Backups: their contents, that each is one snapshot of the register, and that they move between the engines unchanged. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeRow, encodeRow, triggerMaintainedTables, tablesAfter } from "../../src/backup/format.ts";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrations } from "../../src/database/migrate.ts";
import { addToken } from "../../src/resources/identity/authentication-tokens/writes.ts";
import { addUser } from "../../src/resources/identity/users/writes.ts";
import { operatorContext } from "../../src/service.ts";
import { type Api, type Json, startApi, startApiOn } from "../support/api.ts";
import { archive } from "../support/archives.ts";
import { unique } from "../support/builders.ts";
import { fetchBytes, mainTf, uploadConfiguration } from "../support/configurations.ts";
import { newDatabase, tablesOfPostgres, type TestDatabase } from "../support/database.ts";
import { cadastre, dropRegistersAfterwards, newRegister as newRegisterOfOthers, start, useFolder } from "./support.ts";

dropRegistersAfterwards();
const folder = useFolder();
/** The key of the servers under test. */
const encryptionKey = "07".repeat(32);
const newRegister = async (...words: Parameters<typeof newRegisterOfOthers>) => ({
  ...(await newRegisterOfOthers(...words)),
  CADASTRE_ENCRYPTION_KEY: encryptionKey,
});
const engines = ["sqlite", "postgres"] as const;
/** The embedded database's name index and counters, which triggers rebuild when rows are loaded. */
const derived = ["workspace~_name%", "%~_counts"] as const;
const allTables = tablesAfter(migrations.map(({ name }) => name));

/** No error; progress lines appear after a second, which a busy machine may take. */
const atMostProgress = expect.stringMatching(/^(?:\w+ \w+: \d+ rows?(?:\n|$))*$/);

type Register = Awaited<ReturnType<typeof newRegister>>;

/** A register with every kind of resource, on the embedded database. */
let api: Api;
let source: Register;
let file: string;
let configuration: Json;
let ownerToken: string;
const configurationFiles = [
  mainTf,
  { name: "README.md", content: "# Networks" },
  { name: "a", content: randomBytes(600_000) },
];

beforeAll(async () => {
  api = await startApi({ engine: "sqlite" });
  source = { CADASTRE_DATABASE: api.address, CADASTRE_ENCRYPTION_KEY: encryptionKey };
  const organization = await api.makeOrganization();
  const team = await api.makeTeam(organization.name);
  await api.makeMember(organization.name, [team.id]);
  await api.makeOrganizationToken(organization.name);
  const description = 'a line\nend, a \u2028 separator, a "quote" and an emoji 🏔';
  const project = await api.makeProject(organization.name, { description });
  await api.grantProject(project.id, team.id, "write");
  for (let count = 0; count < 150; count += 1) await api.makeProject(organization.name);
  const workspace = await api.makeWorkspace(organization.name, { name: "Indexed-by-name" });
  configuration = await uploadConfiguration(organization.owner, workspace.id, {}, configurationFiles);
  ownerToken = organization.owner.token ?? "";
  file = join(folder, "source.backup");
  expect(await cadastre(["backup", file], source)).toMatchObject({ code: 0, err: atMostProgress });
});
afterAll(() => api.stop());

describe("the tables", () => {
  test("are all tables of the embedded database, each after those that it refers to", async () => {
    const { rows } = await sql<{ name: string }>`
      select name from sqlite_master where type = 'table' and name not like 'sqlite~_%' escape '~'
        and name not like ${derived[0]} escape '~' and name not like ${derived[1]} escape '~'`.execute(
      api.database.reader.db,
    );
    expect([...allTables, ...triggerMaintainedTables, "organization_changes"].sort()).toEqual(
      rows.map(({ name }) => name).sort(),
    );
    for (const [position, table] of allTables.entries()) {
      const references = await sql<{ target: string }>`
        select "table" as target from pragma_foreign_key_list(${table})`.execute(api.database.reader.db);
      for (const { target } of references.rows) expect(allTables.slice(0, position)).toContain(target);
    }
  });

  test("are all tables of PostgreSQL", async () => {
    const { database, drop } = await newDatabase("postgres");
    const { rows } = await sql<{ name: string }>`
      select table_name as name from information_schema.tables where table_schema = current_schema()
        and table_type = 'BASE TABLE'`.execute(database.reader.db);
    expect([...allTables, ...triggerMaintainedTables, ...tablesOfPostgres].sort()).toEqual(
      rows.map(({ name }) => name).sort(),
    );
    await drop();
  });

  test("follow migrations that drop or rename tables", () => {
    const statements = ["CREATE TABLE one (id TEXT)", "CREATE TABLE two (id TEXT)", "CREATE INDEX a ON one (id)"];
    const later = ["DROP TABLE one", "ALTER TABLE two RENAME TO three", "ALTER TABLE three ADD COLUMN size INTEGER"];
    const known = [
      { name: "1", statements },
      { name: "2", statements: later },
    ];
    expect(tablesAfter(["1"], known)).toEqual(["migrations", "one", "two"]);
    expect(tablesAfter(["1", "2"], known)).toEqual(["migrations", "three"]);
  });
});

describe("a backup", () => {
  test("has the documented format, and only its owner can read it", () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = gunzipSync(readFileSync(file)).toString();
    const lines = text.trimEnd().split("\n");
    const header = JSON.parse(lines[0] ?? "");
    expect(header).toEqual({
      format: "cadastre-backup",
      version: 1,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      cadastre: expect.any(String),
      migrations: migrations.map(({ name }) => name),
      keyId: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    const footer = JSON.parse(lines.at(-1) ?? "");
    const before = text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1);
    expect(footer.sha256).toBe(createHash("sha256").update(before).digest("hex"));
    // Chunks come last, because those of objects are added after the snapshot.
    expect(Object.keys(footer.rows)).toEqual([
      ...allTables.filter((name) => name !== "content_chunks"),
      "content_chunks",
    ]);
    expect(footer.rows.projects).toBe(152);
    expect(text).not.toContain(encryptionKey);
  });

  test("reports its size, and reminds of the key", async () => {
    const named = await cadastre(["backup", join(folder, "named.backup")], source);
    expect(named.out).toMatch(
      /^Wrote \d+ rows in \d+ tables to .*named\.backup \(\d+ bytes\)\.\n.*CADASTRE_ENCRYPTION_KEY\. Keep a copy/,
    );
    const path = join(folder, "own-key.db");
    await cadastre(["migrate"], { CADASTRE_DATABASE: `sqlite:${path}` });
    const beside = await cadastre(["backup", join(folder, "own-key.backup")], { CADASTRE_DATABASE: `sqlite:${path}` });
    expect(beside.out).toContain(`in the file ${path}.key. Keep a copy`);
  });

  test("replaces an older one, and leaves nothing else in the folder", async () => {
    const path = join(folder, "again.backup");
    writeFileSync(path, "old");
    await cadastre(["backup", path], source);
    expect(gunzipSync(readFileSync(path)).length).toBeGreaterThan(1000);
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });

  test("that can't be written is reported in one line", async () => {
    const path = join(folder, "no", "such", "folder.backup");
    const { code, err } = await cadastre(["backup", path], source);
    expect(code).toBe(1);
    expect(err).toMatch(/^The backup can't be written to .*folder\.backup \(ENOENT.*\)\. Check the directory/);
  });

  test.each(engines)("of %s is one snapshot under concurrent writes", async (engine) => {
    const testDatabase = await newDatabase(engine);
    const { database } = testDatabase;
    for (let count = 0; count < 200; count += 1) await addUserWithToken(database);
    const path = join(folder, `snapshot-${engine}.backup`);
    const register = { CADASTRE_DATABASE: testDatabase.address, CADASTRE_ENCRYPTION_KEY: encryptionKey };
    const running = start(["backup", path], register);
    while (running.process.exitCode === null) {
      await addUserWithToken(database);
      await sleep(1);
    }
    // On a busy machine it takes long enough to print progress.
    expect(await running.ended).toMatchObject({ code: 0 });
    const { users, tokens, audit_events: events } = JSON.parse(lastLine(path)).rows;
    expect(users).toBeGreaterThanOrEqual(200);
    expect({ tokens, events }).toEqual({ tokens: users, events: 2 * users });
    await testDatabase.drop();
  });
});

describe("backup verify", () => {
  test("reports that a file is complete and every secret can be decrypted, and opens no database", async () => {
    const nowhere = { CADASTRE_DATABASE: "postgres://127.0.0.1:1/nothing" };
    const verified = await cadastre(["backup", "verify", file], { ...nowhere, CADASTRE_ENCRYPTION_KEY: encryptionKey });
    expect(verified).toMatchObject({ code: 0, err: atMostProgress });
    expect(verified.out).toMatch(/^.*source\.backup is complete: \d+ rows in \d+ tables, created at .* by Cadastre /);
    expect(verified.out).toMatch(/\nIts [1-9]\d* secrets? can be decrypted with the key in CADASTRE_ENCRYPTION_KEY\.$/);
    const without = await cadastre(["backup", "verify", file], nowhere);
    expect(without).toMatchObject({ code: 0 });
    expect(without.out).toMatch(/\nIts secrets were not checked\. To check them, set CADASTRE_ENCRYPTION_KEY to/);
  });

  test("refuses a file with secrets of another key, and a damaged one", async () => {
    const other = await cadastre(["backup", "verify", file], { CADASTRE_ENCRYPTION_KEY: "e".repeat(64) });
    expect(other).toMatchObject({ code: 1, out: "" });
    expect(other.err).toMatch(/is complete, but \w+\.\w+ of .* can't be decrypted: it needs the key [0-9a-f]{16}/);
    const path = join(folder, "cut.backup");
    writeFileSync(path, readFileSync(file).subarray(0, -100));
    expect((await cadastre(["backup", "verify", path], { CADASTRE_ENCRYPTION_KEY: encryptionKey })).err).toMatch(
      /is truncated/,
    );
  });
});

/** A restored register gets an id of its own. */
const withoutIdentity = ({ meta = [], ...tables }: Awaited<ReturnType<typeof allRows>>) => ({
  ...tables,
  meta: meta.filter((row) => !JSON.stringify(row).includes("register-")),
});

describe("a restore", () => {
  test("moves the register to PostgreSQL and back with every row the same", async () => {
    const postgres = await newRegister("postgres");
    const restored = await cadastre(["restore", file], postgres);
    expect(restored).toMatchObject({ code: 0, err: atMostProgress });
    expect(restored.out).toMatch(/^Restored \d+ rows in \d+ tables from .*, created at \d{4}-/);
    const moved = join(folder, "moved.backup");
    expect((await cadastre(["backup", moved], postgres)).code).toBe(0);
    const sqlite = await newRegister("sqlite");
    expect((await cadastre(["restore", moved], sqlite)).code).toBe(0);
    const rows = await allRows(source);
    for (const table of ["users", "team_members", "tokens", "team_projects", "audit_events", "meta"])
      expect(rows[table]?.length, table).toBeGreaterThan(0);
    expect(withoutIdentity(await allRows(postgres))).toEqual(withoutIdentity(rows));
    expect(withoutIdentity(await allRows(sqlite))).toEqual(withoutIdentity(rows));
    const database = openDatabase(sqlite.CADASTRE_DATABASE);
    const names = await sql<{ nameKey: string }>`select name_key from workspace_names`.execute(database.reader.db);
    await database.close();
    expect(names.rows).toEqual([{ nameKey: "indexed-by-name" }]);
  });

  test.each(engines)("restores a configuration as it was uploaded, with its readme, on %s", async (engine) => {
    const { CADASTRE_DATABASE: address, ...key } = await newRegister(engine);
    expect((await cadastre(["restore", file], { CADASTRE_DATABASE: address, ...key })).code).toBe(0);
    const database = openDatabase(address);
    const restored = await startApiOn({ database, address, drop: () => database.close() });
    try {
      const owner = restored.as(ownerToken);
      const fetched = await fetchBytes(restored, owner, `/configuration-versions/${configuration.id}/download`);
      expect([fetched.status, fetched.bytes.equals(archive(configurationFiles))]).toEqual([200, true]);
      const { id } = await database.reader.db.selectFrom("workspaces").select("id").executeTakeFirstOrThrow();
      const { body } = await owner.get(`/workspaces/${id}?include=readme,current_configuration_version`);
      expect(body.included.map((each: Json) => each.id)).toEqual([configuration.id, configuration.id]);
      expect(body.included[1].attributes["raw-markdown"]).toBe("# Networks");
    } finally {
      await restored.stop();
    }
  });

  test.each(engines)("requires an empty database, on %s", async (engine) => {
    const register = await newRegister(engine, true);
    await cadastre(["migrate"], register);
    await cadastre(["user", "create", "--username", "ada", "--email", "ada@acme.example"], register);
    const before = await allRows(register);
    expect(await cadastre(["restore", file], register)).toEqual({
      code: 1,
      out: "",
      // On a busy machine it also prints progress.
      err: expect.stringContaining(
        "The database is not empty (it has users). A backup can only be restored into an empty database: set CADASTRE_DATABASE to another one.",
      ),
    });
    expect(await allRows(register)).toEqual(before);
  });

  test("replaces the check value of a migrated database", async () => {
    const register = await newRegister("sqlite");
    await cadastre(["migrate"], { ...register, CADASTRE_ENCRYPTION_KEY: "e".repeat(64) });
    expect((await cadastre(["restore", file], register)).code).toBe(0);
    expect((await cadastre(["user", "list"], register)).code).toBe(0);
  });

  test("with another key, or none, is refused before anything is created", async () => {
    const { CADASTRE_DATABASE } = await newRegister("sqlite");
    for (const CADASTRE_ENCRYPTION_KEY of ["", "e".repeat(64)]) {
      const { code, err } = await cadastre(["restore", file], { CADASTRE_DATABASE, CADASTRE_ENCRYPTION_KEY });
      expect(code).toBe(1);
      expect(err).toMatch(
        /needs the encryption key [0-9a-f]{16}, which is not set\. Set CADASTRE_ENCRYPTION_KEY to the key of the database that was backed up, or put its key file at .*\.key\. Nothing was written\.$/,
      );
    }
    expect(existsSync(CADASTRE_DATABASE.slice("sqlite:".length))).toBe(false);
    expect(existsSync(`${CADASTRE_DATABASE.slice("sqlite:".length)}.key`)).toBe(false);
  });
});

describe("a restore refuses", () => {
  const edited = (edit: (text: string) => string) => gzipSync(edit(gunzipSync(readFileSync(file)).toString()));
  const truncatedText = (text: string) => text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1);

  test.each<[string, RegExp, () => Buffer]>([
    ["that was cut", /is truncated: its end is missing/, () => readFileSync(file).subarray(0, -100)],
    ["that lacks its last line", /is truncated: its end is missing/, () => edited(truncatedText)],
    [
      "with one value changed",
      /is damaged/,
      () => edited((text) => text.replace("org@example.com", "org@example.org")),
    ],
    ["with one row less", /is damaged/, () => edited((text) => text.replace(/\n\["prj-.*/, ""))],
    ["with something after its end", /is damaged/, () => edited((text) => `${text}[]\n`)],
    ["with a broken line", /is damaged/, () => edited((text) => text.replace('\n["prj-', '\n"prj-'))],
    ["with a byte flipped", /is damaged/, flipped],
    [
      "of a newer format",
      /was written by a newer version of Cadastre/,
      () => edited((text) => text.replace('"version":1', '"version":2')),
    ],
    [
      "of a newer schema",
      /was written by a newer version of Cadastre/,
      () => edited((text) => text.replace('"0001-', '"9999-')),
    ],
    [
      "whose migrations were changed",
      /is damaged/,
      () => edited((text) => text.replace(/"migrations":\[[^\]]*\]/, '"migrations":[]')),
    ],
    ["that is text", /is not a backup of Cadastre/, () => Buffer.from("Dear Ada")],
    ["that is other compressed text", /is not a backup of Cadastre/, () => gzipSync("Dear Ada\n")],
    ["that is empty", /is (not a backup|truncated)/, () => Buffer.alloc(0)],
  ])("a file %s, and writes nothing", async (_, sentence, contents) => {
    const path = join(folder, "refused.backup");
    writeFileSync(path, contents());
    const register = await newRegister("sqlite");
    const { code, out, err } = await cadastre(["restore", path], register);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    const message = err.replace(/^(?:\w+ \w+: \d+ rows?\n)+/, "");
    expect(message).toMatch(sentence);
    expect(message).not.toContain("\n");
    expect(existsSync(register.CADASTRE_DATABASE.slice("sqlite:".length))).toBe(false);
  });

  test("a missing file", async () => {
    const { code, err } = await cadastre(["restore", join(folder, "nowhere")], await newRegister("sqlite"));
    expect(code).toBe(1);
    expect(err).toMatch(/^The backup .*nowhere can't be read \(ENOENT/);
  });

  function flipped(): Buffer {
    const bytes = readFileSync(file);
    const middle = bytes.length >> 1;
    bytes[middle] = (bytes[middle] ?? 0) ^ 0x10;
    return bytes;
  }
});

test("values survive encoding and decoding", () => {
  const values = ["", "a\n\u2028🏔", 0, -1, Number.MAX_SAFE_INTEGER, null, randomBytes(1000), Buffer.alloc(0)];
  const line = encodeRow(values);
  expect(line).not.toContain("\n");
  expect(decodeRow(JSON.parse(line))).toEqual(values);
});

async function addUserWithToken(database: TestDatabase["database"]): Promise<void> {
  const context = operatorContext(database, { organizationCreation: "site-admins" }, "test");
  await database.write(async (tx) => {
    const username = unique("user");
    const user = await addUser(tx, context, { username, email: `${username}@acme.example` });
    await addToken(tx, context, { holder: { kind: "user", userId: user.id }, isLegacy: false });
  });
}

const lastLine = (path: string) => gunzipSync(readFileSync(path)).toString().trimEnd().split("\n").at(-1) ?? "";

/** Every row of every table, in the same order on both engines. */
async function allRows(register: Register): Promise<Record<string, string[]>> {
  const database: Database = openDatabase(register.CADASTRE_DATABASE);
  try {
    const rows: Record<string, string[]> = {};
    for (const table of allTables) {
      const found = await database.reader.db
        .selectFrom(table as never)
        .selectAll()
        .execute();
      rows[table] = found.map((row) => encodeRow(Object.values(row))).sort();
    }
    return rows;
  } finally {
    await database.close();
  }
}
