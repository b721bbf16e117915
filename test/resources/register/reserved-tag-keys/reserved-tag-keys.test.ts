import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { bound } from "../workspaces/support.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await api.makeOrganization();
});

const keys = (name: string) => `/organizations/${name}/reserved-tag-keys`;
const body = (attributes: object) => resource("reserved-tag-keys", attributes);
const reserve = async (attributes: object = {}, caller: Caller = org.owner, name = org.name): Promise<Json> =>
  data(await caller.post(keys(name), body({ key: unique("key"), ...attributes })));

describe("reserving a key", () => {
  it("201: the whole document, with its ETag", async () => {
    const key = unique("cost:center_");
    const answer = await org.owner.post(keys(org.name), body({ key, "disable-overrides": true }));
    expect(answer.status).toBe(201);
    expect(answer.headers.get("etag")).toBe('"1"');
    const { id, type, attributes, relationships } = answer.body.data;
    expect(id).toMatch(/^rtk-[A-Za-z0-9]{16}$/);
    expect(type).toBe("reserved-tag-keys");
    expect(attributes).toEqual({
      key,
      "disable-overrides": true,
      "created-at": expect.stringMatching(/Z$/),
      "updated-at": attributes["created-at"],
    });
    expect(relationships.organization.data).toEqual({ id: org.name, type: "organizations" });
  });

  it("201: overrides are allowed by default; keys are case-sensitive; other organizations can reserve the same key", async () => {
    const key = unique("Key");
    expect((await reserve({ key })).attributes["disable-overrides"]).toBe(false);
    await reserve({ key: key.toLowerCase() });
    const other = await api.makeOrganization();
    await reserve({ key }, other.owner, other.name);
  });

  it.each([
    ["no key", {}, "Key can't be blank"],
    ["an empty key", { key: "" }, "Key can't be blank"],
    ["null", { key: null }, "Key must be a string"],
    [
      "other characters",
      { key: "! / nope" },
      "Key is invalid: it may only contain letters, numbers, dashes, underscores and colons",
    ],
    ["129 characters", { key: "k".repeat(129) }, "Key is too long (maximum is 128 characters)"],
  ])("422: %s", async (_, attributes, sentence) => {
    const answer = await org.owner.post(keys(org.name), body(attributes));
    expect([answer.status, details(answer), pointers(answer)]).toEqual([422, [sentence], ["/data/attributes/key"]]);
    expect(answer.body.errors[0].title).toBe("invalid attribute");
  });

  it("201: 128 characters", async () => {
    await reserve({ key: "k".repeat(128) });
  });

  it("422: all faults in one response", async () => {
    const answer = await org.owner.post(keys(org.name), {
      data: { type: "tags", attributes: { "disable-overrides": "yes" } },
    });
    expect(details(answer)).toEqual([
      "Type must be 'reserved-tag-keys'",
      "Key can't be blank",
      "Disable overrides must be true or false",
    ]);
  });

  it("422: a key that is already reserved, also for concurrent callers", async () => {
    const { attributes } = await reserve();
    const again = await org.owner.post(keys(org.name), body({ key: attributes.key }));
    expect([again.status, details(again), pointers(again)]).toEqual([
      422,
      ["Key has already been taken"],
      ["/data/attributes/key"],
    ]);
    const key = unique("key");
    const both = await Promise.all([1, 2, 3].map(() => org.owner.post(keys(org.name), body({ key }))));
    expect(both.map((answer) => answer.status).toSorted()).toEqual([201, 422, 422]);
  });
});

describe("listing", () => {
  it("200: by key, in pages, for every member", async () => {
    const own = await api.makeOrganization();
    for (const key of ["b", "a", "B", "c"]) await reserve({ key }, own.owner, own.name);
    const member = await api.makeMember(own.name);
    const first = await member.get(`${keys(own.name)}?page[size]=3`);
    expect(first.body.data.map((item: Json) => item.attributes.key)).toEqual(["B", "a", "b"]);
    expect(first.body.meta.pagination).toMatchObject({ "total-count": 4, "total-pages": 2, "next-page": 2 });
    const second = await member.get(`${keys(own.name)}?page[size]=3&page[number]=2`);
    expect(second.body.data.map((item: Json) => item.attributes.key)).toEqual(["c"]);
    const past = await member.get(`${keys(own.name)}?page[number]=9`);
    expect([past.body.data, past.body.meta.pagination["total-count"]]).toEqual([[], 4]);
  });
});

