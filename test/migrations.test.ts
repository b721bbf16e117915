/**
 * Migrations either add or, one version later, remove, so that a version can be rolled out while servers of the previous one still run.
 * A released migration never changes.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fixturesPath, isHigher, parseReleases, releasesPath, schemaFaults } from "../packaging/schema.ts";
import { migrations } from "../src/database/migrate.ts";
import type { Migration } from "../src/database/migrations/migration.ts";

/** Migrations up to the first version with a fence: upgrading from before them requires stopping all servers. */
const isBeforeRule = ({ name }: Migration) => name < "0031";

const releases = parseReleases(readFileSync(releasesPath, "utf8"));
const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

/** Statements that both kinds may contain, because they do not affect readers. */
const harmless = [
  /^CREATE (UNIQUE )?INDEX /,
  /^DROP (INDEX|TRIGGER|FUNCTION) /,
  /^CREATE (CONSTRAINT )?TRIGGER /,
  /^CREATE (OR REPLACE )?FUNCTION /,
  /^(INSERT INTO|UPDATE|DELETE FROM) /,
];
const allowedStatements: Readonly<Record<string, readonly RegExp[]>> = {
  adds: [...harmless, /^CREATE (VIRTUAL )?TABLE /, /^CREATE (OR REPLACE )?VIEW /, /^ALTER TABLE \w+ ADD COLUMN /],
  removes: [...harmless, /^DROP TABLE /, /^ALTER TABLE \w+ DROP COLUMN \w+$/],
};

/** Why servers of the previous version could not keep running, as sentences. */
function faultsOf({ name, kind, unusedSince, statements, only }: Migration): string[] {
  if (kind === undefined) return [`${name} does not say whether it adds or removes`];
  const faults: string[] = [];
  if (kind === "removes" && (unusedSince === undefined || isHigher(unusedSince, releases.at(-1)?.version ?? "")))
    faults.push(`${name} does not name the released version since which the removed data is unused`);
  if (kind === "adds" && unusedSince !== undefined) faults.push(`${name} adds, so unusedSince must not be set`);
  for (const statement of [...statements, ...Object.values(only ?? {}).flat()]) {
    const text = statement.replaceAll(/\s+/g, " ").trim();
    if (!allowedStatements[kind]?.some((pattern) => pattern.test(text)))
      faults.push(`${name} ${kind}, but contains: ${text}`);
    if (/ ADD COLUMN /.test(text) && / NOT NULL/.test(text) && !/ DEFAULT /.test(text))
      faults.push(`${name} adds a column without a default, which older servers can't fill: ${text}`);
  }
  return faults;
}

/** The table that a statement with this verb creates or changes. */
const tableOf = (text: string, verb: RegExp): string | undefined =>
  new RegExp(`^${verb.source} (?:IF NOT EXISTS )?(\\w+)`).exec(text)?.[1];

/** Up to the last migration that was written before the rule for `online`. */
const mayBlockWriters = ({ name }: Migration) => name <= "0042-official-document";

/** What makes writers wait for as long as a table is large, as sentences. */
function blockingStatementsOf({ name, statements, only, online = [] }: Migration): string[] {
  const plain = (texts: readonly string[]) => texts.map((text) => text.replaceAll(/\s+/g, " ").trim());
  const faults: string[] = [];
  for (const texts of [statements, ...Object.values(only ?? {})].map(plain)) {
    const created = [...plain(statements), ...texts].map((text) => tableOf(text, /CREATE (?:VIRTUAL )?TABLE/));
    for (const text of texts) {
      const indexed = /^CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)/.exec(text)?.[1];
      const read = /^INSERT INTO .*\bFROM (\w+)/.exec(text)?.[1];
      const changed = tableOf(text, /(?:UPDATE|DELETE FROM)/) ?? read;
      if (indexed !== undefined && !created.includes(indexed))
        faults.push(`${name} builds an index while writers wait, which belongs into online: ${text}`);
      if (changed !== undefined && !created.includes(changed))
        faults.push(`${name} changes all rows while writers wait, which belongs into online: ${text}`);
    }
  }
  for (const step of online)
    if ("index" in step && !/^CREATE (UNIQUE )?INDEX \w+\s+ON \w+/.test(step.index))
      faults.push(`${name}: a step must be 'CREATE INDEX name ON table …': ${step.index}`);
  return faults;
}

