/**
 * Migrations are of two kinds, so that a version can be rolled out while the one before still serves: they add, and a version later they
 * remove. What was released is never changed.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fixturesPath, isHigher, parseReleases, releasesPath, schemaFaults } from "../packaging/schema.ts";
import { migrations } from "../src/database/migrate.ts";
import type { Migration } from "../src/database/migrations/migration.ts";

/** Those of the first version with a fence, and before: whoever comes from a version that lacks one of them stops its servers. */
const isOlderThanTheRule = ({ name }: Migration) => name < "0031";

const releases = parseReleases(readFileSync(releasesPath, "utf8"));
const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

/** What may be said by both kinds: nothing of it is noticed by whoever reads. */
const unnoticed = [
  /^CREATE (UNIQUE )?INDEX /,
  /^DROP (INDEX|TRIGGER|FUNCTION) /,
  /^CREATE (CONSTRAINT )?TRIGGER /,
  /^CREATE (OR REPLACE )?FUNCTION /,
  /^(INSERT INTO|UPDATE|DELETE FROM) /,
];
const saidBy: Readonly<Record<string, readonly RegExp[]>> = {
  adds: [...unnoticed, /^CREATE (VIRTUAL )?TABLE /, /^ALTER TABLE \w+ ADD COLUMN /],
  removes: [...unnoticed, /^DROP TABLE /, /^ALTER TABLE \w+ DROP COLUMN \w+$/],
};

/** What keeps servers of the version before from going on, in sentences. */
function faultsOf({ name, kind, unusedSince, statements, only }: Migration): string[] {
  if (kind === undefined) return [`${name} does not say whether it adds or removes`];
  const faults: string[] = [];
  if (kind === "removes" && (unusedSince === undefined || isHigher(unusedSince, releases.at(-1)?.version ?? "")))
    faults.push(`${name} does not name the released version since which nobody reads what it removes`);
  if (kind === "adds" && unusedSince !== undefined) faults.push(`${name} adds, so there is nothing unused in it`);
  for (const statement of [...statements, ...Object.values(only ?? {}).flat()]) {
    const text = statement.replaceAll(/\s+/g, " ").trim();
    if (!saidBy[kind]?.some((pattern) => pattern.test(text))) faults.push(`${name} ${kind}, but says: ${text}`);
    if (/ ADD COLUMN /.test(text) && / NOT NULL/.test(text) && !/ DEFAULT /.test(text))
      faults.push(`${name} adds a column without a default, which older servers can't fill: ${text}`);
  }
  return faults;
}

/** The table that a statement makes, or that it changes. */
const tableOf = (text: string, verb: RegExp): string | undefined =>
  new RegExp(`^${verb.source} (?:IF NOT EXISTS )?(\\w+)`).exec(text)?.[1];

/** What keeps servers of the version that `writersKnow` ends from going on writing, in sentences, as far as SQL shows it. */
function incompatibilitiesOf({ name, writersKnow, unusedSince, statements, only, appendOnly }: Migration): string[] {
  if (writersKnow === undefined) return [];
  const release = releases.find(({ newest }) => newest === writersKnow);
  if (release === undefined) return [`${name}: ${writersKnow} is not the newest migration of a released version`];
  const faults: string[] = [];
  if (unusedSince !== undefined && isHigher(unusedSince, release.version))
    faults.push(`${name} removes what servers of ${release.version} still use`);
  const all = [statements, ...Object.values(only ?? {})];
  for (const texts of all.map((list) => list.map((statement) => statement.replaceAll(/\s+/g, " ").trim()))) {
    const made = texts.map((text) => tableOf(text, /CREATE (?:VIRTUAL )?TABLE/));
    const isKeptByTriggers = (table: string | undefined) =>
      texts.some((text) => /^CREATE (FUNCTION|TRIGGER)/.test(text) && text.includes(`INSERT INTO ${table} `));
    for (const text of texts) {
      const filled = tableOf(text, /(?:INSERT INTO|UPDATE|DELETE FROM)/);
      if (filled !== undefined && !(made.includes(filled) && isKeptByTriggers(filled)))
        faults.push(`${name} fills ${filled}, which servers that don't know it would not go on filling: ${text}`);
      const unique = /^CREATE UNIQUE INDEX \w+ ON (\w+)/.exec(text)?.[1];
      if (unique !== undefined && !made.includes(unique))
        faults.push(`${name} refuses what older servers may write: ${text}`);
    }
  }
  for (const table of appendOnly ?? [])
    if (!statements.some((text) => tableOf(text.trim(), /CREATE TABLE/) === table))
      faults.push(`${name} refuses what older servers may change in ${table}`);
  return faults;
}

