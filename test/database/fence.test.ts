/**
 * Two versions on one register: the newer one has one more migration. Servers are replaced one after the other while callers continue,
 * and every response stays true.
 */
import { join } from "node:path";
import { sql } from "kysely";
import { afterAll, describe, expect, it } from "vitest";
import { writeBackup } from "../../src/backup/write.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate, migrations, recordReadyMigration } from "../../src/database/migrate.ts";
import type { Migration } from "../../src/database/migrations/migration.ts";
import { type Answer, type Api, addFirstAdmin, startApiOn } from "../support/api.ts";
import { data, makeOrganization, resource, unique } from "../support/builders.ts";
import { newAddress } from "../support/database.ts";
import { newFolder } from "../support/folder.ts";

/** Records which events existed when it was applied, and adds a column to a table that is selected with `*`. */
const future: Migration = {
  name: "9998-future",
  kind: "adds",
  statements: [
    `CREATE TABLE known_events (id TEXT PRIMARY KEY)`,
    `INSERT INTO known_events SELECT id FROM audit_events`,
    `ALTER TABLE projects ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'`,
    `ALTER TABLE organizations ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'`,
  ],
};

const ended: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

async function newRegister(): Promise<string> {
  const { address, drop } = await newAddress(undefined, true);
  ended.push(drop);
  return address;
}

/** A server of a version with its own connections, like a separate process. */
async function startVersion(address: string, known: readonly Migration[]): Promise<Api> {
  const database = openDatabase(address);
  await migrate(database, known);
  const api = await startApiOn({ address, database, drop: () => database.close() });
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= api.stop());
  ended.push(stop);
  return { ...api, stop };
}

const startOlder = (address: string) => startVersion(address, migrations);
const startNewer = (address: string) => startVersion(address, [...migrations, future]);

const isReady = async (api: Api) => (await fetch(`${api.url}/readyz`)).status === 200;

