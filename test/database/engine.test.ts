/** The contract of `Database`: one suite, run on each engine. */
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { RetryTransaction } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate, migrations } from "../../src/database/migrate.ts";
import { prepared } from "../../src/database/prepared.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { newAddress, newDatabase, type TestDatabase } from "../support/database.ts";
import { itInGate } from "../support/engine-independent.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await newDatabase();
});
afterAll(() => test.drop());

const meta = (name: string, value: string) =>
  test.database.write((tx) => tx.db.insertInto("meta").values({ name, value }).execute());
const valueOf = async (name: string) =>
  (await test.database.reader.db.selectFrom("meta").select("value").where("name", "=", name).executeTakeFirst())?.value;

describe("migrations", () => {
  it("run once, however many servers start together", async () => {
    const { address, drop } = await newAddress();
    const servers = [1, 2, 3, 4].map(() => openDatabase(address));
    const applied = await Promise.all(servers.map((server) => migrate(server)));
    expect(applied.flat()).toEqual(migrations.map((migration) => migration.name));
    expect(await migrate(servers[0] as never)).toEqual([]);
    await Promise.all(servers.map((server) => server.close()));
    await drop();
  });

  it("refuse a database of a newer version", async () => {
    const { address, drop } = await newAddress();
    const database = openDatabase(address);
    await migrate(database);
    await database.write((tx) =>
      tx.db.insertInto("migrations").values({ name: "9999-future", appliedAt: "x" }).execute(),
    );
    await expect(migrate(database)).rejects.toThrow(/newer version of Cadastre.*9999-future/);
    await database.close();
    await drop();
  });
});

