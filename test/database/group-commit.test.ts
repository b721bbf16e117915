/** Group commit: queued writes share a commit on the embedded database, and no write resolves before it. */
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { GroupCommit } from "../../src/database/engines/group-commit.ts";
import { describeOnce } from "../support/engine-independent.ts";
import { newAddress } from "../support/database.ts";
import { migrate, migrations } from "../../src/database/migrate.ts";
import { useApi } from "../support/api.ts";
import { makeOrganization, resource, unique } from "../support/builders.ts";
import { until } from "../support/waiting.ts";

/** A connection that records its statements and can be made to fail. */
function connection() {
  const file = new DatabaseSync(":memory:");
  file.exec("CREATE TABLE t (name TEXT PRIMARY KEY)");
  const statements: string[] = [];
  const failing = new Set<string>();
  return {
    statements,
    failing,
    insert: async (name: string) => void file.prepare("INSERT INTO t VALUES (?)").run(name),
    names: () =>
      file
        .prepare("SELECT name FROM t ORDER BY name")
        .all()
        .map((row) => row["name"]),
    control,
    checkFence: () => {},
    commit: async () => control("COMMIT"),
    checkpointIfDue: async () => {},
  };

  function control(statement: string): void {
    statements.push(statement);
    if (failing.has(statement)) throw new Error(`${statement} failed`);
    file.exec(statement);
  }
}

const isBusy = () => false;

describeOnce("group commit", () => {
  it("commits many concurrent writes once", async () => {
    // The clock stands still: a pause of this thread would end the window early.
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const fake = connection();
    const commits = new GroupCommit(fake, isBusy);
    await Promise.all(Array.from({ length: 16 }, (_, index) => commits.write(() => fake.insert(`n${index}`))));
    expect(fake.names()).toHaveLength(16);
    expect(commits.commits).toBe(1);
  });

  it("undoes only the write that fails", async () => {
    const fake = connection();
    const commits = new GroupCommit(fake, isBusy);
    const outcomes = await Promise.allSettled([
      commits.write(() => fake.insert("first")),
      commits.write(async () => {
        await fake.insert("half");
        throw new Error("no");
      }),
      commits.write(() => fake.insert("last")),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(fake.names()).toEqual(["first", "last"]);
  });

  it("resolves and rejects no write before the commit", async () => {
    const fake = connection();
    const commits = new GroupCommit(fake, isBusy);
    const settled: string[] = [];
    const note = (outcome: string) => () => void settled.push(`${outcome} after ${fake.statements.at(-1)}`);
    await Promise.all([
      commits.write(() => fake.insert("taken")).then(note("made")),
      commits.write(() => fake.insert("taken")).catch(note("refused")),
      commits.write(() => fake.insert("other")).then(note("made")),
    ]);
    expect(settled).toEqual(["made after COMMIT", "refused after COMMIT", "made after COMMIT"]);
  });

  it("fails all writes of a commit that fails, and keeps none of them", async () => {
    const fake = connection();
    const commits = new GroupCommit(fake, isBusy);
    fake.failing.add("COMMIT");
    const outcomes = await Promise.allSettled(["a", "b"].map((name) => commits.write(() => fake.insert(name))));
    expect(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.message)).toEqual([
      "COMMIT failed",
      "COMMIT failed",
    ]);
    fake.failing.clear();
    expect(fake.names()).toEqual([]);
    await commits.write(() => fake.insert("later"));
    expect(fake.names()).toEqual(["later"]);
  });

  it("keeps waiting while another process writes, and fails after the timeout", async () => {
    const fake = connection();
    const commits = new GroupCommit(fake, () => true);
    fake.failing.add("BEGIN IMMEDIATE");
    const written = commits.write(() => fake.insert("patient"));
    await until(() => fake.statements.filter((statement) => statement === "BEGIN IMMEDIATE").length > 1);
    fake.failing.clear();
    await written;
    expect(fake.names()).toEqual(["patient"]);
    fake.failing.add("BEGIN IMMEDIATE");
    await expect(commits.write(() => fake.insert("late"))).rejects.toThrow("BEGIN IMMEDIATE failed");
  });

  it("fails the queued writes if BEGIN fails, and tries again for the next ones", async () => {
    const fake = connection();
    const commits = new GroupCommit(fake, isBusy);
    fake.failing.add("BEGIN IMMEDIATE");
    await expect(commits.write(() => fake.insert("a"))).rejects.toThrow("BEGIN IMMEDIATE failed");
    fake.failing.clear();
    await commits.write(() => fake.insert("a"));
    expect(fake.names()).toEqual(["a"]);
  });

  it("fails all writes if a savepoint can't be rolled back", async () => {
    const fake = connection();
    const commits = new GroupCommit(fake, isBusy);
    fake.failing.add("ROLLBACK TO one_write");
    const outcomes = await Promise.allSettled([
      commits.write(() => fake.insert("a")),
      commits.write(() => Promise.reject(new Error("disk full"))),
    ]);
    expect(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.message)).toEqual([
      "disk full",
      "disk full",
    ]);
    expect(fake.names()).toEqual([]);
  });

  it("fails on a full disk, and stores nothing that the work writes after the error", async () => {
    const { address, drop } = await newAddress("sqlite");
    const database = openDatabase(address);
    await migrate(database);
    const note = (name: string, length: number) =>
      database.write(async ({ db }) => {
        const insert = (value: string) => db.insertInto("meta").values({ name, value }).execute();
        await insert("x".repeat(length)).catch(() => insert("after all"));
      });
    await database.write(async ({ db }) => {
      const { rows } = await sql<{ pageCount: number }>`select page_count from pragma_page_count`.execute(db);
      await sql.raw(`PRAGMA max_page_count = ${(rows[0]?.pageCount ?? 0) + 20}`).execute(db);
    });
    const [small, large] = await Promise.allSettled([note("small", 10), note("large", 4_000_000)]);
    expect(large.status).toBe("rejected");
    expect(small.status).toBe("rejected");
    expect(
      await database.reader.db.selectFrom("meta").select("name").where("name", "in", ["small", "large"]).execute(),
    ).toEqual([]);
    await database.close();
    await drop();
  });

  it("has no deferred constraints, so that one write can't fail the commit of others", () => {
    expect(migrations.flatMap(({ statements }) => statements).join("\n")).not.toMatch(/deferr/i);
  });

  it("finishes queued writes when the database is closed", async () => {
    const { address, drop } = await newAddress("sqlite");
    const database = openDatabase(address);
    await migrate(database);
    const written = database.write(async ({ db }) => {
      await db.insertInto("meta").values({ name: "last", value: "written" }).execute();
    });
    await Promise.all([database.close(), written]);
    const again = openDatabase(address);
    expect(await again.reader.db.selectFrom("meta").selectAll().where("name", "=", "last").execute()).toHaveLength(1);
    await again.close();
    await drop();
  });
});

