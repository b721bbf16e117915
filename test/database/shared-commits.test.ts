/** Writes that wait in line share a commit on the embedded database, and nobody is told anything before it. */
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { GroupCommit } from "../../src/database/engines/shared-commits.ts";
import { describeOnce } from "../support/once.ts";
import { newAddress } from "../support/database.ts";
import { migrate, migrations } from "../../src/database/migrate.ts";
import { useApi } from "../support/api.ts";
import { makeOrganization, resource, unique } from "../support/builders.ts";
import { until } from "../support/waiting.ts";

/** A connection that can be told to fail, and tells what it was told. */
function connection() {
  const file = new DatabaseSync(":memory:");
  file.exec("CREATE TABLE t (name TEXT PRIMARY KEY)");
  const told: string[] = [];
  const failing = new Set<string>();
  return {
    told,
    failing,
    insert: async (name: string) => void file.prepare("INSERT INTO t VALUES (?)").run(name),
    names: () =>
      file
        .prepare("SELECT name FROM t ORDER BY name")
        .all()
        .map((row) => row["name"]),
    control,
    admit: () => {},
    commit: async () => control("COMMIT"),
    settle: async () => {},
  };

  function control(statement: string): void {
    told.push(statement);
    if (failing.has(statement)) throw new Error(`${statement} failed`);
    file.exec(statement);
  }
}

const isBusy = () => false;

describeOnce("shared commits", () => {
  it("of many writes at once there is one", async () => {
    // The clock stands still: a pause of this thread would end the window early.
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const one = connection();
    const commits = new GroupCommit(one, isBusy);
    await Promise.all(Array.from({ length: 16 }, (_, index) => commits.write(() => one.insert(`n${index}`))));
    expect(one.names()).toHaveLength(16);
    expect(commits.commits).toBe(1);
  });

  it("one that fails takes only itself back, whatever it had done", async () => {
    const one = connection();
    const commits = new GroupCommit(one, isBusy);
    const outcomes = await Promise.allSettled([
      commits.write(() => one.insert("first")),
      commits.write(async () => {
        await one.insert("half");
        throw new Error("no");
      }),
      commits.write(() => one.insert("last")),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(one.names()).toEqual(["first", "last"]);
  });

  it("nobody is told anything, not even a refusal, before the commit", async () => {
    const one = connection();
    const commits = new GroupCommit(one, isBusy);
    const heard: string[] = [];
    const hear = (what: string) => () => void heard.push(`${what} after ${one.told.at(-1)}`);
    await Promise.all([
      commits.write(() => one.insert("taken")).then(hear("made")),
      commits.write(() => one.insert("taken")).catch(hear("refused")),
      commits.write(() => one.insert("other")).then(hear("made")),
    ]);
    expect(heard).toEqual(["made after COMMIT", "refused after COMMIT", "made after COMMIT"]);
  });

  it("a commit that fails fails them all, and nothing of them stays", async () => {
    const one = connection();
    const commits = new GroupCommit(one, isBusy);
    one.failing.add("COMMIT");
    const outcomes = await Promise.allSettled(["a", "b"].map((name) => commits.write(() => one.insert(name))));
    expect(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.message)).toEqual([
      "COMMIT failed",
      "COMMIT failed",
    ]);
    one.failing.clear();
    expect(one.names()).toEqual([]);
    await commits.write(() => one.insert("later"));
    expect(one.names()).toEqual(["later"]);
  });

  it("while somebody else writes, whoever waits keeps waiting, and is told when it takes too long", async () => {
    const one = connection();
    const commits = new GroupCommit(one, () => true);
    one.failing.add("BEGIN IMMEDIATE");
    const written = commits.write(() => one.insert("patient"));
    await until(() => one.told.filter((statement) => statement === "BEGIN IMMEDIATE").length > 1);
    one.failing.clear();
    await written;
    expect(one.names()).toEqual(["patient"]);
    one.failing.add("BEGIN IMMEDIATE");
    await expect(commits.write(() => one.insert("late"))).rejects.toThrow("BEGIN IMMEDIATE failed");
  });

  it("a transaction that can't be begun fails whoever waits, and the next is tried anew", async () => {
    const one = connection();
    const commits = new GroupCommit(one, isBusy);
    one.failing.add("BEGIN IMMEDIATE");
    await expect(commits.write(() => one.insert("a"))).rejects.toThrow("BEGIN IMMEDIATE failed");
    one.failing.clear();
    await commits.write(() => one.insert("a"));
    expect(one.names()).toEqual(["a"]);
  });

  it("a transaction that can't go on after a failure fails them all", async () => {
    const one = connection();
    const commits = new GroupCommit(one, isBusy);
    one.failing.add("ROLLBACK TO apart");
    const outcomes = await Promise.allSettled([
      commits.write(() => one.insert("a")),
      commits.write(() => Promise.reject(new Error("disk full"))),
    ]);
    expect(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.message)).toEqual([
      "disk full",
      "disk full",
    ]);
    expect(one.names()).toEqual([]);
  });

  it("a disk that is full is told as that, and whoever goes on after it writes nothing", async () => {
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

  it("nothing is left to be checked by the commit, so that one write can't fail it for others", () => {
    expect(migrations.flatMap(({ statements }) => statements).join("\n")).not.toMatch(/deferr/i);
  });

  it("a database that is closed finishes what was begun", async () => {
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

describeOnce("a moment of the embedded database", () => {
  it("is another after every commit but of what is unseen, whoever writes beside it", async () => {
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
        { keepsCache: keepsCache },
      );
    const isAnother = async (work: () => Promise<unknown>) => {
      const before = database.snapshotId();
      await work();
      return database.snapshotId() !== before;
    };
    expect(await isAnother(async () => {})).toBe(false);
    expect(await isAnother(() => note(database, true))).toBe(false);
    expect(await isAnother(() => note(database, false))).toBe(true);
    expect(await isAnother(() => note(database, true))).toBe(false);
    // Another process sees a commit, whatever was in it.
    expect(await isAnother(() => note(other, true))).toBe(true);
    // Both share a transaction.
    expect(await isAnother(() => Promise.all([note(database, true), note(database, false)]))).toBe(true);
    // What another has committed is not passed over together with what comes after it, nor is what it commits from then on.
    expect(await isAnother(() => note(other, false).then(() => note(database, true)))).toBe(true);
    expect(await isAnother(() => note(database, true).then(() => note(other, false)))).toBe(true);
    await Promise.all([database.close(), other.close()]);
    await drop();
  });
});

describe("16 callers who write one after the other", () => {
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

  it("are each answered for themselves: of those who want the same name one gets it", async () => {
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
