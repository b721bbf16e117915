/** The queue of an agent pool: `waiting` is what agents of the pool could claim, so that every claim lowers it. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, makeMember, makeOrganization, type Org, resource } from "../../../support/builders.ts";
import {
  type Agent,
  engines,
  jobOf,
  makeAgent,
  makePool,
  makeSitePool,
  type Pool,
} from "../../../support/agent-callers.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";

const api = useApi();
let org: Org;
let pool: Pool;

beforeEach(async () => {
  org = await makeOrganization(api);
  pool = await makePool(api, org);
});

const queueOf = async (caller: Caller, { id }: Pool): Promise<Json> => {
  const { attributes } = data(await caller.get(`/agent-pools/${id}/queue`));
  return [attributes.waiting, attributes.running];
};
const queue = () => queueOf(pool.agent, pool);
const workspace = (version = "1.9.5", attributes: object = {}, served = pool): Promise<Json> =>
  makeRunnable(api, org.name, {
    "execution-mode": "agent",
    "agent-pool-id": served.id,
    "terraform-version": version,
    ...attributes,
  });
const queueRun = async (version?: string, attributes: object = {}): Promise<Json> =>
  makeRun(org.owner, (await workspace(version)).id, attributes);
const claims = async (agent: Agent, has: object = engines): Promise<number> => {
  for (let count = 0; ; count += 1) if ((await agent.claim(0, has)).status === 204) return count;
};
const register = (offered: object, more: object = {}) =>
  pool.agent.post("/agents", resource("agents", { name: "one", version: "1", engines: offered, ...more }));
/** As if it had happened earlier. */
const shift = (ms: number) =>
  api.database.write(async (tx) => {
    await tx.db
      .updateTable("agents")
      .set((row) => ({ lastPingMs: row("lastPingMs", "-", ms) }))
      .where("agentPoolId", "=", pool.id)
      .execute();
    await tx.db
      .updateTable("agentPools")
      .set((row) => ({ offeredMs: row("offeredMs", "-", ms) }))
      .where("id", "=", pool.id)
      .execute();
  });
const minutes = (count: number) => count * 60_000;

describe("showAgentPoolQueue", () => {
  it("200: the pool's id, and the numbers, also before there was an agent", async () => {
    await queueRun();
    const answer = await pool.agent.get(`/agent-pools/${pool.id}/queue`);
    expect(answer.body.data).toEqual({
      id: pool.id,
      type: "agent-pool-queues",
      attributes: { waiting: 1, running: 0 },
    });
  });

  it("counts what can be claimed; each claim and each end changes it", async () => {
    const { id } = await workspace();
    await makeRun(org.owner, id);
    await makeRun(org.owner, id);
    await makeRun(org.owner, id, { "plan-only": true });
    await queueRun();
    // The second run waits for the first.
    expect(await queue()).toEqual([3, 0]);
    const agent = await makeAgent(api, pool);
    const job = await agent.job();
    expect(await queue()).toEqual([2, 1]);
    await job.act("start");
    await job.act("finish", { result: "errored" });
    expect(await queue()).toEqual([job.attributes["workspace-id"] === id ? 3 : 2, 0]);
    expect(await claims(agent)).toBe(3);
    expect(await queue()).toEqual([0, 3]);
  });

  it("does not count jobs that agents of the pool may not claim", async () => {
    const agent = await makeAgent(api, pool);
    const other = await makePool(api, org);
    const closed = await workspace();
    await makeRun(org.owner, closed.id);
    await makeRun(org.owner, (await workspace("1.9.5", {}, other)).id);
    await makeRun(org.owner, (await makeRunnable(api, org.name, { "terraform-version": "1.9.5" })).id);
    await queueRun();
    expect(await queue()).toEqual([2, 0]);
    const excluded = { "excluded-workspaces": { data: [{ type: "workspaces", id: closed.id }] } };
    data(await org.owner.patch(`/agent-pools/${pool.id}`, resource("agent-pools", {}, excluded)));
    expect(await queue()).toEqual([1, 0]);
    const path = `/admin/organizations/${org.name}`;
    data(await api.admin.patch(path, resource("organizations", { "is-disabled": true })));
    expect([await queue(), await claims(agent)]).toEqual([[0, 0], 0]);
    data(await api.admin.patch(path, resource("organizations", { "is-disabled": false })));
    expect([await queue(), await claims(agent)]).toEqual([[1, 0], 1]);
    expect(await queue()).toEqual([0, 1]);
  });
});