describeOnce("the snapshot id of the embedded database", () => {
  it("changes with every commit of any process, except with keepsCache", async () => {
    const { address, drop } = await newAddress("sqlite", true);
    const [database, other] = [openDatabase(address), openDatabase(address)];
    let notes = 0;
    const note = (on: typeof database, keepsCache: boolean) =>
      on.write(
        async ({ db }) => {
          await db
            .insertInto("meta")
            .values({ name: `note ${(notes += 1)}`, value: "" })
            .execute();
        },
        { keepsCache },
      );
    const changesId = async (work: () => Promise<unknown>) => {
      const before = database.snapshotId();
      await work();
      return database.snapshotId() !== before;
    };
    expect(await changesId(async () => {})).toBe(false);
    expect(await changesId(() => note(database, true))).toBe(false);
    expect(await changesId(() => note(database, false))).toBe(true);
    expect(await changesId(() => note(database, true))).toBe(false);
    // Commits of another process always change it.
    expect(await changesId(() => note(other, true))).toBe(true);
    // Both share a transaction.
    expect(await changesId(() => Promise.all([note(database, true), note(database, false)]))).toBe(true);
    // A commit of another process is not missed when one with keepsCache follows or precedes it.
    expect(await changesId(() => note(other, false).then(() => note(database, true)))).toBe(true);
    expect(await changesId(() => note(database, true).then(() => note(other, false)))).toBe(true);
    await Promise.all([database.close(), other.close()]);
    await drop();
  });
});

describe("16 concurrent writers", () => {
  const api = useApi();
  const callers = Array.from({ length: 16 }, (_, caller) => caller);

  it("share commits on the embedded database: at most one for four writes", async () => {
    const before = api.database.commitCount();
    const note = (name: string) =>
      api.database.write(async ({ db }) => {
        await db.insertInto("meta").values({ name, value: "" }).execute();
      });
    await Promise.all(
      callers.map(async (caller) => {
        for (let turn = 0; turn < 10; turn += 1) await note(`note ${caller} ${turn}`);
      }),
    );
    const commits = api.database.commitCount() - before;
    if (api.database.dialect.name === "sqlite") expect(commits).toBeLessThanOrEqual(40);
    else expect(commits).toBe(160);
  });

  it("get their own results: of those that use the same name, one succeeds", async () => {
    const org = await makeOrganization(api);
    const create = (name: string) =>
      org.owner.post(`/organizations/${org.name}/workspaces`, resource("workspaces", { name }));
    const taken = unique("taken");
    const answers = await Promise.all(callers.flatMap((caller) => [create(unique(`ws-${caller}`)), create(taken)]));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(17);
    expect(statuses.filter((status) => status === 422)).toHaveLength(15);
    const listed = await org.owner.get(`/organizations/${org.name}/workspaces?page[size]=100`);
    expect(listed.body.data).toHaveLength(17);
  });
});
