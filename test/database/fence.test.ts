/**
 * Two versions on one register: the newer one is this one with a migration more. Servers are replaced one after the other while callers
 * go on, and what any of them was told is so.
 */
import { afterAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate, migrations } from "../../src/database/migrate.ts";
import type { Migration } from "../../src/database/migrations/migration.ts";
import { type Answer, type Api, addFirstAdmin, startApiOn } from "../support/api.ts";
import { data, makeOrganization, resource, unique } from "../support/builders.ts";
import { newAddress } from "../support/database.ts";

/** It tells later which events were there when it was applied, and widens a table of which all columns are asked for. */
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

/** A server of a version, with connections of its own, as if it were a process. */
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
  it("changes nothing more, says so and is not ready; whoever reads is answered as by the newer one", async () => {
    const address = await newRegister();
    const older = await startOlder(address);
    await addFirstAdmin(older.database);
    const { name, owner } = await makeOrganization(older);
    const projects = `/organizations/${name}/projects`;
    const project = data(await owner.post(projects, resource("projects", { name: "before" })));
    // Whatever is prepared now was so before the column came.
    const read = (api: Api) =>
      Promise.all([`/projects/${project.id}`, projects, `/organizations/${name}`].map((path) => api.admin.get(path)));
    await read(older);
    const newer = await startNewer(address);

    const refused = await older.as(owner.token).post(projects, resource("projects", { name: "after" }));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(refused.body.errors[0].detail).toMatch(/^The database was brought to another version of Cadastre .* try/);
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

  it("rehearses nothing either, and tells whoever runs it once", async () => {
    const address = await newRegister();
    const older = await startOlder(address);
    const told: string[] = [];
    older.database.fence.onRefusal = (sentence) => void told.push(sentence);
    await startNewer(address);
    await expect(older.database.rehearse(async () => 1)).rejects.toThrow(/another version of Cadastre/);
    await expect(older.database.write(async () => 1)).rejects.toThrow(/another version of Cadastre/);
    expect(told).toHaveLength(1);
    await expect(migrate(older.database)).rejects.toThrow(/newer version of Cadastre.*9998-future/);
  });
});

describe("three servers that are replaced one after the other under load", () => {
  /** Sends whoever comes to one of the servers, and to another where one says that it can't. */
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

  it("lose nothing, do nothing twice, and no older one writes after the migration", async () => {
    const address = await newRegister();
    const balancer = new Balancer();
    for (let count = 0; count < 3; count += 1) balancer.servers.push(await startOlder(address));
    const older = [...balancer.servers];
    const [first] = older as [Api];
    await addFirstAdmin(first.database);
    const { name, owner } = await makeOrganization(first);
    const path = `/organizations/${name}/projects`;
    const made: { readonly name: string; readonly id: string; readonly requestId: string; readonly by: Api }[] = [];
    const over = new AbortController();
    const call = async () => {
      while (!over.signal.aborted) {
        const wanted = unique("p");
        const { answer, by } = await balancer.write(owner.token, path, resource("projects", { name: wanted }));
        const { id } = data(answer);
        made.push({ name: wanted, id, requestId: answer.headers.get("x-request-id") ?? "", by });
        expect((await balancer.next().as(owner.token).get(`/projects/${id}`)).body.data.attributes.name).toBe(wanted);
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
      // Requests that are under way are finished by then.
      await more(10);
      await server.stop();
    }
    over.abort();
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