describe("a job whose engine", () => {
  beforeEach(async () => {
    await queueRun("1.9.5");
    await queueRun("1.15.5");
    await queueRun("1.15.5");
  });

  it("no agent has is not counted, also after the agent is gone", async () => {
    expect(await queue()).toEqual([3, 0]);
    const { id } = data(await register({ terraform: ["1.9.5"] }));
    expect(await queue()).toEqual([1, 0]);
    expect((await pool.agent.delete(`/agents/${id}`)).status).toBe(204);
    expect(await queue()).toEqual([1, 0]);
    await register({ tofu: ["1.15.5"] });
    expect(await queue()).toEqual([0, 0]);
  });

  it("any recent agent has is counted", async () => {
    await register({ terraform: ["1.15.5"] });
    await register({ terraform: ["1.9.5"] });
    expect(await queue()).toEqual([3, 0]);
    await register({});
    expect(await queue()).toEqual([3, 0]);
    await shift(minutes(6));
    await register({});
    expect(await queue()).toEqual([0, 0]);
  });

  it("no agent had for a while counts once, because the next agent may have it", async () => {
    const { id } = data(await register({ terraform: ["1.9.5"] }));
    await pool.agent.delete(`/agents/${id}`);
    await shift(minutes(4));
    expect(await queue()).toEqual([1, 0]);
    await shift(minutes(2));
    expect(await queue()).toEqual([2, 0]);
    await register({ terraform: ["1.9.5"] });
    expect(await queue()).toEqual([1, 0]);
  });

  it("an agent gets while it runs is counted", async () => {
    const { id } = data(await register({ terraform: [] }));
    expect(await queue()).toEqual([0, 0]);
    await pool.agent.post(`/agents/${id}/actions/ping`, { status: "idle", engines: { terraform: ["1.15.5"] } });
    expect(await queue()).toEqual([2, 0]);
  });
});

