/** A database that is busy, gone or silent: 503 with Retry-After, never a wrong statement, and recovery without a restart. */
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { type Answer, type Api, startApi, startApiOn } from "../support/api.ts";
import { resource, unique } from "../support/builders.ts";
import { type DatabaseProxy, openDatabaseProxy } from "../support/database-proxy.ts";
import { scaled, until } from "../support/waiting.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const createOrganization = (on: Api, name = unique("org")) =>
  on.admin.post("/organizations", resource("organizations", { name, email: "a@b.c" }));

function expectHonest(answer: Answer, detail: RegExp): void {
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(answer.body.errors[0]).toMatchObject({ status: "503", title: "service unavailable" });
  expect(answer.body.errors[0].detail).toMatch(detail);
}

const onSqlite = () => {
  it("gives 503 with Retry-After, then works again", async () => {
    const other = new DatabaseSync(api.address.slice("sqlite:".length));
    other.exec("BEGIN IMMEDIATE");
    expectHonest(await createOrganization(api), /busy\. Nothing was changed/);
    expect((await api.admin.get("/account/details")).status).toBe(200);
    other.exec("ROLLBACK");
    other.close();
    expect((await createOrganization(api)).status).toBe(201);
  });
};

/** Short, for the test; in the same order as the defaults. */
const limits = {
  connectMs: scaled(3_000, 3),
  statementTimeoutMs: scaled(4_000, 3),
  writerSlotTimeoutMs: scaled(4_000, 3),
  lockTimeoutMs: scaled(8_000, 3),
  backendCheckIntervalMs: scaled(500, 3),
  backendCheckTimeoutMs: scaled(3_000, 3),
};
const gone = /can't be reached/;
const unknown = /outcome is unknown.*Check before you send it again/;

