/** SSH keys over HTTP: creation, update and what is refused, and that the value is never returned. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { createVault } from "../../../../src/database/vault.ts";

const api = useApi();
const secret = "-----BEGIN PRIVATE KEY-----\nsecret-of-the-key\n-----END PRIVATE KEY-----";
let org: Org;
let key: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
});
beforeEach(async () => {
  key = data(await create({}));
});

const path = () => `/organizations/${org.name}/ssh-keys`;
const create = (attributes: object, caller: Caller = org.owner): Promise<Answer> =>
  caller.post(path(), resource("ssh-keys", { name: unique("key"), value: secret, ...attributes }));
const at = () => `/ssh-keys/${key.id}`;
const update = (attributes: object) => org.owner.patch(at(), resource("ssh-keys", attributes));
const row = (id: string = key.id) =>
  api.database.reader.db.selectFrom("sshKeys").selectAll().where("id", "=", id).executeTakeFirst();
const opened = async (id?: string) => {
  const stored = await row(id);
  const vault = createVault(Buffer.alloc(32, 7));
  return Buffer.from(vault.open(`ssh_keys/${stored?.id}/value`, stored?.value ?? Buffer.alloc(0))).toString();
};

function expectRefused(answer: Answer, attribute: string, detail: string): void {
  expect(answer.status).toBe(422);
  expect(pointers(answer)).toEqual([`/data/attributes/${attribute}`]);
  expect(details(answer)).toEqual([detail]);
}

describe("createSshKey", () => {
  it("responds with 201 and the document that show and list return, without the value", async () => {
    const name = unique("Key");
    const answer = await create({ name });
    expect(answer.status).toBe(201);
    const { id } = answer.body.data;
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^sshkey-/),
      type: "ssh-keys",
      attributes: { name, "created-at": expect.stringMatching(/Z$/) },
      relationships: {
        organization: {
          data: { id: org.name, type: "organizations" },
          links: { related: `/api/v2/organizations/${org.name}` },
        },
      },
      links: { self: `/api/v2/ssh-keys/${id}` },
    });
    expect(data(await org.owner.get(`/ssh-keys/${id}`))).toEqual(answer.body.data);
    expect(data(await org.owner.get(`${path()}?page[size]=100`))).toContainEqual(answer.body.data);
  });

  it("encrypts the value for its row", async () => {
    const stored = await row();
    expect(Buffer.from(stored?.value ?? []).toString("latin1")).not.toContain("secret-of-the-key");
    expect(await opened()).toBe(secret);
    const other = data(await create({}));
    expect(Buffer.compare(Buffer.from((await row(other.id))?.value ?? []), Buffer.from(stored?.value ?? []))).not.toBe(
      0,
    );
    const vault = createVault(Buffer.alloc(32, 7));
    expect(() => vault.open(`ssh_keys/${other.id}/value`, stored?.value ?? Buffer.alloc(0))).toThrow();
  });

  it.each([
    ["name", "", "Name can't be blank"],
    ["name", "  ", "Name can't be blank"],
    ["name", "x".repeat(91), "Name is too long (maximum is 90 characters)"],
    ["name", null, "Name must be a string"],
    ["name", 5, "Name must be a string"],
    ["value", "", "Value can't be blank"],
    ["value", "x".repeat(16_385), "Value is too long (maximum is 16384 characters)"],
    ["value", null, "Value must be a string"],
    ["value", {}, "Value must be a string"],
  ])("refuses the %s %#", async (attribute, value, detail) => {
    expectRefused(await create({ [attribute]: value }), attribute, detail);
  });

  it.each(["name", "value"])("refuses a body without %s", async (attribute) => {
    const answer = await create({ [attribute]: undefined });
    expectRefused(answer, attribute, `${attribute === "name" ? "Name" : "Value"} can't be blank`);
  });

  it("accepts the longest name and value", async () => {
    const value = "x".repeat(16_384);
    const created = data(await create({ name: "🍄".repeat(90), value }));
    expect(await opened(created.id)).toBe(value);
  });

  it("refuses a name that is taken, ignoring case, and accepts it in another organization", async () => {
    const { name } = key.attributes;
    for (const taken of [name, name.toUpperCase()])
      expectRefused(await create({ name: taken }), "name", "Name has already been taken");
    const other = await api.makeOrganization();
    const body = resource("ssh-keys", { name, value: secret });
    expect((await other.owner.post(`/organizations/${other.name}/ssh-keys`, body)).status).toBe(201);
  });

  it("gives a name to one of many concurrent requests", async () => {
    const name = unique("race");
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ name })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(422)]);
  });
});

describe("listSshKeys", () => {
  it("shows pages, by name, with the total", async () => {
    const other = await api.makeOrganization();
    for (const name of ["b", "C", "a"])
      await other.owner.post(`/organizations/${other.name}/ssh-keys`, resource("ssh-keys", { name, value: secret }));
    const first = await other.owner.get(`/organizations/${other.name}/ssh-keys?page[size]=2`);
    expect(first.body.data.map((item: Json) => item.attributes.name)).toEqual(["a", "b"]);
    expect(first.body.meta.pagination).toMatchObject({ "total-count": 3, "total-pages": 2 });
    const past = await other.owner.get(`/organizations/${other.name}/ssh-keys?page[number]=999`);
    expect(past.body.data).toEqual([]);
    expect(past.body.meta.pagination["total-count"]).toBe(3);
  });
});

describe("updateSshKey: a value, null, absent", () => {
  it("name: a value renames it, and keeps the key", async () => {
    const name = unique("renamed");
    const answer = await update({ name });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ ...key, attributes: { ...key.attributes, name } });
    expect(data(await org.owner.get(at()))).toEqual(answer.body.data);
    expect(await opened()).toBe(secret);
  });

  it("value: a value replaces it, and the ETag changes", async () => {
    const before = (await org.owner.get(at())).headers.get("etag");
    const answer = await update({ value: "another secret" });
    expect(answer.body.data).toEqual(key);
    expect(answer.headers.get("etag")).not.toBe(before);
    expect(await opened()).toBe("another secret");
  });

  it.each(["name", "value"])("%s: null is refused", async (attribute) => {
    expectRefused(
      await update({ [attribute]: null }),
      attribute,
      `${attribute === "name" ? "Name" : "Value"} must be a string`,
    );
  });

  it("absent: everything stays", async () => {
    const before = (await org.owner.get(at())).headers.get("etag");
    for (const attributes of [{}, { name: key.attributes.name }, { colour: "blue" }]) {
      const answer = await update(attributes);
      expect(answer.body.data).toEqual(key);
      expect(answer.headers.get("etag")).toBe(before);
    }
  });

  it("refuses a taken name, and accepts its own in another case", async () => {
    const other = data(await create({}));
    expectRefused(await update({ name: other.attributes.name.toUpperCase() }), "name", "Name has already been taken");
    const mine = key.attributes.name.toUpperCase();
    expect(data(await update({ name: mine })).attributes.name).toBe(mine);
  });
});

describe("deleteSshKey", () => {
  it("removes it and unassigns it from its workspaces, and increments their versions", async () => {
    const [user, other] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const kept = data(await create({}));
    const assign = (workspace: Json, id: string) =>
      org.owner.patch(`/workspaces/${workspace.id}/relationships/ssh-key`, resource("workspaces", { id }));
    data(await assign(user, key.id));
    data(await assign(other, kept.id));
    const tags = async () =>
      Promise.all([user, other].map(async ({ id }) => (await org.owner.get(`/workspaces/${id}`)).headers.get("etag")));
    const before = await tags();
    expect((await org.owner.delete(at())).status).toBe(204);
    expect((await org.owner.get(at())).status).toBe(404);
    expect((await org.owner.delete(at())).status).toBe(404);
    const shown = async ({ id }: Json) => data(await org.owner.get(`/workspaces/${id}`)).relationships["ssh-key"].data;
    expect(await shown(user)).toBeNull();
    expect(await shown(other)).toMatchObject({ id: kept.id });
    const after = await tags();
    expect(after[0]).not.toBe(before[0]);
    expect(after[1]).toBe(before[1]);
  });
});

describe("access", () => {
  it.each(["manage-vcs-settings"])("a team with '%s' writes", async (permission) => {
    const holder = await api.makeHolder(org.name, permission);
    const created = await create({}, holder);
    expect(created.status).toBe(201);
    const id = created.body.data.id;
    expect((await holder.patch(`/ssh-keys/${id}`, resource("ssh-keys", { name: unique("k") }))).status).toBe(200);
    expect((await holder.delete(`/ssh-keys/${id}`)).status).toBe(204);
  });

  it("an organization's token writes", async () => {
    expect((await create({}, await api.makeOrganizationToken(org.name))).status).toBe(201);
  });

  it("members and teams read, and get 403 with what is missing", async () => {
    const holder = await api.makeHolder(org.name, "manage-workspaces", "manage-agent-pools", "manage-teams");
    for (const caller of [await api.makeMember(org.name), holder, await api.makeTeamToken(holder.teamId)]) {
      expect((await caller.get(path())).status).toBe(200);
      expect(data(await caller.get(at()))).toEqual(key);
      const refused = [
        await create({}, caller),
        await caller.patch(at(), resource("ssh-keys", { name: "mine" })),
        await caller.delete(at()),
      ];
      for (const answer of refused) {
        expect(answer.status).toBe(403);
        expect(details(answer)[0]).toContain("'manage-vcs-settings' (can-update-ssh-keys)");
      }
    }
  });
});

describe("the audit log", () => {
  it("records each change and never the value", async () => {
    await update({ name: "Told", value: "another secret-of-the-key" });
    await org.owner.delete(at());
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`));
    const mine = events.filter((event: Json) => event.attributes["subject-id"] === key.id);
    expect(mine.map((event: Json) => event.attributes.action).sort()).toEqual([
      "ssh-keys.create",
      "ssh-keys.delete",
      "ssh-keys.update",
    ]);
    const changed = mine.find((event: Json) => event.attributes.action.endsWith("update")).attributes;
    expect(changed.before).toEqual(key.attributes);
    expect(changed.after).toEqual({ ...key.attributes, name: "Told", "replaced-secrets": ["value"] });
    expect(JSON.stringify(events)).not.toContain("secret-of-the-key");
  });
});
