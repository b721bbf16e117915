/** Flat tags: on workspaces, in the organization, and the searches that use them. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, unique } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

const byName = (...names: string[]) => ({ data: names.map((name) => ({ type: "tags", attributes: { name } })) });
const byId = (...ids: string[]) => ({ data: ids.map((id) => ({ type: "tags", id })) });
const namesOf = (answer: Answer): string[] => data(answer).map((tag: Json) => tag.attributes.name);
const tagsOf = async (workspaceId: string) =>
  namesOf(await org.owner.get(`/workspaces/${workspaceId}/relationships/tags`));
const shownOn = async (workspaceId: string) =>
  data(await org.owner.get(`/workspaces/${workspaceId}`)).attributes["tag-names"];

describe("add tags to a workspace", () => {
  it("by name: creates missing tags, and answers 204", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const [one, two] = [unique("b"), unique("a")];
    const answer = await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName(one, two));
    expect(answer.status).toBe(204);
    expect(await tagsOf(workspace.id)).toEqual([one, two].toSorted());
    expect(await shownOn(workspace.id)).toEqual([one, two].toSorted());
  });

  it("by id: a tag that the organization has", async () => {
    const [first, second] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const name = unique("tag");
    await org.owner.post(`/workspaces/${first.id}/relationships/tags`, byName(name));
    const [tag] = data(await org.owner.get(`/workspaces/${first.id}/relationships/tags`));
    expect((await org.owner.post(`/workspaces/${second.id}/relationships/tags`, byId(tag.id))).status).toBe(204);
    expect(await tagsOf(second.id)).toEqual([name]);
    const [counted] = data(await org.owner.get(`/workspaces/${second.id}/relationships/tags`));
    expect(counted).toEqual({
      id: tag.id,
      type: "tags",
      attributes: { name, "created-at": tag.attributes["created-at"], "instance-count": 2 },
      relationships: { organization: { data: { id: org.name, type: "organizations" } } },
    });
  });

  it("again: changes nothing, not even the version", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const name = unique("tag");
    await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName(name));
    const before = await org.owner.get(`/workspaces/${workspace.id}`);
    expect((await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName(name, name))).status).toBe(
      204,
    );
    expect((await org.owner.get(`/workspaces/${workspace.id}`)).headers.get("etag")).toBe(before.headers.get("etag"));
    expect(await tagsOf(workspace.id)).toEqual([name]);
  });

  it("raises the workspace's version and records an audit event", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const before = await org.owner.get(`/workspaces/${workspace.id}`);
    await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName("audited"));
    expect((await org.owner.get(`/workspaces/${workspace.id}`)).headers.get("etag")).not.toBe(
      before.headers.get("etag"),
    );
    const events = data(
      await org.owner.get(
        `/organizations/${org.name}/audit-events?filter[subject][id]=${workspace.id}&filter[action]=workspaces.add-tags`,
      ),
    );
    expect(events[0].attributes.after).toEqual({ tags: ["audited"] });
  });

  it.each([
    ["a space", "a b"],
    ["a comma", "a,b"],
    ["a letter that is not ASCII", "ä"],
    ["256 characters", "a".repeat(256)],
    ["nothing", ""],
  ])("refuses a name with %s: 422", async (_, name) => {
    const workspace = await api.makeWorkspace(org.name);
    const answer = await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName("fine", name));
    expect(answer.status).toBe(422);
    expect(pointers(answer)[0]).toBe("/data/1/attributes/name");
    expect(await tagsOf(workspace.id)).toEqual([]);
  });

  it("accepts letters, numbers, dashes, underscores, colons and 255 characters", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const names = ["Team:net_work-1", "x".repeat(255)];
    await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName(...names));
    expect(await tagsOf(workspace.id)).toEqual(names);
  });

  it.each([
    ["an unknown id", byId("tag-unknown")],
    ["neither id nor name", { data: [{ type: "tags" }] }],
    ["another type", { data: [{ type: "labels", attributes: { name: "x" } }] }],
    ["no array", { data: {} }],
  ])("refuses %s: 422, and adds none of the others", async (_, body) => {
    const workspace = await api.makeWorkspace(org.name);
    const others = Array.isArray(body.data)
      ? [{ type: "tags", attributes: { name: "other" } }, ...body.data]
      : body.data;
    expect((await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, { data: others })).status).toBe(422);
    expect(await tagsOf(workspace.id)).toEqual([]);
  });

  it("refuses an id of another organization's tag: 422", async () => {
    const foreign = await api.makeOrganization();
    const theirs = await api.makeWorkspace(foreign.name);
    await foreign.owner.post(`/workspaces/${theirs.id}/relationships/tags`, byName("theirs"));
    const [tag] = data(await foreign.owner.get(`/workspaces/${theirs.id}/relationships/tags`));
    const workspace = await api.makeWorkspace(org.name);
    expect((await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byId(tag.id))).status).toBe(422);
  });

  it("needs admin access to the workspace: 404 otherwise, as the endpoint lists no 403", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const reader = await api.makeHolder(org.name, "read-workspaces");
    expect((await reader.post(`/workspaces/${workspace.id}/relationships/tags`, byName("x"))).status).toBe(404);
    expect((await reader.delete(`/workspaces/${workspace.id}/relationships/tags`, byName("x"))).status).toBe(404);
    expect((await reader.get(`/workspaces/${workspace.id}/relationships/tags`)).status).toBe(200);
    const member = await api.makeMember(org.name);
    expect((await member.get(`/workspaces/${workspace.id}/relationships/tags`)).status).toBe(404);
    const manager = await api.makeHolder(org.name, "manage-workspaces");
    expect((await manager.post(`/workspaces/${workspace.id}/relationships/tags`, byName("x"))).status).toBe(204);
  });

  it("concurrent requests create each tag once and count correctly", async () => {
    const workspaces = await Promise.all(Array.from({ length: 8 }, () => api.makeWorkspace(org.name)));
    const name = unique("shared");
    const answers = await Promise.all(
      workspaces.map((workspace) => org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName(name))),
    );
    expect(answers.map((answer) => answer.status)).toEqual(workspaces.map(() => 204));
    const [tag, ...rest] = data(await org.owner.get(`/organizations/${org.name}/tags?q=${name}`));
    expect(tag.attributes["instance-count"]).toBe(8);
    expect(rest).toEqual([]);
  });
});

describe("limits and secrets", () => {
  it("a workspace can have at most 250 tags", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const names = (from: number, count: number) => Array.from({ length: count }, (_, index) => `many-${from + index}`);
    const path = `/workspaces/${workspace.id}/relationships/tags`;
    expect((await org.owner.post(path, byName(...names(0, 250)))).status).toBe(204);
    expect((await org.owner.post(path, byName("one-more"))).status).toBe(422);
    expect((await org.owner.post(path, byName(...names(0, 250)))).status).toBe(204);
    const relationships = { tags: byName(...names(0, 251)) };
    const body = { data: { type: "workspaces", attributes: { name: unique("ws") }, relationships } };
    expect((await org.owner.post(`/organizations/${org.name}/workspaces`, body)).status).toBe(422);
  });

  it("excluding a workspace that the caller can't read reveals nothing about its tags", async () => {
    const workspace = await api.makeWorkspace(org.name);
    await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName("hidden-tag"));
    const member = await api.makeMember(org.name);
    const query = `?q=hidden-tag&filter[exclude][taggable][id]=${workspace.id}`;
    expect(namesOf(await member.get(`/organizations/${org.name}/tags${query}`))).toEqual(["hidden-tag"]);
    expect(namesOf(await org.owner.get(`/organizations/${org.name}/tags${query}`))).toEqual([]);
  });

  it("an empty list does not reveal whether another organization's tag exists: 404", async () => {
    const workspace = await api.makeWorkspace(org.name);
    await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName("foreign-tag"));
    const [tag] = data(await org.owner.get(`/organizations/${org.name}/tags?q=foreign-tag`));
    const stranger = await api.makeOrganization();
    for (const id of [tag.id, "tag-none"]) {
      expect((await stranger.owner.post(`/tags/${id}/relationships/workspaces`, { data: [] })).status).toBe(404);
    }
  });

  it("adding a tag to a workspace that has it changes nothing", async () => {
    const workspace = await api.makeWorkspace(org.name);
    await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName("carried"));
    const [tag] = data(await org.owner.get(`/organizations/${org.name}/tags?q=carried`));
    const before = await org.owner.get(`/workspaces/${workspace.id}`);
    const linked = { data: [{ type: "workspaces", id: workspace.id }] };
    expect((await org.owner.post(`/tags/${tag.id}/relationships/workspaces`, linked)).status).toBe(204);
    expect((await org.owner.get(`/workspaces/${workspace.id}`)).headers.get("etag")).toBe(before.headers.get("etag"));
  });
});

describe("remove tags from a workspace", () => {
  it("by name and by id; the tag is deleted with the last workspace that has it", async () => {
    const [first, second] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const [mine, shared] = [unique("mine"), unique("shared")];
    await org.owner.post(`/workspaces/${first.id}/relationships/tags`, byName(mine, shared));
    await org.owner.post(`/workspaces/${second.id}/relationships/tags`, byName(shared));
    const found = data(await org.owner.get(`/workspaces/${first.id}/relationships/tags`));
    const id = found.find((tag: Json) => tag.attributes.name === shared).id;
    const body = { data: [...byName(mine).data, ...byId(id).data] };
    expect((await org.owner.delete(`/workspaces/${first.id}/relationships/tags`, body)).status).toBe(204);
    expect(await tagsOf(first.id)).toEqual([]);
    expect(await shownOn(first.id)).toEqual([]);
    expect(namesOf(await org.owner.get(`/organizations/${org.name}/tags?q=${mine}`))).toEqual([]);
    const [left] = data(await org.owner.get(`/organizations/${org.name}/tags?q=${shared}`));
    expect(left.attributes["instance-count"]).toBe(1);
  });

  it("ignores unknown names, and tags that the workspace does not have", async () => {
    const [first, second] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const name = unique("kept");
    await org.owner.post(`/workspaces/${first.id}/relationships/tags`, byName(name));
    expect(
      (await org.owner.delete(`/workspaces/${second.id}/relationships/tags`, byName(name, "no-such-tag"))).status,
    ).toBe(204);
    expect(await tagsOf(first.id)).toEqual([name]);
  });

  it("refuses an unknown id: 422 with its pointer", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const name = unique("stays");
    await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName(name));
    const body = { data: [...byName(name).data, ...byId("tag-none").data] };
    const answer = await org.owner.delete(`/workspaces/${workspace.id}/relationships/tags`, body);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/1/id"]);
    expect(await tagsOf(workspace.id)).toEqual([name]);
  });
});

describe("an organization's tags", () => {
  it("are listed with q, sort, exclusion and pages", async () => {
    const { name: other, owner } = await api.makeOrganization();
    const [first, second] = [await api.makeWorkspace(other), await api.makeWorkspace(other)];
    await owner.post(`/workspaces/${first.id}/relationships/tags`, byName("beta", "alpha"));
    await owner.post(`/workspaces/${second.id}/relationships/tags`, byName("gamma", "beta"));
    const list = (query = "") => owner.get(`/organizations/${other}/tags${query}`);
    expect(namesOf(await list())).toEqual(["alpha", "beta", "gamma"]);
    expect(namesOf(await list("?sort=-name"))).toEqual(["gamma", "beta", "alpha"]);
    expect(namesOf(await list("?q=ET"))).toEqual(["beta"]);
    expect(namesOf(await list(`?filter[exclude][taggable][id]=${first.id}`))).toEqual(["gamma"]);
    const page = await list("?page[size]=2&page[number]=2");
    expect(namesOf(page)).toEqual(["gamma"]);
    expect(page.body.meta.pagination["total-count"]).toBe(3);
  });

  it("are deleted from every workspace that has them", async () => {
    const { name: other, owner } = await api.makeOrganization();
    const workspaces = [await api.makeWorkspace(other), await api.makeWorkspace(other)];
    for (const { id } of workspaces) await owner.post(`/workspaces/${id}/relationships/tags`, byName("gone", "left"));
    const tag = data(await owner.get(`/organizations/${other}/tags?q=gone`))[0];
    expect((await owner.delete(`/organizations/${other}/tags`, byId(tag.id))).status).toBe(204);
    for (const { id } of workspaces)
      expect(data(await owner.get(`/workspaces/${id}`)).attributes["tag-names"]).toEqual(["left"]);
    expect(namesOf(await owner.get(`/organizations/${other}/tags`))).toEqual(["left"]);
  });

  it("can be deleted by owners and with manage-workspaces: 403 for other members", async () => {
    const workspace = await api.makeWorkspace(org.name);
    await org.owner.post(`/workspaces/${workspace.id}/relationships/tags`, byName("guarded"));
    const [tag] = data(await org.owner.get(`/organizations/${org.name}/tags?q=guarded`));
    const reader = await api.makeHolder(org.name, "read-workspaces");
    const refused = await reader.delete(`/organizations/${org.name}/tags`, byId(tag.id));
    expect(refused.status).toBe(403);
    expect(details(refused)[0]).toContain("manage-workspaces");
    expect((await org.owner.delete(`/organizations/${org.name}/tags`, byId("tag-none"))).status).toBe(422);
    const manager = await api.makeHolder(org.name, "manage-workspaces");
    expect((await manager.delete(`/organizations/${org.name}/tags`, byId(tag.id))).status).toBe(204);
  });
});

describe("add a tag to many workspaces", () => {
  it("adds it to all, or to none if the caller can't tag one of them", async () => {
    const { name: other, owner } = await api.makeOrganization();
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => api.makeWorkspace(other)));
    await owner.post(`/workspaces/${first.id}/relationships/tags`, byName("wide"));
    const [tag] = data(await owner.get(`/organizations/${other}/tags`));
    const linked = (...ids: string[]) => ({ data: ids.map((id) => ({ type: "workspaces", id })) });
    const refused = await owner.post(`/tags/${tag.id}/relationships/workspaces`, linked(second.id, "ws-none"));
    expect(refused.status).toBe(404);
    expect(
      (await owner.post(`/tags/${tag.id}/relationships/workspaces`, linked(first.id, second.id, third.id))).status,
    ).toBe(204);
    const found = data(await owner.get(`/organizations/${other}/workspaces?search[tags]=wide`));
    expect(found).toHaveLength(3);
    expect(data(await owner.get(`/organizations/${other}/tags`))[0].attributes["instance-count"]).toBe(3);
    const reader = await api.makeHolder(other, "read-workspaces");
    expect((await reader.post(`/tags/${tag.id}/relationships/workspaces`, linked(first.id))).status).toBe(404);
  });
});

describe("tags of a deleted workspace", () => {
  it("are no longer counted, and are deleted if no other workspace has them", async () => {
    const { name: other, owner } = await api.makeOrganization();
    const [first, second] = [await api.makeWorkspace(other), await api.makeWorkspace(other)];
    await owner.post(`/workspaces/${first.id}/relationships/tags`, byName("only", "both"));
    await owner.post(`/workspaces/${second.id}/relationships/tags`, byName("both"));
    expect((await owner.delete(`/workspaces/${first.id}`)).status).toBe(204);
    const left = data(await owner.get(`/organizations/${other}/tags`));
    expect(left.map((tag: Json) => [tag.attributes.name, tag.attributes["instance-count"]])).toEqual([["both", 1]]);
  });
});

describe("tags sent with a new workspace", () => {
  it("are added to it; an invalid one prevents the creation", async () => {
    const names = [unique("new"), unique("new")];
    const workspace = await api.makeWorkspace(org.name, {}, { tags: byName(...names) });
    expect(workspace.attributes["tag-names"]).toEqual(names.toSorted());
    const body = {
      data: { type: "workspaces", attributes: { name: unique("ws") }, relationships: { tags: byName("a b") } },
    };
    const refused = await org.owner.post(`/organizations/${org.name}/workspaces`, body);
    expect(refused.status).toBe(422);
    expect((await org.owner.get(`/organizations/${org.name}/workspaces/${body.data.attributes.name}`)).status).toBe(
      404,
    );
  });
});