const onPostgres = () => {
  let gate: DatabaseProxy;
  let behindGate: Api;

  beforeAll(async () => {
    gate = await openDatabaseProxy(new URL(api.address));
    const url = new URL(api.address);
    url.port = String(gate.port);
    const database = openDatabase(url.toString(), limits);
    behindGate = await startApiOn(
      { address: api.address, database, drop: () => database.close() },
      { metricsToken: "metrics-token-0123456789" },
    );
  });
  afterEach(() => gate.listen(undefined));
  afterAll(async () => {
    await behindGate.stop();
    await gate.close();
  });

  const statusOf = async (path: string) => (await fetch(behindGate.url + path)).status;
  const isThere = async (name: string) => (await api.admin.get(`/organizations/${name}`)).status === 200;

  /** Acts once, on the first message that contains this text. */
  const atFirst = (words: string, act: Parameters<DatabaseProxy["listen"]>[0]) => {
    let isDone = false;
    gate.listen((sent, passage) => {
      if (isDone || !sent.includes(words)) return true;
      isDone = true;
      return act?.(sent, passage);
    });
    return () => isDone;
  };

  it("gives 503 with Retry-After on reads and writes, is not ready, and recovers automatically", async () => {
    expect((await createOrganization(behindGate)).status).toBe(201);
    await gate.cut();
    for (const answer of [await createOrganization(behindGate), await behindGate.admin.get("/account/details")])
      expectHonest(answer, gone);
    expect(await statusOf("/readyz")).toBe(503);
    expect(await statusOf("/healthz")).toBe(200);
    await gate.restore();
    expect(await statusOf("/readyz")).toBe(200);
    expect((await createOrganization(behindGate)).status).toBe(201);
  });

  it("retries a write once on another connection when one is cut before the COMMIT", async () => {
    const name = unique("org");
    const isCut = atFirst(name, (_, passage) => {
      passage.cut();
      return false;
    });
    expect((await createOrganization(behindGate, name)).status).toBe(201);
    expect(isCut()).toBe(true);
    expect(await isThere(name)).toBe(true);
  });

  it("reads on another connection when one is cut during a statement", async () => {
    const isCut = atFirst("\0", (_, passage) => {
      passage.cut();
      return false;
    });
    expect((await behindGate.admin.get("/account/details")).status).toBe(200);
    expect(isCut()).toBe(true);
  });

  it("searches on another connection when one is cut during the search", async () => {
    const name = unique("org");
    expect((await createOrganization(behindGate, name)).status).toBe(201);
    const isCut = atFirst("generic plan", (_, passage) => {
      passage.cut();
      return false;
    });
    expect((await behindGate.admin.get(`/organizations/${name}/workspaces?search[name]=network`)).status).toBe(200);
    expect(isCut()).toBe(true);
  });

  it("reports an unknown outcome when the response to the COMMIT is lost, and does not retry", async () => {
    const name = unique("org");
    let commits = 0;
    gate.listen((sent, passage) => {
      if (!sent.includes("COMMIT\0")) return true;
      commits += 1;
      // The COMMIT arrives, but its response does not.
      passage.silence();
      void until(() => isThere(name)).then(() => passage.cut());
      return true;
    });
    expectHonest(await createOrganization(behindGate, name), unknown);
    expect(commits).toBe(1);
    expect(await isThere(name)).toBe(true);
  });

  it("reports an unknown outcome when the COMMIT itself is lost, which looks the same", async () => {
    const name = unique("org");
    const isCut = atFirst("COMMIT\0", (_, passage) => {
      passage.cut();
      return false;
    });
    expectHonest(await createOrganization(behindGate, name), unknown);
    expect(isCut()).toBe(true);
    expect(await isThere(name)).toBe(false);
  });

  it("answers while the database is silent, and recovers automatically", async () => {
    expect((await createOrganization(behindGate)).status).toBe(201);
    gate.silence();
    const asked = Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0 ? createOrganization(behindGate) : behindGate.admin.get("/account/details"),
    );
    expect(await statusOf("/readyz")).toBe(503);
    expect(await statusOf("/healthz")).toBe(200);
    const headers = { authorization: "Bearer metrics-token-0123456789" };
    expect((await fetch(`${behindGate.url}/metrics`, { headers })).status).toBe(200);
    for (const answer of await Promise.all(asked)) expectHonest(answer, gone);
    gate.speak();
    await until(async () => (await statusOf("/readyz")) === 200);
    expect((await createOrganization(behindGate)).status).toBe(201);
  });

  it("closes one silent connection, and continues with the others", async () => {
    const isSilent = atFirst("BEGIN\0", (_, passage) => {
      passage.silence();
      return false;
    });
    const [refused, ...others] = await Promise.all([
      createOrganization(behindGate),
      behindGate.admin.get("/account/details"),
      behindGate.admin.get("/organizations"),
    ]);
    expect(isSilent()).toBe(true);
    expectHonest(refused, gone);
    for (const answer of others) expect(answer.status).toBe(200);
    expect((await createOrganization(behindGate)).status).toBe(201);
  });

  it("detects a lost response, but waits for a slow statement", async () => {
    const { database } = behindGate;
    const pauseSeconds = (2 * limits.backendCheckIntervalMs) / 1000;
    const sleeping = (tx: Pick<typeof database.reader, "db">) =>
      sql`select pg_sleep(${sql.lit(pauseSeconds)})`.execute(tx.db);
    const isSent = atFirst("pg_sleep", (_, passage) => passage.silence());
    const lost = expect(database.write(sleeping)).rejects.toThrow(gone);
    await until(isSent);
    await database.write(sleeping);
    await lost;
  });

  it("shares one readiness check among concurrent probes", async () => {
    gate.silence();
    const answers: number[] = [];
    for (let count = 0; count < 40; count += 1) void statusOf("/readyz").then((status) => answers.push(status));
    await until(() => {
      expect(behindGate.database.connections().busy).toBeLessThan(3);
      return answers.length === 40;
    });
    expect(new Set(answers)).toEqual(new Set([503]));
    gate.speak();
    await until(async () => (await statusOf("/readyz")) === 200);
  });

  it("times out a write that waits for a lock, and reports that nothing was changed", async () => {
    const other = new pg.Client({ connectionString: api.address });
    await other.connect();
    await other.query("begin; lock table organizations in access exclusive mode");
    const name = unique("org");
    expectHonest(await createOrganization(behindGate, name), /did not answer in time\. Nothing was changed/);
    await other.query("rollback");
    await other.end();
    expect(await isThere(name)).toBe(false);
    expect((await createOrganization(behindGate, name)).status).toBe(201);
  });

  it("never commits a transaction in which a statement failed", async () => {
    const { database } = behindGate;
    const writing = database.write(async (tx) => {
      await tx.db.insertInto("meta").values({ name: "half-done", value: "1" }).execute();
      await tx.db
        .insertInto("meta")
        .values({ name: "half-done", value: "2" })
        .execute()
        .catch(() => "swallowed");
    });
    await expect(writing).rejects.toThrow(/COMMIT was sent after a statement of the transaction had failed/);
    const found = await database.reader.db.selectFrom("meta").select("name").where("name", "=", "half-done").execute();
    expect(found).toEqual([]);
  });

  it("gives a transaction without timeout as long as the backend is working on it", async () => {
    const { database } = behindGate;
    const slow = (tx: Pick<typeof database.reader, "db">) =>
      sql`select pg_sleep(${sql.lit((1.25 * limits.statementTimeoutMs) / 1000)})`.execute(tx.db);
    await database.write(slow, { hasNoTimeout: true });
    atFirst("SET LOCAL", (_, passage) => {
      passage.silence();
      return false;
    });
    await expect(database.write(slow, { hasNoTimeout: true })).rejects.toThrow(gone);
  });
};

// Each engine fails in its own way.
if (inject("engine") === "sqlite") describe("a file that another program holds", onSqlite);
else describe("a server that is gone, or silent", onPostgres);
