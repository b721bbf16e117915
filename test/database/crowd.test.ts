/** Many writers of one row: they are served in order, other requests are not delayed, and every wait has a limit. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { type Api, startApi, startApiOn } from "../support/api.ts";
import { makeOrganization, makeWorkspace, type Org, resource } from "../support/builders.ts";
import { scaled } from "../support/waiting.ts";

let api: Api;
let org: Org;
let workspaceId: string;
beforeAll(async () => {
  api = await startApi();
  org = await makeOrganization(api);
  workspaceId = (await makeWorkspace(api, org.name)).id;
});
afterAll(() => api.stop());

const describeIt = (on: Api, description: string) =>
  on.admin.patch(`/workspaces/${workspaceId}`, resource("workspaces", { description }));

describe("many concurrent changes of one workspace", () => {
  it("all succeed, one after another", async () => {
    const texts = Array.from({ length: 60 }, (_, index) => `text ${index}`);
    const answers = await Promise.all(texts.map((text) => describeIt(api, text)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  });
});

const onPostgres = () => {
  /** Short, for the test; in the same order as the defaults. */
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
    await holder.query("select id from workspaces where id = $1 for update", [workspaceId]);
  });
  afterAll(async () => {
    await holder.end();
    await hurried.stop();
  });

  it("fail with 503 after the timeout, and change nothing", async () => {
    const startedAt = performance.now();
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => describeIt(hurried, `never ${index}`)));
    // Far less than 60 waits for the lock one after another.
    expect(performance.now() - startedAt).toBeLessThan(limits.writerSlotTimeoutMs + 10 * limits.lockTimeoutMs);
    for (const answer of answers) {
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(answer.body.errors[0].detail).toBe("The database is busy. Nothing was changed. Try again shortly.");
    }
    expect((await api.admin.get(`/workspaces/${workspaceId}`)).body.data.attributes.description).not.toMatch(/^never/);
  });

  it("don't delay readers", async () => {
    const waiting = Array.from({ length: 60 }, (_, index) => describeIt(hurried, `never ${index}`));
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => hurried.admin.get(`/organizations/${org.name}/workspaces`)),
    );
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    await Promise.all(waiting);
  });

  it("continue as soon as the lock is released", async () => {
    const waiting = Promise.all(Array.from({ length: 20 }, (_, index) => describeIt(hurried, `at last ${index}`)));
    await holder.query("rollback");
    expect((await waiting).filter(({ status }) => status !== 200)).toEqual([]);
  });
};

if (inject("engine") === "postgres") describe("many changes that wait for a locked row", onPostgres);