describe("migrations", () => {
  it("have a number each, and are listed in its order", () => {
    const names = migrations.map(({ name }) => name);
    expect(names).toEqual(names.toSorted());
    expect(names.filter((name) => !/^\d{4}-[a-z-]+$/.test(name))).toEqual([]);
    expect(new Set(names.map((name) => name.slice(0, 4))).size).toBe(names.length);
  });

  it("add first, and remove a version later, so that servers of the version before go on reading", () => {
    expect(migrations.filter((migration) => !isOlderThanTheRule(migration)).flatMap(faultsOf)).toEqual([]);
  });

  it("name older servers that go on writing only where nothing that they write would be missing or refused", () => {
    expect(migrations.flatMap(incompatibilitiesOf)).toEqual([]);
  });

  it("belong to one version: a schema that differs from a released one needs another version", () => {
    expect(schemaFaults(version, migrations, releases)).toEqual([]);
    expect(readdirSync(fixturesPath).toSorted()).toEqual(releases.map((release) => `${release.version}.backup`));
  });

  it("are never changed once they are released: migrations.txt has a digest of each", async () => {
    const digest = (migration: Migration) =>
      createHash("sha256").update(JSON.stringify(migration)).digest("hex").slice(0, 16);
    const lines = migrations.map((migration) => `${digest(migration)} ${migration.name}`);
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("goldens/migrations.txt");
  });
});

describe("the rule of the two kinds", () => {
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
    ["an index in another's place", adds("DROP INDEX one_two", "CREATE INDEX one_two ON one (two, three)")],
    ["what new columns hold", adds("UPDATE one SET two = three")],
    ["the end of a table", removes("0.0.1", "DROP TABLE one")],
    ["the end of a column", removes("0.0.1", "ALTER TABLE one DROP COLUMN two")],
  ])("lets %s pass", (_, migration) => {
    expect(faultsOf(migration)).toEqual([]);
  });

  it.each<[string, Migration]>([
    ["no kind", { name: "0028-a", statements: [] }],
    ["a column that must be filled", adds("ALTER TABLE one ADD COLUMN two TEXT NOT NULL")],
    ["another name", adds("ALTER TABLE one RENAME TO two")],
    ["another name of a column", adds("ALTER TABLE one RENAME COLUMN two TO three")],
    ["another type", adds("ALTER TABLE one ALTER COLUMN two TYPE text")],
    ["something that goes, said to add", adds("DROP TABLE one")],
    ["something that only one engine is told", { ...adds(), only: { sqlite: [], postgres: ["DROP TABLE one"] } }],
    ["something that goes too early", removes("999.0.0", "DROP TABLE one")],
    ["something new, said to remove", removes("0.0.1", "CREATE TABLE one (id TEXT)")],
  ])("refuses %s", (_, migration) => {
    expect(faultsOf(migration)).toHaveLength(1);
  });
});

describe("the rule for servers that go on writing", () => {
  const { newest = "" } = releases.at(-1) ?? {};
  // The first with this schema.
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
      "a table that triggers keep",
      adds(
        "CREATE TABLE one (id TEXT)",
        "INSERT INTO one SELECT id FROM two",
        "CREATE TRIGGER two_one AFTER INSERT ON two BEGIN INSERT INTO one VALUES (NEW.id); END",
      ),
    ],
    ["what is unused since that version", { ...adds("DROP TABLE one"), kind: "removes", unusedSince: released }],
    ["anything of one that stops them", { name: "9999-a", kind: "adds", statements: ["UPDATE one SET two = 3"] }],
  ])("lets %s pass", (_, migration) => {
    expect(incompatibilitiesOf(migration)).toEqual([]);
  });

  it.each<[string, Migration]>([
    ["a version that was not released", { ...adds(), writersKnow: "9998-b" }],
    ["a column that is filled", adds("ALTER TABLE one ADD COLUMN two TEXT", "UPDATE one SET two = three")],
    ["a table that nothing keeps", adds("CREATE TABLE one (id TEXT)", "INSERT INTO one SELECT id FROM two")],
    ["a rule for what is there", adds("CREATE UNIQUE INDEX one_two ON one (two)")],
    ["a table that may no longer be changed", { ...adds(), appendOnly: ["one"] }],
    ["what that version uses", { ...adds("DROP TABLE one"), kind: "removes", unusedSince: "999.0.0" }],
  ])("refuses %s", (_, migration) => {
    expect(incompatibilitiesOf(migration)).toHaveLength(1);
  });
});