/** Why servers of the version that `writersKnow` names could not keep writing, as sentences, as far as the SQL shows it. */
function incompatibilitiesOf({ name, writersKnow, unusedSince, statements, only, appendOnly }: Migration): string[] {
  if (writersKnow === undefined) return [];
  const release = releases.find(({ newest }) => newest === writersKnow);
  if (release === undefined) return [`${name}: ${writersKnow} is not the newest migration of a released version`];
  const faults: string[] = [];
  if (unusedSince !== undefined && isHigher(unusedSince, release.version))
    faults.push(`${name} removes what servers of ${release.version} still use`);
  const all = [statements, ...Object.values(only ?? {})];
  for (const texts of all.map((list) => list.map((statement) => statement.replaceAll(/\s+/g, " ").trim()))) {
    const created = texts.map((text) => tableOf(text, /CREATE (?:VIRTUAL )?TABLE/));
    const isMaintainedByTriggers = (table: string | undefined) =>
      texts.some((text) => /^CREATE (FUNCTION|TRIGGER)/.test(text) && text.includes(`INSERT INTO ${table} `));
    for (const text of texts) {
      const written = tableOf(text, /(?:INSERT INTO|UPDATE|DELETE FROM)/);
      if (written !== undefined && !(created.includes(written) && isMaintainedByTriggers(written)))
        faults.push(`${name} fills ${written}, which older servers would not maintain: ${text}`);
      const unique = /^CREATE UNIQUE INDEX \w+ ON (\w+)/.exec(text)?.[1];
      if (unique !== undefined && !created.includes(unique))
        faults.push(`${name} rejects rows that older servers may write: ${text}`);
    }
  }
  for (const table of appendOnly ?? [])
    if (!statements.some((text) => tableOf(text.trim(), /CREATE TABLE/) === table))
      faults.push(`${name} rejects changes that older servers may make in ${table}`);
  return faults;
}

describe("migrations", () => {
  it("have unique numbers and are listed in their order", () => {
    const names = migrations.map(({ name }) => name);
    expect(names).toEqual(names.toSorted());
    expect(names.filter((name) => !/^\d{4}-[a-z-]+$/.test(name))).toEqual([]);
    expect(new Set(names.map((name) => name.slice(0, 4))).size).toBe(names.length);
  });

  it("add first and remove a version later, so that servers of the previous version can keep reading", () => {
    expect(migrations.filter((migration) => !isBeforeRule(migration)).flatMap(faultsOf)).toEqual([]);
  });

  it("let older servers keep writing only if nothing that they write would be missing or rejected", () => {
    expect(migrations.flatMap(incompatibilitiesOf)).toEqual([]);
  });

  it("build indexes and change rows of existing tables only while servers write", () => {
    expect(migrations.filter((migration) => !mayBlockWriters(migration)).flatMap(blockingStatementsOf)).toEqual([]);
  });

  it("belong to one version: a schema that differs from a released one needs a new version", () => {
    expect(schemaFaults(version, migrations, releases)).toEqual([]);
    expect(readdirSync(fixturesPath).toSorted()).toEqual(releases.map((release) => `${release.version}.backup`));
  });

  it("never change after their release: migrations.txt has a digest of each", async () => {
    const digest = (migration: Migration) =>
      createHash("sha256").update(JSON.stringify(migration)).digest("hex").slice(0, 16);
    const lines = migrations.map((migration) => `${digest(migration)} ${migration.name}`);
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("goldens/migrations.txt");
  });
});

describe("the check of the two kinds", () => {
  const adds = (...statements: string[]): Migration => ({ name: "0028-a", kind: "adds", statements });
  const removes = (unusedSince: string, ...statements: string[]): Migration => ({
    name: "0028-a",
    kind: "removes",
    unusedSince,
    statements,
  });

  it.each<[string, Migration]>([
    ["a table", adds("CREATE TABLE one (\n id TEXT PRIMARY KEY\n)")],
    ["a column that may be null", adds("ALTER TABLE one ADD COLUMN two TEXT")],
    ["a column with a default", adds("ALTER TABLE one ADD COLUMN two TEXT NOT NULL DEFAULT ''")],
    ["a replaced index", adds("DROP INDEX one_two", "CREATE INDEX one_two ON one (two, three)")],
    ["values of new columns", adds("UPDATE one SET two = three")],
    ["the removal of a table", removes("0.0.1", "DROP TABLE one")],
    ["the removal of a column", removes("0.0.1", "ALTER TABLE one DROP COLUMN two")],
  ])("accepts %s", (_, migration) => {
    expect(faultsOf(migration)).toEqual([]);
  });

  it.each<[string, Migration]>([
    ["a migration without a kind", { name: "0028-a", statements: [] }],
    ["a required column without a default", adds("ALTER TABLE one ADD COLUMN two TEXT NOT NULL")],
    ["a renamed table", adds("ALTER TABLE one RENAME TO two")],
    ["a renamed column", adds("ALTER TABLE one RENAME COLUMN two TO three")],
    ["a changed type", adds("ALTER TABLE one ALTER COLUMN two TYPE text")],
    ["a removal declared as an addition", adds("DROP TABLE one")],
    ["a removal on one engine only", { ...adds(), only: { sqlite: [], postgres: ["DROP TABLE one"] } }],
    ["a removal that is too early", removes("999.0.0", "DROP TABLE one")],
    ["an addition declared as a removal", removes("0.0.1", "CREATE TABLE one (id TEXT)")],
  ])("refuses %s", (_, migration) => {
    expect(faultsOf(migration)).toHaveLength(1);
  });
});