describe("runAndRollBack", () => {
  it("returns the work's result, and stores nothing", async () => {
    const [snapshotId, commits] = [test.database.snapshotId(), test.database.commitCount()];
    const seen = await test.database.runAndRollBack(async (tx) => {
      await tx.db.insertInto("meta").values({ name: "rolled-back", value: "1" }).execute();
      return tx.db.selectFrom("meta").select("value").where("name", "=", "rolled-back").execute();
    });
    expect(seen).toEqual([{ value: "1" }]);
    expect(await valueOf("rolled-back")).toBeUndefined();
    expect([test.database.snapshotId(), test.database.commitCount()]).toEqual([snapshotId, commits]);
  });

  it("fails with the work's error, and stores nothing", async () => {
    const failing = test.database.runAndRollBack(async (tx) => {
      await tx.db.insertInto("meta").values({ name: "rolled-back", value: "1" }).execute();
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await valueOf("rolled-back")).toBeUndefined();
  });

  it("rolls back no concurrent write", async () => {
    const names = ["one", "two", "three"].map((name) => `beside ${name}`);
    const runAndRollBack = (name: string) =>
      test.database.runAndRollBack((tx) =>
        tx.db
          .insertInto("meta")
          .values({ name: `not ${name}`, value: "1" })
          .execute(),
      );
    await Promise.all(names.flatMap((name) => [meta(name, "1"), runAndRollBack(name)]));
    for (const name of names) expect([await valueOf(name), await valueOf(`not ${name}`)]).toEqual(["1", undefined]);
  });
});

describe("transactions", () => {
  it("are atomic", async () => {
    const failing = test.database.write(async (tx) => {
      await tx.db.insertInto("meta").values({ name: "half", value: "1" }).execute();
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await valueOf("half")).toBeUndefined();
  });

  it("lose no update with many concurrent writes", async () => {
    await meta("counter", "0");
    const increment = () =>
      test.database.write(async (tx) => {
        const row = await tx.db
          .selectFrom("meta as m")
          .select("m.value")
          .where("m.name", "=", "counter")
          .modifyEnd(tx.dialect.lockRows("m"))
          .executeTakeFirstOrThrow();
        await tx.db
          .updateTable("meta")
          .set({ value: String(Number(row.value) + 1) })
          .where("name", "=", "counter")
          .execute();
      });
    await Promise.all(Array.from({ length: 40 }, increment));
    expect(await valueOf("counter")).toBe("40");
  });

  it("lose nothing with two concurrent servers", async () => {
    const second = openDatabase(test.address);
    await meta("shared", "0");
    const add = (database: typeof second) =>
      database.write((tx) =>
        tx.db
          .updateTable("meta")
          .set({ value: sql`cast(cast(value as bigint) + 1 as text)` })
          .where("name", "=", "shared")
          .execute(),
      );
    await Promise.all(Array.from({ length: 30 }, (_, index) => add(index % 2 === 0 ? second : test.database)));
    expect(Number(await valueOf("shared"))).toBe(30);
    await second.close();
  });

  itInGate("are retried after a deadlock", async () => {
    await meta("left", "0");
    await meta("right", "0");
    let attempts = 0;
    const both = (first: string, other: string) =>
      test.database.write(async (tx) => {
        attempts += 1;
        for (const name of [first, other]) {
          await tx.db
            .updateTable("meta")
            .set({ value: sql`cast(cast(value as bigint) + 1 as text)` })
            .where("name", "=", name)
            .execute();
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      });
    await Promise.all([both("left", "right"), both("right", "left"), both("left", "right"), both("right", "left")]);
    expect(await valueOf("left")).toBe("4");
    expect(await valueOf("right")).toBe("4");
    expect(attempts).toBeGreaterThanOrEqual(4);
  });

  itInGate("run again after RetryTransaction, and fail as busy after too many attempts", async () => {
    await meta("overtaken", "0");
    let attempts = 0;
    const overtaken = (times: number) =>
      test.database.write(async (tx) => {
        attempts += 1;
        await tx.db
          .updateTable("meta")
          .set({ value: String(attempts) })
          .where("name", "=", "overtaken")
          .execute();
        if (attempts <= times) throw new RetryTransaction("the row changed");
      });
    await overtaken(2);
    expect(await valueOf("overtaken")).toBe("3");
    attempts = 0;
    await expect(overtaken(Number.POSITIVE_INFINITY)).rejects.toMatchObject({
      code: "unavailable",
      retryAfterSeconds: expect.any(Number),
    });
    expect(attempts).toBe(8);
    expect(await valueOf("overtaken")).toBe("3");
  });

  it("report a unique violation by attribute", async () => {
    const user = {
      email: "e@x",
      isSiteAdmin: 0,
      isServiceAccount: 0,
      unconfirmedEmail: null,
      createdAt: "2026-01-01T00:00:00.000Z",
      version: 1,
      username: "Taken",
      usernameKey: "taken",
    };
    const insert = (id: string, emailKey: string) =>
      test.database.write((tx) =>
        tx.db
          .insertInto("users")
          .values({ ...user, id, emailKey })
          .execute(),
      );
    await insert("user-1", "e1@x");
    const error = await insert("user-2", "e2@x").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({
      code: "invalid",
      faults: [{ pointer: "/data/attributes/username", detail: "Username has already been taken" }],
    });
  });

  it("report a foreign key violation as a conflict", async () => {
    const member = {
      organizationId: "org-none",
      teamId: "team-none",
      membershipId: "ou-none",
      userId: null,
      createdAt: "x",
    };
    const error = await test.database
      .write((tx) => tx.db.insertInto("teamMembers").values(member).execute())
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "conflict" });
  });

  it("give all statements of a snapshot the same data", async () => {
    await meta("phase", "before");
    const seen = await test.database.snapshot(async (tx) => {
      const read = async () =>
        (await tx.db.selectFrom("meta").select("value").where("name", "=", "phase").executeTakeFirst())?.value;
      const first = await read();
      await test.database.write((write) =>
        write.db.updateTable("meta").set({ value: "after" }).where("name", "=", "phase").execute(),
      );
      return [first, await read()];
    });
    expect(seen).toEqual(["before", "before"]);
    expect(await valueOf("phase")).toBe("after");
  });

  it("stream a table in chunks", async () => {
    await test.database.write(async (tx) => {
      for (let index = 0; index < 25; index += 1)
        await tx.db
          .insertInto("meta")
          .values({ name: `stream-${index}`, value: "x" })
          .execute();
    });
    const names = await test.database.snapshot(async (tx) => {
      const found: string[] = [];
      for await (const row of tx.db.selectFrom("meta").selectAll().where("name", "like", "stream-%").stream(10))
        found.push(row.name);
      return found;
    });
    expect(names).toHaveLength(25);
  });
});

describe("values", () => {
  it("sort byte by byte", async () => {
    const names = ["order-b", "order-B", "order-a", "order-_", "order-ä", "order-A"];
    for (const name of names) await meta(name, "x");
    const rows = await test.database.reader.db
      .selectFrom("meta")
      .select("name")
      .where("name", ">=", "order-")
      .where("name", "<", "order.")
      .orderBy("name")
      .execute();
    expect(rows.map((row) => row.name)).toEqual(["order-A", "order-B", "order-_", "order-a", "order-b", "order-ä"]);
  });

  it("are found by substrings, where wildcards are literal and case matters", async () => {
    for (const name of ["find-100%", "find-1000", "find-a_b", "find-axb"]) await meta(name, "x");
    const find = async (part: string) =>
      (
        await test.database.reader.db
          .selectFrom("meta")
          .select("name")
          .where(test.database.dialect.contains(sql.ref("name"), part))
          .orderBy("name")
          .execute()
      ).map((row) => row.name);
    expect(await find("100%")).toEqual(["find-100%"]);
    expect(await find("a_b")).toEqual(["find-a_b"]);
    expect(await find("FIND-a")).toEqual([]);
  });

  it("can be compared with lists of any length, also an empty one", async () => {
    const { dialect, reader } = test.database;
    const find = async (names: string[]) =>
      (
        await reader.db
          .selectFrom("meta")
          .select("name")
          .where(dialect.isOneOf(sql.ref("name"), names))
          .execute()
      ).length;
    await meta("listed", "x");
    expect(await find([])).toBe(0);
    expect(await find(["listed", ...Array.from({ length: 2000 }, (_, index) => `none-${index}`)])).toBe(1);
  });

  it("can be combined with bit_or", async () => {
    const result = await sql<{ sum: number; none: number | null }>`
      select (select bit_or(v) from (select cast(1 as bigint) as v union all select 6 union all select null) as t) as sum,
             (select bit_or(v) from (select cast(1 as bigint) as v) as t where v = 2) as none`.execute(
      test.database.reader.db,
    );
    expect(result.rows).toEqual([{ sum: 7, none: null }]);
  });

  it("keep integers of 53 bits, text of any script, and null", async () => {
    await meta("texts", "🍄 ÄÖ 漢字 \n\t'\"\\");
    expect(await valueOf("texts")).toBe("🍄 ÄÖ 漢字 \n\t'\"\\");
    const result = await sql<{
      big: number;
      nothing: null;
    }>`select cast(${Number.MAX_SAFE_INTEGER} as bigint) as big, null as absent`.execute(test.database.reader.db);
    expect(result.rows).toEqual([{ big: Number.MAX_SAFE_INTEGER, absent: null }]);
  });
});

describe("prepared statements", () => {
  it("bind the values of each call", async () => {
    await meta("one", "1");
    await meta("two", "2");
    const find = prepared<{ name: string }, { value: string }>((db, { name }) =>
      db.selectFrom("meta").select("value").where("name", "=", name),
    );
    const found = await Promise.all(["one", "two", "three"].map((name) => find(test.database.reader, { name })));
    expect(found).toEqual([[{ value: "1" }], [{ value: "2" }], []]);
  });

  it("count as one statement each", async () => {
    const before = test.database.statementCount();
    await test.database.write((tx) => tx.db.selectFrom("meta").selectAll().execute());
    await test.database.reader.db.selectFrom("meta").selectAll().execute();
    expect(test.database.statementCount() - before).toBe(2);
  });
});

it("runs on the selected engine", () => {
  expect(test.database.dialect.name).toBe(inject("engine"));
});
