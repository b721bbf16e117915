/** Site agent pools over HTTP: for site admins only, without an organization, with tokens like those of other pools. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let pool: Json;
const path = "/admin/agent-pools";
const create = (attributes: object, caller: Caller = api.admin) =>
  caller.post(path, resource("agent-pools", attributes));
const at = () => `${path}/${pool.id}`;
const tokens = () => `${at()}/authentication-tokens`;
const description = resource("authentication-tokens", { description: "agents" });

beforeAll(async () => {
  org = await api.makeOrganization();
});
beforeEach(async () => {
  pool = data(await create({ name: unique("pool") }));
});

describe("createSiteAgentPool", () => {
  it("responds with 201 and the document that show and list return", async () => {
    const name = unique("Pool");
    const answer = await create({ name });
    expect(answer.status).toBe(201);
    const created = answer.body.data;
    expect(created).toEqual({
      id: expect.stringMatching(/^apool-/),
      type: "agent-pools",
      attributes: {
        name,
        "organization-scoped": true,
        "agent-count": 0,
        "created-at": expect.stringMatching(/Z$/),
      },
      relationships: { organization: { data: null } },
      links: { self: `/api/v2/admin/agent-pools/${created.id}` },
    });
    expect(data(await api.admin.get(`${path}/${created.id}`))).toEqual(created);
    expect(data(await api.admin.get(`${path}?q=${name.toLowerCase()}`))).toEqual([created]);
  });

  it("422: a name that is taken, ignoring case, or invalid", async () => {
    const taken = await create({ name: pool.attributes.name.toUpperCase() });
    expect([taken.status, details(taken), pointers(taken)]).toEqual([
      422,
      ["Name has already been taken"],
      ["/data/attributes/name"],
    ]);
    expect((await create({ name: "a pool" })).status).toBe(422);
    expect((await create({})).status).toBe(422);
  });

  it("accepts a name that an organization's pool has", async () => {
    const name = unique("pool");
    data(await org.owner.post(`/organizations/${org.name}/agent-pools`, resource("agent-pools", { name })));
    expect((await create({ name })).status).toBe(201);
  });
});

describe("updateSiteAgentPool", () => {
  it("renames; its own name in another case is not taken", async () => {
    const name = pool.attributes.name.toUpperCase();
    const changed = data(await api.admin.patch(at(), resource("agent-pools", { name })));
    expect(changed.attributes.name).toBe(name);
  });

  it("changes nothing without attributes, and refuses null", async () => {
    expect(data(await api.admin.patch(at(), resource("agent-pools", {})))).toEqual(pool);
    expect((await api.admin.patch(at(), resource("agent-pools", { name: null }))).status).toBe(422);
  });

  it("422: a name that is taken", async () => {
    const other = data(await create({ name: unique("pool") }));
    const taken = await api.admin.patch(at(), resource("agent-pools", { name: other.attributes.name }));
    expect(details(taken)).toEqual(["Name has already been taken"]);
  });
});

describe("deleteSiteAgentPool", () => {
  it("deletes its tokens", async () => {
    const token = data(await api.admin.post(tokens(), description));
    const agent = api.as(token.attributes.token);
    expect((await agent.get("/account/details")).status).toBe(404);
    expect((await api.admin.delete(at())).status).toBe(204);
    expect((await agent.get("/account/details")).status).toBe(401);
    expect((await api.admin.get(at())).status).toBe(404);
  });
});

describe("tokens of a site pool", () => {
  it("are created with their secret, and listed, shown and revoked without it", async () => {
    const answer = await api.admin.post(tokens(), description);
    expect(answer.status).toBe(201);
    const created = answer.body.data;
    expect(created.attributes.token).toMatch(/^cadastre-.{43}$/);
    expect(created.relationships["agent-pool"].data).toEqual({ type: "agent-pools", id: pool.id });
    const shown = { ...created, attributes: { ...created.attributes, token: null } };
    expect(data(await api.admin.get(tokens()))).toEqual([shown]);
    expect(data(await api.admin.get(`/authentication-tokens/${created.id}`))).toEqual(shown);
    expect((await org.owner.get(`/authentication-tokens/${created.id}`)).status).toBe(404);
    expect((await org.owner.delete(`/authentication-tokens/${created.id}`)).status).toBe(404);
    expect((await api.admin.delete(`/authentication-tokens/${created.id}`)).status).toBe(204);
    expect((await api.as(created.attributes.token).get("/account/details")).status).toBe(401);
  });
});

describe("for everybody but site admins", () => {
  it("everything is 404", async () => {
    for (const caller of [org.owner, await api.makeOrganizationToken(org.name)]) {
      expect((await caller.get(path)).status).toBe(404);
      expect((await create({ name: unique("pool") }, caller)).status).toBe(404);
      expect((await caller.get(at())).status).toBe(404);
      expect((await caller.patch(at(), resource("agent-pools", { name: "x" }))).status).toBe(404);
      expect((await caller.delete(at())).status).toBe(404);
      expect((await caller.post(tokens(), description)).status).toBe(404);
      expect((await caller.get(tokens())).status).toBe(404);
    }
    // Nor through the routes of organizations' pools.
    expect((await org.owner.get(`/agent-pools/${pool.id}`)).status).toBe(404);
  });
});