describe("changing", () => {
  it.each([
    ["key", "renamed-key", undefined],
    ["key", null, "Key must be a string"],
    ["disable-overrides", true, undefined],
    ["disable-overrides", null, "Disable overrides must be true or false"],
  ])("%s: %s", async (name, value, sentence) => {
    const reserved = await reserve();
    const answer = await org.owner.patch(`/reserved-tag-keys/${reserved.id}`, body({ [name]: value }));
    if (sentence === undefined) {
      expect(answer.body.data.attributes).toEqual({
        ...reserved.attributes,
        [name]: value,
        "updated-at": expect.any(String),
      });
      expect([answer.status, answer.headers.get("etag")]).toEqual([200, '"2"']);
    } else {
      expect([answer.status, details(answer)]).toEqual([422, [sentence]]);
    }
  });

  it("200: absent and unchanged values change nothing, and record no event", async () => {
    const reserved = await reserve();
    for (const attributes of [{}, { key: reserved.attributes.key, "disable-overrides": false }]) {
      const answer = await org.owner.patch(`/reserved-tag-keys/${reserved.id}`, body(attributes));
      expect(answer.body.data).toEqual(reserved);
      expect(answer.headers.get("etag")).toBe('"1"');
    }
    expect(await auditEventsOf(reserved.id)).toHaveLength(1);
  });

  it("422: the key of another reserved key", async () => {
    const [one, other] = [await reserve(), await reserve()];
    const answer = await org.owner.patch(`/reserved-tag-keys/${one.id}`, body({ key: other.attributes.key }));
    expect([answer.status, details(answer)]).toEqual([422, ["Key has already been taken"]]);
  });

  it("412 after its organization was renamed, which its document shows", async () => {
    const own = await api.makeOrganization();
    const made = await own.owner.post(`/organizations/${own.name}/reserved-tag-keys`, body({ key: "zone" }));
    const tag = made.headers.get("etag") ?? "";
    const name = unique("renamed");
    data(await own.owner.patch(`/organizations/${own.name}`, resource("organizations", { name })));
    const path = `/reserved-tag-keys/${made.body.data.id}`;
    expect((await own.owner.patch(path, body({ key: "area" }), { "if-match": tag })).status).toBe(412);
    const answer = await own.owner.patch(path, body({ key: "area" }));
    expect(answer.body.data.relationships.organization.data.id).toBe(name);
    expect((await own.owner.delete(path, undefined, { "if-match": answer.headers.get("etag") ?? "" })).status).toBe(
      204,
    );
  });
});

describe("deleting", () => {
  it("204, then 404", async () => {
    const { id } = await reserve();
    expect((await org.owner.delete(`/reserved-tag-keys/${id}`)).status).toBe(204);
    expect((await org.owner.delete(`/reserved-tag-keys/${id}`)).status).toBe(404);
    expect((await org.owner.patch(`/reserved-tag-keys/${id}`, body({}))).status).toBe(404);
  });
});

describe("permissions", () => {
  const writers: Record<string, () => Promise<Caller>> = {
    owner: async () => org.owner,
    "owners team token": () => api.makeTeamToken(org.ownersTeamId),
    "organization token": () => api.makeOrganizationToken(org.name),
    "site admin": async () => api.admin,
  };
  it.each(Object.entries(writers))("%s: everything", async (_, make) => {
    const caller = await make();
    const { id } = await reserve({}, caller);
    expect((await caller.patch(`/reserved-tag-keys/${id}`, body({ key: unique("key") }))).status).toBe(200);
    expect((await caller.delete(`/reserved-tag-keys/${id}`)).status).toBe(204);
  });

  const readers: Record<string, () => Promise<Caller>> = {
    "a member": () => api.makeMember(org.name),
    "manage-workspaces": () => api.makeHolder(org.name, "manage-workspaces", "manage-projects"),
  };
  it.each(Object.entries(readers))("%s: can read; otherwise 403 that names the missing permission", async (_, make) => {
    const caller = await make();
    const { id } = await reserve();
    expect((await caller.get(keys(org.name))).status).toBe(200);
    const refusals = [
      await caller.post(keys(org.name), body({ key: unique("key") })),
      await caller.patch(`/reserved-tag-keys/${id}`, body({ key: unique("key") })),
      await caller.delete(`/reserved-tag-keys/${id}`),
    ];
    expect(refusals.map((answer) => answer.status)).toEqual([403, 403, 403]);
    for (const answer of refusals) {
      expect(details(answer)[0]).toContain("this action needs ownership of the organization (can-update).");
    }
  });
});

