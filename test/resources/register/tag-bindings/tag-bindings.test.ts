/** Key-value tags: on workspaces and projects, effective ones, and reserved keys. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org, pointers, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

const bindings = (values: Record<string, string>) => ({
  data: Object.entries(values).map(([key, value]) => ({ type: "tag-bindings", attributes: { key, value } })),
});
const valuesOf = (list: Json[]) =>
  Object.fromEntries(list.map((binding) => [binding.attributes.key, binding.attributes.value]));
const read = async (path: string, caller: Caller = org.owner) => valuesOf(data(await caller.get(path)));
const kinds = ["workspaces", "projects"] as const;
const make = async (kind: (typeof kinds)[number]) =>
  kind === "workspaces" ? api.makeWorkspace(org.name) : api.makeProject(org.name);

/** Each list of bindings has two spellings. */
const places = kinds.flatMap((kind) => ["tag-bindings", "relationships/tag-bindings"].map((name) => ({ kind, name })));

describe.each(kinds)("POST /%s/:id/relationships/tag-bindings", (kind) => {
  it("204: adds and changes bindings, and keeps the others", async () => {
    const { id } = await make(kind);
    const path = `/${kind}/${id}/relationships/tag-bindings`;
    const answer = await org.owner.post(path, bindings({ zone: "eu", cost: "42" }));
    expect([answer.status, answer.body]).toEqual([204, undefined]);
    expect((await org.owner.post(path, bindings({ cost: "43" }))).status).toBe(204);
    expect(await read(path)).toEqual({ zone: "eu", cost: "43" });
  });

  it("422: a duplicate key, and nothing is added", async () => {
    const { id } = await make(kind);
    const path = `/${kind}/${id}/relationships/tag-bindings`;
    const twice = { data: [...bindings({ zone: "eu" }).data, ...bindings({ zone: "us" }).data] };
    const answer = await org.owner.post(path, twice);
    expect([answer.status, pointers(answer)]).toEqual([422, ["/data/1/attributes/key"]]);
    expect(await read(path)).toEqual({});
  });
});

describe.each(places)("PATCH /$kind/:id/$name", ({ kind, name }) => {
  it("adds and changes, keeps the others, and answers in the order of the request", async () => {
    const { id } = await make(kind);
    const path = `/${kind}/${id}/${name}`;
    const first = await org.owner.patch(path, bindings({ zone: "eu", cost: "42" }));
    expect(first.status).toBe(200);
    expect(first.body.data.map((binding: Json) => binding.attributes)).toEqual([
      { key: "zone", value: "eu" },
      { key: "cost", value: "42" },
    ]);
    expect(first.body.data[0]).toMatchObject({ type: "tag-bindings", id: expect.stringMatching(/^tb-/) });
    const second = await org.owner.patch(path, bindings({ cost: "43", new: "" }));
    expect(second.body.data[0].id).toBe(first.body.data[1].id);
    for (const place of places.filter((other) => other.kind === kind))
      expect(await read(`/${kind}/${id}/${place.name}`)).toEqual({ cost: "43", new: "", zone: "eu" });
  });

  it("refuses more than 25, in one request or together with existing ones", async () => {
    const { id } = await make(kind);
    const many = (count: number, prefix: string) =>
      bindings(Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, "v"])));
    expect((await org.owner.patch(`/${kind}/${id}/${name}`, many(26, "a"))).status).toBe(422);
    expect((await org.owner.patch(`/${kind}/${id}/${name}`, many(25, "a"))).status).toBe(200);
    expect((await org.owner.patch(`/${kind}/${id}/${name}`, many(1, "b"))).status).toBe(422);
    expect((await org.owner.patch(`/${kind}/${id}/${name}`, many(25, "a"))).status).toBe(200);
  });

  it.each([
    ["a key twice", { data: [...bindings({ a: "1" }).data, ...bindings({ a: "2" }).data] }, "/data/1/attributes/key"],
    ["an empty key", bindings({ "": "1" }), "/data/0/attributes/key"],
    ["a key of 129 characters", bindings({ ["k".repeat(129)]: "1" }), "/data/0/attributes/key"],
    ["a value of 257 characters", bindings({ k: "v".repeat(257) }), "/data/0/attributes/value"],
    [
      "a value that is not text",
      { data: [{ type: "tag-bindings", attributes: { key: "k", value: 1 } }] },
      "/data/0/attributes/value",
    ],
    ["no attributes", { data: [{ type: "tag-bindings" }] }, "/data/0/attributes"],
  ])("refuses %s: 422", async (_, body, pointer) => {
    const { id } = await make(kind);
    const answer = await org.owner.patch(`/${kind}/${id}/${name}`, body);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([pointer]);
    expect(await read(`/${kind}/${id}/${name}`)).toEqual({});
  });

  it("needs the permission to change the workspace or project: 403 for readers, 404 for others", async () => {
    const { id } = await make(kind);
    const reader = await api.makeHolder(org.name, "read-projects");
    expect((await reader.patch(`/${kind}/${id}/${name}`, bindings({ a: "1" }))).status).toBe(403);
    expect((await reader.get(`/${kind}/${id}/${name}`)).status).toBe(200);
    expect((await reader.get(`/${kind}/${id}/effective-tag-bindings`)).status).toBe(200);
    const member = await api.makeMember(org.name);
    for (const path of [name, "effective-tag-bindings"])
      expect((await member.get(`/${kind}/${id}/${path}`)).status).toBe(404);
    expect((await member.patch(`/${kind}/${id}/${name}`, bindings({ a: "1" }))).status).toBe(404);
  });

  it("records an audit event with the values before and after", async () => {
    const { id } = await make(kind);
    await org.owner.patch(`/${kind}/${id}/${name}`, bindings({ a: "1" }));
    await org.owner.patch(`/${kind}/${id}/${name}`, bindings({ a: "2" }));
    const events = data(
      await org.owner.get(
        `/organizations/${org.name}/audit-events?filter[subject][id]=${id}&filter[action]=${kind}.bind-tags`,
      ),
    );
    const changes = events.map((event: Json) => [
      event.attributes.before["tag-bindings"],
      event.attributes.after["tag-bindings"],
    ]);
    expect(changes).toContainEqual([{ a: "1" }, { a: "2" }]);
  });

  it("is cleared by an empty relationship in an update, set by a non-empty one, and kept without one", async () => {
    const { id } = await make(kind);
    const update = (relationships?: object) =>
      org.owner.patch(`/${kind}/${id}`, resource(kind, { description: "x" }, relationships));
    await org.owner.patch(`/${kind}/${id}/${name}`, bindings({ a: "1" }));
    expect((await update()).status).toBe(200);
    expect(await read(`/${kind}/${id}/${name}`)).toEqual({ a: "1" });
    expect((await update({ "tag-bindings": bindings({ b: "2" }) })).status).toBe(200);
    expect(await read(`/${kind}/${id}/${name}`)).toEqual({ b: "2" });
    expect((await update({ "tag-bindings": { data: [] } })).status).toBe(200);
    expect(await read(`/${kind}/${id}/${name}`)).toEqual({});
  });
});

