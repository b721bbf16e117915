/** Agents over HTTP: registration with a pool's token, visibility, and removal. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, resource } from "../../../support/builders.ts";
import { type Agent, engines, makeAgent, makePool, makeSitePool, type Pool } from "../../../support/agent-callers.ts";

const api = useApi();
let org: Org;
let pool: Pool;
let agent: Agent;

beforeAll(async () => {
  org = await api.makeOrganization();
});
beforeEach(async () => {
  pool = await makePool(api, org);
  agent = await makeAgent(api, pool, "builder");
});

/** Sets the agent's last ping back in time. */
const silence = (id: string, ms: number) =>
  api.database.write((tx) =>
    tx.db
      .updateTable("agents")
      .set((row) => ({ lastPingMs: row("lastPingMs", "-", ms) }))
      .where("id", "=", id)
      .execute(),
  );
const shown = async (id = agent.id): Promise<Json> => data(await org.owner.get(`/agents/${id}`));
const count = async () => data(await org.owner.get(`/agent-pools/${pool.id}`)).attributes["agent-count"];

describe("registerAgent", () => {
  it("201: the same document as show and list; the pool's count includes it", async () => {
    const body = resource("agents", { name: "one", version: "1.2.3", engines, sandbox: "bubblewrap" });
    const answer = await pool.agent.post("/agents", body);
    expect(answer.status).toBe(201);
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^agent-/),
      type: "agents",
      attributes: {
        name: "one",
        status: "idle",
        "fetches-engines": false,
        "unavailable-engines": [],
        "ip-address": "127.0.0.1",
        "last-ping-at": expect.stringMatching(/Z$/),
        version: "1.2.3",
        engines,
        "created-at": expect.stringMatching(/Z$/),
      },
      relationships: { "agent-pool": { data: { type: "agent-pools", id: pool.id } } },
      links: { self: `/api/v2/agents/${answer.body.data.id}` },
    });
    expect(await shown(answer.body.data.id)).toEqual(answer.body.data);
    const listed = data(await org.owner.get(`/agent-pools/${pool.id}/agents`));
    expect(listed).toContainEqual(answer.body.data);
    expect(listed.length).toBe(2);
    expect(await count()).toBe(2);
  });

  it("422: without a name or engines; 404: for all other callers; 401: without a token", async () => {
    expect((await pool.agent.post("/agents", resource("agents", { engines }))).status).toBe(422);
    expect((await pool.agent.post("/agents", resource("agents", { name: "one" }))).status).toBe(422);
    const hostile = { terraform: ["1.0.0\0\ud800"] };
    expect((await pool.agent.post("/agents", resource("agents", { name: "one", engines: hostile }))).status).toBe(422);
    const whole = resource("agents", { name: "one", engines });
    for (const caller of [org.owner, api.admin]) expect((await caller.post("/agents", whole)).status).toBe(404);
    expect((await api.nobody.post("/agents", whole)).status).toBe(401);
  });

  it("writes an audit event in the pool's name", async () => {
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`));
    const [event] = events.filter((each: Json) => each.attributes["subject-id"] === agent.id);
    expect(event.attributes).toMatchObject({ action: "agents.create", "actor-kind": "agent", "actor-id": pool.id });
  });
});

describe("pingAgent", () => {
  it("204: changes the status and the engines", async () => {
    const answer = await pool.agent.post(`/agents/${agent.id}/actions/ping`, { status: "busy", engines: { tofu: [] } });
    expect(answer.status).toBe(204);
    expect((await shown()).attributes).toMatchObject({ status: "busy", engines: { tofu: [] } });
  });

  it("makes an unknown agent idle again", async () => {
    await silence(agent.id, 31_000);
    expect((await shown()).attributes.status).toBe("unknown");
    expect(await count()).toBe(0);
    await pool.agent.post(`/agents/${agent.id}/actions/ping`, { status: "idle" });
    expect((await shown()).attributes.status).toBe("idle");
    expect(await count()).toBe(1);
  });

  it("404: another pool's agent, and a deleted agent; 422: an invalid status", async () => {
    const other = await makePool(api, org);
    expect((await other.agent.post(`/agents/${agent.id}/actions/ping`, { status: "idle" })).status).toBe(404);
    expect((await pool.agent.post("/agents/agent-none/actions/ping", { status: "idle" })).status).toBe(404);
    expect((await pool.agent.post(`/agents/${agent.id}/actions/ping`, { status: "unknown" })).status).toBe(422);
    expect((await org.owner.post(`/agents/${agent.id}/actions/ping`, { status: "idle" })).status).toBe(404);
  });
});

describe("listAgents", () => {
  it("filters by the last ping", async () => {
    const list = async (since: string) =>
      data(await org.owner.get(`/agent-pools/${pool.id}/agents?filter[last-ping-since]=${since}`));
    expect(await list("2020-01-31T12:00:00Z")).toHaveLength(1);
    expect(await list("2099-01-31T12:00:00Z")).toHaveLength(0);
    const bad = await org.owner.get(`/agent-pools/${pool.id}/agents?filter[last-ping-since]=yesterday`);
    expect(bad.status).toBe(400);
  });

  it("404: for callers who can't see the pool", async () => {
    const other = await api.makeOrganization();
    expect((await other.owner.get(`/agent-pools/${pool.id}/agents`)).status).toBe(404);
    expect((await other.owner.get(`/agents/${agent.id}`)).status).toBe(404);
    expect((await pool.agent.get(`/agents/${agent.id}`)).status).toBe(404);
  });
});

describe("deleteAgent", () => {
  it("412: a running agent; 204: one that is unknown, errored or exited", async () => {
    const refused = await org.owner.delete(`/agents/${agent.id}`);
    expect(refused.status).toBe(412);
    expect(details(refused)[0]).toContain("The agent is idle");
    await pool.agent.post(`/agents/${agent.id}/actions/ping`, { status: "exited" });
    expect((await org.owner.delete(`/agents/${agent.id}`)).status).toBe(204);
    expect((await org.owner.get(`/agents/${agent.id}`)).status).toBe(404);
    const lost = await makeAgent(api, pool);
    await silence(lost.id, 31_000);
    expect((await org.owner.delete(`/agents/${lost.id}`)).status).toBe(204);
    const failed = await makeAgent(api, pool);
    await pool.agent.post(`/agents/${failed.id}/actions/ping`, { status: "errored" });
    expect((await org.owner.delete(`/agents/${failed.id}`)).status).toBe(204);
  });

  it("204: an agent that exits, by its pool's token, with an audit event; 404: by another pool's", async () => {
    const other = await makePool(api, org);
    const site = await makeSitePool(api);
    for (const caller of [other.agent, site.agent])
      expect((await caller.delete(`/agents/${agent.id}`)).status).toBe(404);
    expect((await pool.agent.delete(`/agents/${agent.id}`)).status).toBe(204);
    expect((await pool.agent.delete(`/agents/${agent.id}`)).status).toBe(404);
    expect(data(await org.owner.get(`/agent-pools/${pool.id}/agents`))).toEqual([]);
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`));
    const actions = events.filter((each: Json) => each.attributes["subject-id"] === agent.id);
    expect(actions.map((each: Json) => [each.attributes.action, each.attributes["actor-id"]])).toEqual([
      ["agents.delete", pool.id],
      ["agents.create", pool.id],
    ]);
    const own = await makeAgent(api, site);
    expect((await site.agent.delete(`/agents/${own.id}`)).status).toBe(204);
  });

  it("403: a member who does not manage pools", async () => {
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name, [team.id]);
    expect((await member.get(`/agents/${agent.id}`)).status).toBe(200);
    expect((await member.delete(`/agents/${agent.id}`)).status).toBe(403);
  });
});

describe("agents of a site pool", () => {
  it("are only visible to site admins", async () => {
    const site = await makeSitePool(api);
    const own = await makeAgent(api, site);
    const path = `/admin/agent-pools/${site.id}/agents`;
    expect(data(await api.admin.get(path)).map((each: Json) => each.id)).toEqual([own.id]);
    expect((await api.admin.get(`/agents/${own.id}`)).status).toBe(200);
    expect(data(await api.admin.get(`/admin/agent-pools/${site.id}`)).attributes["agent-count"]).toBe(1);
    expect((await org.owner.get(path)).status).toBe(404);
    expect((await org.owner.get(`/agents/${own.id}`)).status).toBe(404);
    expect((await org.owner.delete(`/agents/${own.id}`)).status).toBe(404);
  });
});