describe("the check for statements that make writers wait", () => {
  const adds = (...statements: string[]): Migration => ({ name: "9999-a", kind: "adds", statements });

  it.each<[string, Migration]>([
    ["an index of a new table", adds("CREATE TABLE one (id TEXT)", "CREATE INDEX one_id ON one (id)")],
    ["an index in a step", { ...adds(), online: [{ index: "CREATE INDEX one_id ON one (id)" }] }],
    ["rows of a new table", adds("CREATE TABLE one (id TEXT)", "INSERT INTO one VALUES ('two')")],
    ["values", adds("INSERT INTO one VALUES ('two')")],
  ])("accepts %s", (_, migration) => {
    expect(blockingStatementsOf(migration)).toEqual([]);
  });

  it.each<[string, Migration]>([
    ["an index of an existing table", adds("CREATE UNIQUE INDEX one_id ON one (id)")],
    ["an index on one engine", { ...adds(), only: { sqlite: [], postgres: ["CREATE INDEX one_id ON one (id)"] } }],
    ["changed rows", adds("UPDATE one SET two = 3")],
    ["deleted rows", adds("DELETE FROM one WHERE two = 3")],
    ["copied rows", adds("CREATE TABLE two (id TEXT)", "INSERT INTO two SELECT id FROM one")],
    [
      "a step that is built concurrently anyway",
      { ...adds(), online: [{ index: "CREATE INDEX CONCURRENTLY a ON b (c)" }] },
    ],
  ])("refuses %s", (_, migration) => {
    expect(blockingStatementsOf(migration)).toHaveLength(1);
  });
});

describe("the check for servers that keep writing", () => {
  const { newest = "" } = releases.at(-1) ?? {};
  // The first release with this schema.
  const { version: released = "" } = releases.find((release) => release.newest === newest) ?? {};
  const adds = (...statements: string[]): Migration => ({
    name: "9999-a",
    kind: "adds",
    writersKnow: newest,
    statements,
  });

  it.each<[string, Migration]>([
    ["a table with its indexes", adds("CREATE TABLE one (id TEXT)", "CREATE UNIQUE INDEX one_id ON one (id)")],
    ["a column", adds("ALTER TABLE one ADD COLUMN two TEXT")],
    ["an index", adds("CREATE INDEX one_two ON one (two)")],
    [
      "a table that triggers maintain",
      adds(
        "CREATE TABLE one (id TEXT)",
        "INSERT INTO one SELECT id FROM two",
        "CREATE TRIGGER two_one AFTER INSERT ON two BEGIN INSERT INTO one VALUES (NEW.id); END",
      ),
    ],
    [
      "the removal of data unused since that version",
      { ...adds("DROP TABLE one"), kind: "removes", unusedSince: released },
    ],
    [
      "anything in a migration that stops older servers",
      { name: "9999-a", kind: "adds", statements: ["UPDATE one SET two = 3"] },
    ],
  ])("accepts %s", (_, migration) => {
    expect(incompatibilitiesOf(migration)).toEqual([]);
  });

  it.each<[string, Migration]>([
    ["a version that was not released", { ...adds(), writersKnow: "9998-b" }],
    ["a column that is filled once", adds("ALTER TABLE one ADD COLUMN two TEXT", "UPDATE one SET two = three")],
    ["a table that nothing maintains", adds("CREATE TABLE one (id TEXT)", "INSERT INTO one SELECT id FROM two")],
    ["a unique index on an existing table", adds("CREATE UNIQUE INDEX one_two ON one (two)")],
    ["an existing table that becomes append-only", { ...adds(), appendOnly: ["one"] }],
    [
      "the removal of data that the version uses",
      { ...adds("DROP TABLE one"), kind: "removes", unusedSince: "999.0.0" },
    ],
  ])("refuses %s", (_, migration) => {
    expect(incompatibilitiesOf(migration)).toHaveLength(1);
  });
});
