/** Many who want the same row: each has its turn, those who want something else are not kept, and nobody waits for ever. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { type Api, startApi, startApiOn } from "../support/api.ts";
import { makeOrganization, makeWorkspace, type Org, resource } from "../support/builders.ts";
import { scaled } from "../support/waiting.ts";

let api: Api;
let org: Org;
let wanted: string;
beforeAll(async () => {
  api = await startApi();
  org = await makeOrganization(api);
  wanted = (await makeWorkspace(api, org.name)).id;
});
afterAll(() => api.stop());

const describeIt = (on: Api, description: string) =>
  on.admin.patch(`/workspaces/${wanted}`, resource("workspaces", { description }));

describe("many who change the same workspace", () => {
  it("all do, one after another", async () => {
    const texts = Array.from({ length: 60 }, (_, index) => `text ${index}`);
    const answers = await Promise.all(texts.map((text) => describeIt(api, text)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  });
});

const onPostgres = () => {
  /** So that nobody has to wait for long; in the same order as those of a server. */
  const limits = {
    connectMs: scaled(1_000, 3),
    statementTimeoutMs: scaled(8_000, 3),
    backendCheckIntervalMs: scaled(4_000, 3),
    backendCheckTimeoutMs: scaled(4_000, 3),
    lockTimeoutMs: scaled(700, 3),
    writerSlotTimeoutMs: scaled(3_000, 3),
  };
  let hurried: Api;
  let holder: pg.Client;

  beforeAll(async () => {
    const database = openDatabase(api.address, limits);
    hurried = await startApiOn({ address: api.address, database, drop: () => database.close() });
    holder = new pg.Client({ connectionString: api.address });
    await holder.connect();
    await holder.query("begin");
    await holder.query("select id from workspaces where id = $1 for update", [wanted]);
  });
  afterAll(async () => {
    await holder.end();
    await hurried.stop();
  });

  it("are told that it is busy when that takes too long, and have changed nothing", async () => {
    const begun = performance.now();
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => describeIt(hurried, `never ${index}`)));
    // Far less than 60 that wait for the lock one after another.
    expect(performance.now() - begun).toBeLessThan(limits.writerSlotTimeoutMs + 10 * limits.lockTimeoutMs);
    for (const answer of answers) {
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(answer.body.errors[0].detail).toBe("The database is busy. Nothing was changed. Try again shortly.");
    }
    expect((await api.admin.get(`/workspaces/${wanted}`)).body.data.attributes.description).not.toMatch(/^never/);
  });

  it("do not keep others from reading meanwhile", async () => {
    const waiting = Array.from({ length: 60 }, (_, index) => describeIt(hurried, `never ${index}`));
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => hurried.admin.get(`/organizations/${org.name}/workspaces`)),
    );
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    await Promise.all(waiting);
  });

  it("go on as soon as it is let go", async () => {
    const waiting = Promise.all(Array.from({ length: 20 }, (_, index) => describeIt(hurried, `at last ${index}`)));
    await holder.query("rollback");
    expect((await waiting).filter(({ status }) => status !== 200)).toEqual([]);
  });
};

if (inject("engine") === "postgres") describe("many who wait for a row that somebody holds", onPostgres);
