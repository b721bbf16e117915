/** Tokens of agent pools over HTTP: created, listed, shown and revoked; the secret is shown once, and the API does not accept it. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { tokenHash } from "../../../../src/kernel/ids.ts";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let pool: string;
let token: Json;

const makePool = async (): Promise<string> => {
  const body = resource("agent-pools", { name: unique("pool") });
  return data(await org.owner.post(`/organizations/${org.name}/agent-pools`, body)).id;
};
const path = () => `/agent-pools/${pool}/authentication-tokens`;
const create = (attributes: object = { description: "A data centre" }, caller: Caller = org.owner): Promise<Answer> =>
  caller.post(path(), resource("agent-tokens", attributes));
const at = (id: string = token.id) => `/authentication-tokens/${id}`;
const rows = () =>
  api.database.reader.db.selectFrom("agentTokens").selectAll().where("agentPoolId", "=", pool).execute();
const events = async () =>
  data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`)).filter(
    (event: Json) => event.attributes["subject-id"] === token.id,
  );

beforeAll(async () => {
  org = await api.makeOrganization();
});
beforeEach(async () => {
  pool = await makePool();
  token = data(await create());
});

describe("createAgentToken", () => {
  it("responds with 201 and the secret, which is not shown again", async () => {
    const answer = await create({ description: "CI" });
    expect(answer.status).toBe(201);
    const { id, attributes } = answer.body.data;
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^agt-[a-zA-Z0-9]{16}$/),
      type: "authentication-tokens",
      attributes: {
        description: "CI",
        "expired-at": null,
        "created-at": expect.stringMatching(/Z$/),
        "last-used-at": null,
        token: expect.stringMatching(/^cadastre-.{43}$/),
      },
      relationships: {
        "created-by": { data: { id: org.owner.id, type: "users" } },
        "agent-pool": { data: { id: pool, type: "agent-pools" } },
      },
      links: { self: `/api/v2/authentication-tokens/${id}` },
    });
    const shown = { ...answer.body.data, attributes: { ...attributes, token: null } };
    expect(data(await org.owner.get(at(id)))).toEqual(shown);
    expect(data(await org.owner.get(path()))).toContainEqual(shown);
  });

  it("stores only the secret's hash", async () => {
    const [row] = await rows();
    expect(row?.hash).toBe(tokenHash(token.attributes.token));
    expect(JSON.stringify([row, await events()])).not.toContain(token.attributes.token);
  });

  it("also accepts the type in the public API's documentation", async () => {
    const body = resource("authentication-tokens", { description: "Named" });
    expect(data(await org.owner.post(path(), body)).attributes.description).toBe("Named");
  });

  it.each([
    ["no description", { data: { type: "agent-tokens", attributes: {} } }, "/data/attributes/description"],
    ["a blank description", resource("agent-tokens", { description: " " }), "/data/attributes/description"],
    ["an empty description", resource("agent-tokens", { description: "" }), "/data/attributes/description"],
    ["null", resource("agent-tokens", { description: null }), "/data/attributes/description"],
    ["a long description", resource("agent-tokens", { description: "x".repeat(257) }), "/data/attributes/description"],
    ["another type", resource("teams", { description: "Other" }), "/data/type"],
    ["no document", {}, "/data"],
  ])("422: %s", async (_, body, pointer) => {
    const answer = await org.owner.post(path(), body);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([pointer]);
    expect(await rows()).toHaveLength(1);
  });

  it("records an event without the secret, and so does its revocation", async () => {
    data(await org.owner.delete(at()));
    const audited = { holder: pool, description: "A data centre" };
    const [deleted, created] = (await events()).map((event: Json) => event.attributes);
    expect(created).toMatchObject({ action: "authentication-tokens.create", before: null, after: audited });
    expect(deleted).toMatchObject({ action: "authentication-tokens.delete", before: audited, after: null });
  });
});

describe("listAgentTokens", () => {
  it("shows pages of this pool's tokens, newest first", async () => {
    const second = data(await create({ description: "Second" }));
    const page = (await org.owner.get(`${path()}?page[size]=1`)).body;
    expect(page.data).toHaveLength(1);
    expect(page.meta.pagination).toMatchObject({ "total-count": 2, "total-pages": 2 });
    const ids = data(await org.owner.get(path())).map(({ id }: Json) => id);
    expect(ids.toSorted()).toEqual([token.id, second.id].toSorted());
    pool = await makePool();
    expect((await org.owner.get(path())).body).toMatchObject({ data: [], meta: { pagination: { "total-count": 0 } } });
  });
});

describe("deleteToken", () => {
  it("revokes it: 204, then 404", async () => {
    expect((await org.owner.delete(at())).status).toBe(204);
    expect((await org.owner.get(at())).status).toBe(404);
    expect((await org.owner.delete(at())).status).toBe(404);
    expect(await rows()).toEqual([]);
  });

  it("happens automatically when the pool is deleted", async () => {
    expect((await org.owner.delete(`/agent-pools/${pool}`)).status).toBe(204);
    expect((await org.owner.get(at())).status).toBe(404);
  });
});

describe("a caller with such a token", () => {
  it("gets 404 everywhere", async () => {
    const agent = api.as(token.attributes.token);
    for (const answer of [
      await agent.get("/account/details"),
      await agent.get("/organizations"),
      await agent.get(`/organizations/${org.name}`),
      await agent.get(`/agent-pools/${pool}`),
      await agent.get(path()),
      await agent.delete(at()),
    ])
      expect(answer.status).toBe(404);
  });
});

describe("who can manage them", () => {
  const all = async (caller: Caller): Promise<number[]> => {
    const answers = [await create({ description: "More" }, caller), await caller.get(path()), await caller.get(at())];
    return [...answers, await caller.delete(at())].map(({ status }) => status);
  };

  it.each<readonly [string, () => Promise<Caller>]>([
    ["an owner", async () => org.owner],
    ["a holder of manage-agent-pools", () => api.makeHolder(org.name, "manage-agent-pools")],
    ["the organization's token", () => api.makeOrganizationToken(org.name)],
    ["a site admin", async () => api.admin],
  ])("%s", async (_, make) => {
    expect(await all(await make())).toEqual([201, 200, 200, 204]);
  });

  it.each<readonly [string, () => Promise<Caller>]>([
    ["a plain member", () => api.makeMember(org.name)],
    ["a holder of every other permission on connections", () => api.makeHolder(org.name, "manage-vcs-settings")],
    ["a team's token", async () => api.makeTeamToken((await api.makeTeam(org.name)).id)],
  ])("%s: 403 for the pool's, 404 for each of them", async (_, make) => {
    const caller = await make();
    expect(await all(caller)).toEqual([403, 403, 404, 404]);
    expect(details(await caller.get(path()))[0]).toContain("the organization permission 'manage-agent-pools'");
    expect(await rows()).toHaveLength(1);
  });
});