describe("effective bindings", () => {
  it("are the workspace's own and those of its project that it does not override", async () => {
    const project = await api.makeProject(org.name);
    const workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
    await org.owner.patch(`/projects/${project.id}/tag-bindings`, bindings({ zone: "eu", cost: "1" }));
    await org.owner.patch(`/workspaces/${workspace.id}/tag-bindings`, bindings({ cost: "2", own: "x" }));
    const shown = data(await org.owner.get(`/workspaces/${workspace.id}/effective-tag-bindings`));
    expect(valuesOf(shown)).toEqual({ zone: "eu", cost: "2", own: "x" });
    const links = Object.fromEntries(shown.map((binding: Json) => [binding.attributes.key, binding.links]));
    expect(links).toEqual({
      zone: { "inherited-from": `/api/v2/projects/${project.id}` },
      cost: undefined,
      own: undefined,
    });
    expect(await read(`/projects/${project.id}/effective-tag-bindings`)).toEqual({ zone: "eu", cost: "1" });
  });

  it("are included with workspaces and projects if include names them", async () => {
    const project = await api.makeProject(org.name);
    const workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
    await org.owner.patch(`/projects/${project.id}/tag-bindings`, bindings({ zone: "eu" }));
    await org.owner.patch(`/workspaces/${workspace.id}/tag-bindings`, bindings({ own: "x" }));
    for (const path of [`/workspaces/${workspace.id}`, `/organizations/${org.name}/workspaces`]) {
      const answer = await org.owner.get(`${path}?include=effective_tag_bindings&filter[project][id]=${project.id}`);
      const shown = [answer.body.data].flat()[0];
      expect(shown.relationships["effective-tag-bindings"].data).toHaveLength(2);
      expect(valuesOf(answer.body.included)).toEqual({ zone: "eu", own: "x" });
    }
    const listed = await org.owner.get(
      `/organizations/${org.name}/projects?include=effective_tag_bindings&filter[names]=${project.attributes.name}`,
    );
    expect(valuesOf(listed.body.included)).toEqual({ zone: "eu" });
  });

  it("are matched by filter[tagged]", async () => {
    const project = await api.makeProject(org.name);
    const [inherits, overrides] = [
      await api.makeWorkspace(org.name, {}, inProject(project.id)),
      await api.makeWorkspace(org.name, {}, inProject(project.id)),
    ];
    await org.owner.patch(`/projects/${project.id}/tag-bindings`, bindings({ tier: "gold" }));
    await org.owner.patch(`/workspaces/${overrides.id}/tag-bindings`, bindings({ tier: "lead" }));
    const find = async (query: string) =>
      data(await org.owner.get(`/organizations/${org.name}/workspaces?${query}`)).map(
        (workspace: Json) => workspace.id,
      );
    expect(await find("filter[tagged][0][key]=tier&filter[tagged][0][value]=gold")).toEqual([inherits.id]);
    expect(await find("filter[tagged][0][key]=tier&filter[tagged][0][value]=lead")).toEqual([overrides.id]);
    expect((await find("filter[tagged][0][key]=tier&filter[tagged][0][value]=")).toSorted()).toEqual(
      [inherits.id, overrides.id].toSorted(),
    );
  });
});

describe("with a new workspace or project", () => {
  it("are set with it; an invalid one prevents the creation", async () => {
    const sent = { "tag-bindings": bindings({ a: "1" }) };
    const workspace = await api.makeWorkspace(org.name, {}, sent);
    expect(await read(`/workspaces/${workspace.id}/tag-bindings`)).toEqual({ a: "1" });
    const project = data(
      await org.owner.post(
        `/organizations/${org.name}/projects`,
        resource("projects", { name: "bound project" }, sent),
      ),
    );
    expect(await read(`/projects/${project.id}/tag-bindings`)).toEqual({ a: "1" });
    const bad = { "tag-bindings": { data: [{ type: "tag-bindings", attributes: { value: "1" } }] } };
    const refused = await org.owner.post(
      `/organizations/${org.name}/projects`,
      resource("projects", { name: "unbound" }, bad),
    );
    expect(refused.status).toBe(422);
    expect(pointers(refused)).toEqual(["/data/relationships/tag-bindings/data/0/attributes/key"]);
  });
});