describe("an older server, once the database has a newer schema", () => {
  it("refuses writes, answers reads, and stays ready for reads until the newer one is ready", async () => {
    const address = await newRegister();
    const older = await startOlder(address);
    await addFirstAdmin(older.database);
    const { name, owner } = await makeOrganization(older);
    const projects = `/organizations/${name}/projects`;
    const project = data(await owner.post(projects, resource("projects", { name: "before" })));
    // These statements were prepared before the column was added.
    const read = (api: Api) =>
      Promise.all([`/projects/${project.id}`, projects, `/organizations/${name}`].map((path) => api.admin.get(path)));
    await read(older);
    const newer = await startNewer(address);

    const refused = await older.as(owner.token).post(projects, resource("projects", { name: "after" }));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(refused.body.errors[0].detail).toMatch(/^The database was migrated to another version of Cadastre.* Try/);
    const readOnly = await fetch(`${older.url}/readyz`);
    expect([readOnly.status, await readOnly.json()]).toEqual([200, { status: "read-only", contents: "database" }]);
    await recordReadyMigration(newer.database, [...migrations, future]);
    older.database.fence.handoverMs = 600_000;
    expect((await fetch(`${older.url}/readyz`)).status).toBe(200);
    older.database.fence.handoverMs = 0;
    const ready = await fetch(`${older.url}/readyz`);
    expect([ready.status, ready.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await ready.text()).toContain("another version of Cadastre");
    expect((await fetch(`${older.url}/healthz`)).status).toBe(200);
    expect(await isReady(newer)).toBe(true);

    expect((await newer.as(owner.token).post(projects, resource("projects", { name: "after" }))).status).toBe(201);
    const [byOlder, byNewer] = [await read(older), await read(newer)];
    expect(byOlder.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(byOlder.map(({ body }) => body)).toEqual(byNewer.map(({ body }) => body));
    expect(byOlder[1]?.body.meta.pagination["total-count"]).toBe(3);
  });

  it("refuses transactions that are rolled back too, and logs the refusal once", async () => {
    const address = await newRegister();
    const older = await startOlder(address);
    const refusals: string[] = [];
    older.database.fence.onRefusal = (sentence) => void refusals.push(sentence);
    await startNewer(address);
    await expect(older.database.runAndRollBack(async () => 1)).rejects.toThrow(/another version of Cadastre/);
    await expect(older.database.write(async () => 1)).rejects.toThrow(/another version of Cadastre/);
    expect(refusals).toHaveLength(1);
    await expect(migrate(older.database)).rejects.toThrow(/newer version of Cadastre.*9998-future/);
  });
});

describe("an older server, once the database has one more compatible migration", () => {
  /** Servers that know only this one are still admitted by the migrations after it. */
  const released = migrations.at(-1)?.writersKnow ?? migrations.at(-1)?.name ?? "";
  const usable: Migration = { ...future, name: "9998-usable", writersKnow: released };
  /** Of the following version. */
  const later: Migration = { name: "9999-later", kind: "adds", writersKnow: usable.name, statements: [] };

  it("continues to read and write, stays ready, and can restart", async () => {
    const address = await newRegister();
    const older = await startOlder(address);
    await addFirstAdmin(older.database);
    const { name, owner } = await makeOrganization(older);
    const projects = `/organizations/${name}/projects`;
    await older.as(owner.token).get(projects);
    const newer = await startVersion(address, [...migrations, usable]);
    await recordReadyMigration(newer.database, [...migrations, usable]);
    const again = await startOlder(address);
    for (const server of [older, newer, again]) {
      const made = data(await server.as(owner.token).post(projects, resource("projects", { name: unique("p") })));
      for (const reader of [older, newer, again])
        expect((await reader.as(owner.token).get(`/projects/${made.id}`)).status).toBe(200);
      expect(await isReady(server)).toBe(true);
    }
    const { rows } = await sql<{ colour: string }>`select colour from projects`.execute(newer.database.reader.db);
    expect(rows.map(({ colour }) => colour)).toEqual(Array.from({ length: 4 }, () => "blue"));
  });

  it("refuses to make a backup, which would lack unknown columns", async () => {
    const address = await newRegister();
    const older = await startOlder(address);
    await startVersion(address, [...migrations, usable]);
    const file = join(newFolder("cadastre-fence-"), "cadastre.backup");
    const request = {
      database: older.database,
      file,
      keyId: "",
      version: "0.0.0",
      progress: () => {},
      readObject: undefined,
    };
    await expect(writeBackup(request)).rejects.toThrow(
      /has the schema of a newer version of Cadastre \(it has 9998-usable\)/,
    );
  });

  it("refuses writes after an incompatible migration of the following version", async () => {
    const address = await newRegister();
    const older = await startOlder(address);
    const newer = await startVersion(address, [...migrations, usable]);
    await startVersion(address, [...migrations, usable, later]);
    await expect(older.database.write(async () => 1)).rejects.toThrow(/another version of Cadastre/);
    expect(await newer.database.write(async () => 1)).toBe(1);
    await expect(migrate(older.database)).rejects.toThrow(/newer version of Cadastre.*9998-usable, 9999-later/);
  });

  it("refuses writes if one of several migrations is incompatible, in any order", async () => {
    const other: Migration = { name: "9999-other", kind: "adds", statements: [] };
    const address = await newRegister();
    const older = await startOlder(address);
    await startVersion(address, [...migrations, usable, other]);
    await expect(older.database.write(async () => 1)).rejects.toThrow(/another version of Cadastre/);
    const second = await newRegister();
    const alsoOlder = await startOlder(second);
    const first: Migration = { ...other, name: "9997-other" };
    await startVersion(second, [...migrations, first, usable]);
    await expect(alsoOlder.database.write(async () => 1)).rejects.toThrow(/another version of Cadastre/);
  });

  it("applies a compatible migration without waiting for writers, and an incompatible one after all of them", async () => {
    const address = await newRegister();
    const older = await startOlder(address);
    if (older.database.dialect.name === "sqlite") return;
    const { promise: finish, resolve: finishWriting } = Promise.withResolvers<void>();
    const { promise: started, resolve: start } = Promise.withResolvers<void>();
    const writing = older.database.write(async () => {
      start();
      await finish;
    });
    await started;
    const lines: string[] = [];
    const report = (line: string) => void lines.push(line);
    const database = openDatabase(address);
    ended.push(() => database.close());
    expect(await migrate(database, [...migrations, usable], report)).toEqual([usable.name]);
    const breaking: Migration = { name: "9999-breaking", kind: "adds", statements: [] };
    const migrating = migrate(database, [...migrations, usable, breaking], report);
    while (!lines.some((line) => line.includes("retrying"))) await new Promise(setImmediate);
    finishWriting();
    await writing;
    expect(await migrating).toEqual([breaking.name]);
    expect(lines.filter((line) => line.startsWith("applying"))).toEqual([
      "applying migration 9998-usable (1 of 1)",
      "applying migration 9999-breaking (1 of 1)",
    ]);
  });
});

describe("three servers that are replaced one by one under load", () => {
  /** Sends each request to one of the servers, and to another after a 503. */
  class Balancer {
    readonly servers: Api[] = [];
    readonly refusals: Answer[] = [];
    #turn = 0;

    next(): Api {
      this.#turn += 1;
      return this.servers[this.#turn % this.servers.length] as Api;
    }

    async write(token: string | undefined, path: string, body: object): Promise<{ answer: Answer; by: Api }> {
      for (;;) {
        const by = this.next();
        const answer = await by.as(token).post(path, body);
        if (answer.status !== 503) return { answer, by };
        this.refusals.push(answer);
      }
    }
  }

  it("lose nothing, repeat nothing, and no older one writes after the migration", async () => {
    const address = await newRegister();
    const balancer = new Balancer();
    for (let count = 0; count < 3; count += 1) balancer.servers.push(await startOlder(address));
    const older = [...balancer.servers];
    const [first] = older as [Api];
    await addFirstAdmin(first.database);
    const { name, owner } = await makeOrganization(first);
    const path = `/organizations/${name}/projects`;
    const made: { readonly name: string; readonly id: string; readonly requestId: string; readonly by: Api }[] = [];
    const ending = new AbortController();
    const call = async () => {
      while (!ending.signal.aborted) {
        const projectName = unique("p");
        const { answer, by } = await balancer.write(owner.token, path, resource("projects", { name: projectName }));
        const { id } = data(answer);
        made.push({ name: projectName, id, requestId: answer.headers.get("x-request-id") ?? "", by });
        expect((await balancer.next().as(owner.token).get(`/projects/${id}`)).body.data.attributes.name).toBe(
          projectName,
        );
      }
    };
    const callers = Array.from({ length: 8 }, call);
    const more = async (count: number) => {
      const enough = made.length + count;
      while (made.length < enough) await Promise.race([new Promise(setImmediate), ...callers]);
    };
    await more(20);
    for (const server of older) {
      balancer.servers.push(await startNewer(address));
      await more(10);
      balancer.servers.splice(balancer.servers.indexOf(server), 1);
      // Running requests have finished by then.
      await more(10);
      await server.stop();
    }
    ending.abort();
    await Promise.all(callers);

    const [newer] = balancer.servers as [Api];
    const { db } = newer.database.reader;
    const rows = await db.selectFrom("projects").select(["id", "name"]).execute();
    const added = rows.filter((row) => row.name.startsWith("p-"));
    const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
    expect(added.toSorted(byId)).toEqual(made.map((each) => ({ id: each.id, name: each.name })).toSorted(byId));
    const late = await db
      .selectFrom("auditEvents")
      .select("requestId")
      .where("id", "not in", db.selectFrom("knownEvents" as never).select("id" as never))
      .execute();
    const byOlder = new Set(made.filter(({ by }) => older.includes(by)).map(({ requestId }) => requestId));
    expect(byOlder.size).toBeGreaterThanOrEqual(20);
    expect(late.filter(({ requestId }) => byOlder.has(requestId))).toEqual([]);
    expect(late.length).toBeGreaterThanOrEqual(20);
    expect(balancer.refusals.length).toBeGreaterThan(0);
    for (const { body, headers } of balancer.refusals) {
      expect(body.errors[0].detail).toMatch(/another version of Cadastre/);
      expect(headers.get("retry-after")).toBe("5");
    }
  });
});