describe("the audit log", () => {
  it("has the creation, the change and the deletion", async () => {
    const { id, attributes } = await reserve();
    await org.owner.patch(`/reserved-tag-keys/${id}`, body({ "disable-overrides": true }));
    await org.owner.delete(`/reserved-tag-keys/${id}`);
    const before = {
      key: attributes.key,
      "disable-overrides": false,
      "created-at": attributes["created-at"],
    };
    const after = { ...before, "disable-overrides": true };
    expect(await auditEventsOf(id)).toEqual([
      ["reserved-tag-keys.delete", after, null],
      ["reserved-tag-keys.update", before, after],
      ["reserved-tag-keys.create", null, before],
    ]);
  });
});

describe("a key with disable-overrides that the project sets", () => {
  let own: Org;
  let project: Json;
  let workspace: Json;
  beforeAll(async () => {
    own = await api.makeOrganization();
    await reserve({ key: "fixed", "disable-overrides": true }, own.owner, own.name);
    await reserve({ key: "elsewhere", "disable-overrides": true }, own.owner, own.name);
    await reserve({ key: "free" }, own.owner, own.name);
    project = await api.makeProject(own.name);
    workspace = await api.makeWorkspace(own.name, {}, { ...inProject(project.id), ...bound({ earlier: "own" }) });
    const sets = { "tag-bindings": bound({ fixed: "p", free: "p", plain: "p", earlier: "p" })["tag-bindings"] };
    data(await own.owner.patch(`/projects/${project.id}`, resource("projects", {}, sets)));
    await reserve({ key: "earlier", "disable-overrides": true }, own.owner, own.name);
  });
  const shown = async () => data(await own.owner.get(`/workspaces/${workspace.id}/tag-bindings`));
  const sentence = "Key 'fixed' is reserved: the project's value can't be overridden";

  it.each<[string, (bindings: Record<string, string>) => Promise<Answer>, string]>([
    [
      "PATCH tag-bindings",
      (bindings) => own.owner.patch(`/workspaces/${workspace.id}/tag-bindings`, bound(bindings)["tag-bindings"]),
      "/data/1/attributes/key",
    ],
    [
      "an update of the workspace",
      (bindings) => own.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", {}, bound(bindings))),
      "/data/relationships/tag-bindings/data/1/attributes/key",
    ],
    [
      "a creation",
      (bindings) =>
        own.owner.post(
          `/organizations/${own.name}/workspaces`,
          resource("workspaces", { name: unique("ws") }, { ...inProject(project.id), ...bound(bindings) }),
        ),
      "/data/relationships/tag-bindings/data/1/attributes/key",
    ],
  ])("can't be set on a workspace by %s: 422, and nothing changes", async (_, send, pointer) => {
    const before = await shown();
    const answer = await send({ free: "w", fixed: "w" });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ detail: sentence, source: { pointer } }]);
    expect(await shown()).toEqual(before);
  });

  it("other keys can be overridden: without disable-overrides, not set on the project, not reserved; existing values stay", async () => {
    const bindings = bound({ free: "w", elsewhere: "w", plain: "w" })["tag-bindings"];
    expect((await own.owner.patch(`/workspaces/${workspace.id}/tag-bindings`, bindings)).status).toBe(200);
    expect((await shown()).map(({ attributes }: Json) => attributes)).toEqual([
      { key: "earlier", value: "own" },
      { key: "elsewhere", value: "w" },
      { key: "free", value: "w" },
      { key: "plain", value: "w" },
    ]);
  });

  it("can be set in another project, and the project can change it", async () => {
    const other = await api.makeWorkspace(own.name);
    const fixed = bound({ fixed: "w" })["tag-bindings"];
    expect((await own.owner.patch(`/workspaces/${other.id}/tag-bindings`, fixed)).status).toBe(200);
    expect((await own.owner.patch(`/projects/${project.id}/tag-bindings`, fixed)).status).toBe(200);
  });
});

async function auditEventsOf(id: string): Promise<Json[]> {
  const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${id}`));
  return events.map(({ attributes }: Json) => [attributes.action, attributes.before, attributes.after]);
}
