/** Transactions on PostgreSQL: what is sent together, and what happens when BEGIN or a statement behind it fails. */
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import type { Database, Tx } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { pipelined } from "../../src/database/pipelined.ts";
import { insertRow, prepared } from "../../src/database/prepared.ts";
import { type Api, startApi, startApiOn } from "../support/api.ts";
import { data, resource, unique } from "../support/builders.ts";
import { type DatabaseProxy, openDatabaseProxy, type ProxyListener } from "../support/database-proxy.ts";

const valueOf = prepared<{ name: string }, { value: string }>((db, { name }) =>
  db.selectFrom("meta").select("value").where("name", "=", name),
);
const setMeta = (tx: Tx, name: string, value = "1") => insertRow(tx, "meta", { name, value });

const onPostgres = () => {
  let api: Api;
  let gate: DatabaseProxy;
  let database: Database;
  let behindGate: Api;
  beforeAll(async () => {
    api = await startApi();
    gate = await openDatabaseProxy(new URL(api.address));
    const url = new URL(api.address);
    url.port = String(gate.port);
    database = openDatabase(url.toString(), { connections: 3 });
    behindGate = await startApiOn({ address: api.address, database, drop: () => database.close() }, { cacheBytes: 0 });
  });
  afterEach(() => gate.listen(undefined));
  afterAll(async () => {
    await behindGate.stop();
    await gate.close();
    await api.stop();
  });

  const isStored = async (name: string) => (await valueOf(api.database.reader, { name })).length > 0;

  /** What is sent while `work` runs again, one text for each packet. */
  async function packetsOf(work: () => Promise<unknown>): Promise<string[]> {
    const packets: string[] = [];
    await work();
    gate.listen((sent) => void packets.push(sent));
    await work();
    gate.listen(undefined);
    return packets;
  }

  const atFirst = (words: string, act: ProxyListener) => {
    let isDone = false;
    gate.listen((sent, connection) => {
      if (isDone || !sent.includes(words)) return true;
      isDone = true;
      return act(sent, connection);
    });
  };

  it("sends BEGIN with a first statement that reads", async () => {
    const packets = await packetsOf(() => database.write((tx) => valueOf(tx, { name: unique("read") })));
    expect(packets).toEqual([expect.stringMatching(/BEGIN[^]*read-/), expect.stringContaining("COMMIT")]);
  });

  it("waits for BEGIN before a first statement that writes, which would be committed alone", async () => {
    const packets = await packetsOf(() => database.write((tx) => setMeta(tx, unique("written"))));
    expect(packets).toHaveLength(3);
    expect(packets[0]).toContain("BEGIN");
    expect(packets[0]).not.toContain("written-");
  });

  it("creates a workspace in three round trips, with the one that authenticates", async () => {
    const organization = data(
      await behindGate.admin.post("/organizations", resource("organizations", { name: unique("org"), email: "a@b.c" })),
    ).id;
    const create = async () =>
      data(
        await behindGate.admin.post(
          `/organizations/${organization}/workspaces`,
          resource("workspaces", { name: unique("w") }),
        ),
      );
    expect(await packetsOf(create)).toHaveLength(3);
  });

  it("retries on another connection when one is cut between BEGIN and the first statement", async () => {
    const name = unique("cut");
    let attempts = 0;
    atFirst("BEGIN", (_, connection) => {
      connection.cut();
      return false;
    });
    await database.write(async (tx) => {
      attempts += 1;
      await valueOf(tx, { name });
      await setMeta(tx, name);
    });
    expect(attempts).toBe(2);
    expect(await isStored(name)).toBe(true);
  });

  it("commits nothing if the server refused the write, even if the work ignores the error of its first statement", async () => {
    const name = unique("refused");
    database.fence.setMigrations([]);
    const writing = database.write(async (tx) => {
      await valueOf(tx, { name }).catch(() => []);
      await setMeta(tx, name).catch(() => {});
    });
    await expect(writing).rejects.toThrow(/another version of Cadastre/);
    database.fence.disable();
    expect(await isStored(name)).toBe(false);
  });

  it("throws the first error of pipelined statements, stores none of them, and uses the connection again", async () => {
    const name = unique("twice");
    const writing = database.write((tx) =>
      pipelined([setMeta(tx, name), setMeta(tx, name), setMeta(tx, unique("behind"))]),
    );
    await expect(writing).rejects.toMatchObject({ code: "invalid" });
    expect(await isStored(name)).toBe(false);
    await database.write((tx) => setMeta(tx, name));
    expect(await isStored(name)).toBe(true);
  });

  const setWithCommit = (tx: Tx, name: string) => setMeta(tx.withCommit as Tx, name);

  it("sends COMMIT with the last writes", async () => {
    const packets = await packetsOf(() =>
      database.write(async (tx) => {
        await setWithCommit(tx, unique("last"));
        await setWithCommit(tx, unique("last"));
      }),
    );
    expect(packets).toEqual([expect.stringContaining("BEGIN"), expect.stringMatching(/last-[^]*last-[^]*COMMIT/)]);
  });

  it("throws the first error of writes that were sent with COMMIT, and stores none of them", async () => {
    const name = unique("twice");
    const writing = database.write(async (tx) => {
      await setWithCommit(tx, name);
      await setWithCommit(tx, name);
      await setWithCommit(tx, unique("behind"));
    });
    await expect(writing).rejects.toMatchObject({ code: "invalid" });
    expect(await isStored(name)).toBe(false);
    await database.write((tx) => setWithCommit(tx, name));
    expect(await isStored(name)).toBe(true);
  });

  it("throws the error of a write that was sent with COMMIT at a statement behind it", async () => {
    const name = unique("behind");
    const writing = database.write(async (tx) => {
      await setWithCommit(tx, name);
      await setWithCommit(tx, name);
      await expect(valueOf(tx, { name })).rejects.toMatchObject({ code: "invalid" });
      throw new Error("seen");
    });
    await expect(writing).rejects.toThrow("seen");
    expect(await isStored(name)).toBe(false);
  });

  it("checks writes that are sent with COMMIT before it sends COMMIT", async () => {
    const name = unique("unchecked");
    let noted = 0;
    const commitCheck = () => ({
      note: () => void (noted += 1),
      beforeCommit: () => {
        throw new Error(`refused after ${noted}`);
      },
    });
    const writing = database.write((tx) => setWithCommit(tx, name), { commitCheck });
    await expect(writing).rejects.toThrow("refused after 1");
    expect(await isStored(name)).toBe(false);
  });

  it("sends no COMMIT behind a write that could not be sent", async () => {
    const name = unique("unsent");
    const unsendable = {
      toPostgres: () => {
        throw new Error("not a value");
      },
    };
    const writing = database.write(async (tx) => {
      await setWithCommit(tx, name);
      await setMeta(tx.withCommit as Tx, unique("unsendable"), unsendable as never);
    });
    await expect(writing).rejects.toThrow("not a value");
    expect(await isStored(name)).toBe(false);
  });

  it("reports an unknown outcome, without a retry, when the connection is cut at writes that are sent with COMMIT", async () => {
    const name = unique("unknown");
    let attempts = 0;
    atFirst("COMMIT", (_, connection) => {
      connection.cut();
      return false;
    });
    const writing = database.write(async (tx) => {
      attempts += 1;
      await setWithCommit(tx, name);
    });
    await expect(writing).rejects.toThrow(/outcome is unknown/);
    expect(attempts).toBe(1);
  });

  it("refuses a statement that comes during or after the COMMIT, which would be committed alone", async () => {
    const name = unique("late");
    let leaked: Tx | undefined;
    let during: Promise<void> | undefined;
    atFirst("COMMIT", () => {
      during = setMeta(leaked as Tx, name);
      during.catch(() => {});
    });
    await database.write(async (tx) => {
      leaked = tx;
    });
    await expect(during).rejects.toThrow(/after its transaction had ended/);
    await expect(setMeta(leaked as Tx, name)).rejects.toThrow(/after its transaction had ended/);
    expect(await isStored(name)).toBe(false);
  });

  it("reads rows of a table to which another connection has added a column", async () => {
    const table = unique("shape").replace("-", "_");
    const run = (statement: string) => sql.raw(statement).execute(api.database.reader.db);
    const read = () => sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(database.reader.db);
    await run(`create table ${table} (a bigint, b text)`);
    await run(`insert into ${table} values (1, 'x')`);
    expect((await read()).rows).toEqual([{ a: 1, b: "x" }]);
    await run(`alter table ${table} add column c_d numeric default 2, alter column b type bigint using 7`);
    expect((await read()).rows).toEqual([{ a: 1, b: 7, cD: 2 }]);
    await run(`drop table ${table}`);
  });
};

describe.skipIf(inject("engine") !== "postgres")("a transaction of PostgreSQL", onPostgres);