describe("a pool whose agents fetch engines", () => {
  const installed = { terraform: ["1.5.7"] };
  const outage = { engine: "terraform", version: "1.15.5", reason: "mirror.example can't be reached (ECONNREFUSED)" };
  const start = async (): Promise<Json> => data(await register(installed, { "fetches-engines": true }));
  const claim = ({ id }: Json, unavailable: object[] = []) =>
    pool.agent.post(`/agents/${id}/actions/claim`, { wait: 0, engines: installed, "unavailable-engines": unavailable });
  const leave = async ({ id }: Json) => expect((await pool.agent.delete(`/agents/${id}`)).status).toBe(204);
  /** A container that can't fetch: claims a job, returns it, and ends. */
  const fail = async (): Promise<void> => {
    const agent = await start();
    const job = jobOf(api, pool.agent, (await claim(agent)).body.data);
    expect((await job.act("finish", { result: "returned", "error-message": outage.reason })).status).toBe(204);
    await pool.agent.post(`/agents/${agent.id}/actions/ping`, { status: "exited", "unavailable-engines": [outage] });
  };

  it("counts every job, also while no agent runs", async () => {
    await leave(await start());
    await queueRun("1.15.5");
    await queueRun("1.9.5", { "plan-only": true });
    expect(await queue()).toEqual([2, 0]);
    await leave(data(await register(installed)));
    expect(await queue()).toEqual([0, 0]);
  });

  it("does not count jobs whose engine could not be fetched, and does not give them to the next agent, for five minutes", async () => {
    const run = await queueRun("1.15.5");
    await queueRun("1.15.5");
    await fail();
    expect(await queue()).toEqual([0, 0]);
    const { attributes } = data(await org.owner.get(`/runs/${run.id}`));
    expect(attributes["waiting-for"]).toMatch(
      /with Terraform 1\.15\.5: none is connected, and the last one could not fetch it \(mirror\.example can't be reached/,
    );
    const next = await start();
    expect(await queue()).toEqual([0, 0]);
    expect((await claim(next)).status).toBe(204);
    await queueRun("1.9.5");
    expect(await queue()).toEqual([1, 0]);
    expect((await claim(next)).status).toBe(200);
    await leave(next);
    expect(await queue()).toEqual([0, 1]);
    await shift(minutes(5));
    expect(await queue()).toEqual([2, 1]);
    await fail();
    expect(await queue()).toEqual([0, 1]);
  });

  it("counts jobs whose engine one of its agents can't fetch, but another can", async () => {
    await queueRun("1.15.5");
    const [one, other] = [await start(), await start()];
    await pool.agent.post(`/agents/${one.id}/actions/ping`, { status: "idle", "unavailable-engines": [outage] });
    expect(await queue()).toEqual([1, 0]);
    await pool.agent.post(`/agents/${other.id}/actions/ping`, { status: "idle", "unavailable-engines": [outage] });
    expect(await queue()).toEqual([0, 0]);
    await register({ terraform: ["1.15.5"] });
    expect(await queue()).toEqual([1, 0]);
  });
});

describe("the queue of a site pool", () => {
  it("has the jobs of every organization; its agents and site admins can read it", async () => {
    const site = await makeSitePool(api);
    const [before, runningBefore] = await queueOf(site.agent, site);
    expect(runningBefore).toBe(0);
    await makeRun(org.owner, (await makeRunnable(api, org.name, { "terraform-version": "1.15.5" })).id);
    expect(await queueOf(site.agent, site)).toEqual([before + 1, 0]);
    const agent = await makeAgent(api, site);
    expect(await claims(agent)).toBe(before + 1);
    expect(await queueOf(site.agent, site)).toEqual([0, before + 1]);
    expect(data(await api.admin.get(`/admin/agent-pools/${site.id}/queue`))).toEqual({
      id: site.id,
      type: "agent-pool-queues",
      attributes: { waiting: 0, running: before + 1 },
    });
    const second = await makeSitePool(api);
    expect(await queueOf(second.agent, second)).toEqual([0, 0]);
  });
});

describe("readers", () => {
  let callers: Record<string, Caller>;
  beforeAll(async () => {
    const [own, foreign] = [await makeOrganization(api), await makeOrganization(api)];
    org = own;
    callers = { foreign: foreign.owner, foreignAgent: (await makePool(api, foreign)).agent };
  });

  it("are all members; 404: everybody else, agents of other pools, and other pools' ids", async () => {
    const path = `/agent-pools/${pool.id}/queue`;
    for (const caller of [org.owner, await makeMember(api, org.name), pool.agent])
      expect((await caller.get(path)).status).toBe(200);
    const site = await makeSitePool(api);
    const others = [callers["foreign"]!, callers["foreignAgent"]!, (await makePool(api, org)).agent, site.agent];
    for (const caller of others) expect((await caller.get(path)).status).toBe(404);
    expect((await org.owner.get(`/agent-pools/${site.id}/queue`)).status).toBe(404);
    expect((await org.owner.get(`/admin/agent-pools/${site.id}/queue`)).status).toBe(404);
    expect((await site.agent.get(`/admin/agent-pools/${site.id}/queue`)).status).toBe(404);
    expect((await api.admin.get(`/admin/agent-pools/${pool.id}/queue`)).status).toBe(404);
  });
});
