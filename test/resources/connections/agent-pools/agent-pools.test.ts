/** Agent pools over HTTP: creation, update and deletion, and what is refused. */
import { authorize } from "../../../../src/access/granted.ts";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { removeScopeTarget } from "../../../../src/resources/connections/agent-pools/writes.ts";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let project: Json;
let workspace: Json;
let other: Json;
let pool: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  project = await api.makeProject(org.name);
  workspace = await api.makeWorkspace(org.name);
  other = await api.makeWorkspace(org.name);
});
beforeEach(async () => {
  pool = data(await create({}));
});

const kinds = ["allowed-workspaces", "allowed-projects", "excluded-workspaces"] as const;
const typeOf = (kind: string) => (kind === "allowed-projects" ? "projects" : "workspaces");
const links = (kind: string, ...ids: string[]) => ({ [kind]: { data: ids.map((id) => ({ type: typeOf(kind), id })) } });
const targetOf = (kind: string): string => (kind === "allowed-projects" ? project.id : workspace.id);
const idsOf = (document: Json, kind: string): string[] =>
  document.relationships[kind].data.map((item: Json) => item.id);

const path = () => `/organizations/${org.name}/agent-pools`;
const create = (attributes: object, relationships: object = {}, caller: Caller = org.owner): Promise<Answer> =>
  caller.post(path(), resource("agent-pools", { name: unique("pool"), ...attributes }, relationships));
const at = () => `/agent-pools/${pool.id}`;
const shown = async () => data(await org.owner.get(at()));
const etag = async () => (await org.owner.get(at())).headers.get("etag") ?? "";
const update = (attributes: object, relationships: object = {}) =>
  org.owner.patch(at(), resource("agent-pools", attributes, relationships));

function expectRefused(answer: Answer, pointer: string, detail: string): void {
  expect(answer.status).toBe(422);
  expect(pointers(answer)).toEqual([pointer]);
  expect(details(answer)).toEqual([detail]);
}

describe("createAgentPool", () => {
  it("responds with 201 and the document that show and list return", async () => {
    const name = unique("Pool");
    const answer = await create(
      { name, "organization-scoped": false },
      {
        ...links("allowed-workspaces", workspace.id, other.id, workspace.id),
        ...links("allowed-projects", project.id),
        ...links("excluded-workspaces", other.id),
      },
    );
    expect(answer.status).toBe(201);
    const { id } = answer.body.data;
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^apool-/),
      type: "agent-pools",
      attributes: {
        name,
        "organization-scoped": false,
        "agent-count": 0,
        "created-at": expect.stringMatching(/Z$/),
      },
      relationships: {
        organization: {
          data: { id: org.name, type: "organizations" },
          links: { related: `/api/v2/organizations/${org.name}` },
        },
        "allowed-workspaces": {
          data: [workspace.id, other.id].sort().map((item) => ({ id: item, type: "workspaces" })),
        },
        "allowed-projects": { data: [{ id: project.id, type: "projects" }] },
        "excluded-workspaces": { data: [{ id: other.id, type: "workspaces" }] },
        workspaces: { data: [] },
      },
      links: { self: `/api/v2/agent-pools/${id}` },
    });
    expect(data(await org.owner.get(`/agent-pools/${id}`))).toEqual(answer.body.data);
    expect(data(await org.owner.get(`${path()}?q=${name}`))).toEqual([answer.body.data]);
  });

  it("serves the whole organization by default", () => {
    expect(pool.attributes["organization-scoped"]).toBe(true);
    for (const kind of kinds) expect(idsOf(pool, kind)).toEqual([]);
  });

  it.each([
    ["name", "", "Name can't be blank"],
    ["name", undefined, "Name can't be blank"],
    ["name", null, "Name must be a string"],
    ["name", "x".repeat(91), "Name is too long (maximum is 90 characters)"],
    ["name", "a b", "Name may only contain letters, numbers, dashes and underscores"],
    ["organization-scoped", null, "Organization scoped must be true or false"],
    ["organization-scoped", "no", "Organization scoped must be true or false"],
  ])("refuses the %s %#", async (attribute, value, detail) => {
    expectRefused(await create({ [attribute]: value }), `/data/attributes/${attribute}`, detail);
  });

  it("refuses a name that is taken, ignoring case, and accepts it in another organization", async () => {
    const { name } = pool.attributes;
    for (const taken of [name, name.toUpperCase()])
      expectRefused(await create({ name: taken }), "/data/attributes/name", "Name has already been taken");
    const elsewhere = await api.makeOrganization();
    const answer = await elsewhere.owner.post(
      `/organizations/${elsewhere.name}/agent-pools`,
      resource("agent-pools", { name }),
    );
    expect(answer.status).toBe(201);
  });

  it("gives a name to one of many concurrent requests", async () => {
    const name = unique("race");
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ name })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(422)]);
  });
});

describe.each(kinds)("%s", (kind) => {
  it("refuses what is unknown, another organization's, or of the other type, with its position", async () => {
    const elsewhere = await api.makeOrganization();
    const foreign =
      kind === "allowed-projects"
        ? (await api.makeProject(elsewhere.name)).id
        : (await api.makeWorkspace(elsewhere.name)).id;
    const swapped = kind === "allowed-projects" ? workspace.id : project.id;
    const name = kind.charAt(0).toUpperCase() + kind.slice(1).replace("-", " ");
    for (const id of ["ws-0000000000000000", foreign, swapped]) {
      const pointer = `/data/relationships/${kind}/data/1/id`;
      const detail = `${name} names '${id}', which is not in this organization`;
      expectRefused(await create({}, links(kind, targetOf(kind), id)), pointer, detail);
      expectRefused(await update({}, links(kind, targetOf(kind), id)), pointer, detail);
    }
    expect(await shown()).toEqual(pool);
  });

  it("refuses another shape", async () => {
    for (const value of [{ data: null }, { data: {} }, { data: [{ type: "teams", id: "team-1" }] }, {}]) {
      expect((await create({}, { [kind]: value })).status).toBe(422);
      expect((await update({}, { [kind]: value })).status).toBe(422);
    }
    const many = Array.from({ length: 1001 }, (_, number) => `ws-${number}`);
    expect((await update({}, links(kind, ...many))).status).toBe(422);
  });

  it("is replaced if it is sent, and otherwise kept", async () => {
    const before = await etag();
    const answer = await update({}, links(kind, targetOf(kind)));
    expect(answer.status).toBe(200);
    expect(idsOf(answer.body.data, kind)).toEqual([targetOf(kind)]);
    expect(await shown()).toEqual(answer.body.data);
    expect(await etag()).not.toBe(before);
    const renamed = data(await update({ name: unique("renamed") }));
    for (const each of kinds) expect(idsOf(renamed, each)).toEqual(each === kind ? [targetOf(kind)] : []);
    const same = await etag();
    await update({}, links(kind, targetOf(kind), targetOf(kind)));
    expect(await etag()).toBe(same);
    expect(idsOf(data(await update({}, links(kind))), kind)).toEqual([]);
    expect(idsOf(await shown(), kind)).toEqual([]);
  });

  it("accepts whole objects, and ignores everything but the id", async () => {
    const whole = { type: typeOf(kind), id: targetOf(kind), attributes: { name: "x", permissions: {} }, links: {} };
    expect(idsOf(data(await update({}, { [kind]: { data: [whole] } })), kind)).toEqual([targetOf(kind)]);
  });

  it("loses deleted targets", async () => {
    await update({}, links(kind, targetOf(kind)));
    const before = await etag();
    const check = { thing: typeOf(kind), permission: "can-destroy", visible: true, allowed: true, needs: "" } as const;
    const gone = authorize({ id: targetOf(kind), organizationId: org.id }, check);
    await api.database.write((tx) => removeScopeTarget(tx, gone));
    expect(idsOf(await shown(), kind)).toEqual([]);
    expect(await etag()).not.toBe(before);
  });
});

describe("updateAgentPool: a value, null, absent", () => {
  it.each([
    ["name", "renamed-by-value"],
    ["organization-scoped", false],
  ])("%s: a value is set, and the rest stays", async (attribute, value) => {
    const answer = await update({ [attribute]: value });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ ...pool, attributes: { ...pool.attributes, [attribute]: value } });
    expect(await shown()).toEqual(answer.body.data);
  });

  it.each([
    ["name", "Name must be a string"],
    ["organization-scoped", "Organization scoped must be true or false"],
  ])("%s: null is refused", async (attribute, detail) => {
    expectRefused(await update({ [attribute]: null }), `/data/attributes/${attribute}`, detail);
  });

  it("absent or read-only attributes change nothing", async () => {
    const before = await etag();
    expect(data(await update({ "agent-count": 4 }))).toEqual(pool);
    expect(await etag()).toBe(before);
  });

  it("refuses a taken name together with unknown targets, and accepts its own name in another case", async () => {
    const taken = data(await create({})).attributes.name.toUpperCase();
    const answer = await update({ name: taken }, links("allowed-workspaces", "ws-none"));
    expect(pointers(answer)).toEqual(["/data/attributes/name", "/data/relationships/allowed-workspaces/data/0/id"]);
    const mine = pool.attributes.name.toUpperCase();
    expect(data(await update({ name: mine })).attributes.name).toBe(mine);
  });
});

describe("deleteAgentPool", () => {
  it("removes it with its lists", async () => {
    await update({}, links("allowed-workspaces", workspace.id));
    expect((await org.owner.delete(at())).status).toBe(204);
    expect((await org.owner.get(at())).status).toBe(404);
    expect((await org.owner.delete(at())).status).toBe(404);
    const left = await api.database.reader.db
      .selectFrom("agentPoolScopes")
      .selectAll()
      .where("agentPoolId", "=", pool.id)
      .execute();
    expect(left).toEqual([]);
  });

  it("is refused while a workspace uses it", async () => {
    const user = await api.makeWorkspace(org.name, { "execution-mode": "agent", "agent-pool-id": pool.id });
    const answer = await org.owner.delete(at());
    expect(answer.status).toBe(409);
    expect(details(answer)[0]).toContain("1 workspace uses this agent pool");
    data(await org.owner.patch(`/workspaces/${user.id}`, resource("workspaces", { "execution-mode": "local" })));
    expect((await org.owner.delete(at())).status).toBe(204);
  });

  it("leaves no workspace with a deleted pool", async () => {
    for (let round = 0; round < 8; round += 1) {
      const contested = data(await create({}));
      const attributes = { name: unique("ws"), "execution-mode": "agent", "agent-pool-id": contested.id };
      const [deleted, created] = await Promise.all([
        org.owner.delete(`/agent-pools/${contested.id}`),
        org.owner.post(`/organizations/${org.name}/workspaces`, resource("workspaces", attributes)),
      ]);
      expect([
        [204, 422],
        [204, 409],
        [409, 201],
      ]).toContainEqual([deleted.status, created.status]);
    }
  });

  it("is refused while it is a project's default", async () => {
    const defaults = { "default-execution-mode": "agent", "default-agent-pool-id": pool.id };
    const project = await api.makeProject(org.name, defaults);
    const answer = await org.owner.delete(at());
    expect(answer.status).toBe(409);
    expect(details(answer)[0]).toBe(
      "The agent pool is the default of 1 project. Choose another default for them, then delete the pool.",
    );
    data(await org.owner.patch(`/projects/${project.id}`, resource("projects", { "default-execution-mode": "local" })));
    expect((await org.owner.delete(at())).status).toBe(204);
  });

  it("leaves no project with a deleted default", async () => {
    const project = await api.makeProject(org.name);
    for (let round = 0; round < 8; round += 1) {
      const contested = data(await create({}));
      const defaults = { "default-execution-mode": "agent", "default-agent-pool-id": contested.id };
      const [deleted, changed] = await Promise.all([
        org.owner.delete(`/agent-pools/${contested.id}`),
        org.owner.patch(`/projects/${project.id}`, resource("projects", defaults)),
      ]);
      expect([
        [204, 422],
        [409, 200],
      ]).toContainEqual([deleted.status, changed.status]);
    }
  });

  it("is refused while it is the organization's default", async () => {
    const setDefault = (id: string | null) =>
      api.database.write((tx) =>
        tx.db.updateTable("organizations").set({ defaultAgentPoolId: id }).where("id", "=", org.id).execute(),
      );
    await setDefault(pool.id);
    const answer = await org.owner.delete(at());
    expect(answer.status).toBe(409);
    expect(details(answer)[0]).toContain("default");
    await setDefault(null);
    expect((await org.owner.delete(at())).status).toBe(204);
  });
});

describe("access", () => {
  it("a team with 'manage-agent-pools' and the organization's token write", async () => {
    const holder = await api.makeHolder(org.name, "manage-agent-pools");
    for (const caller of [holder, await api.makeOrganizationToken(org.name)]) {
      const created = await create({}, links("allowed-workspaces", workspace.id), caller);
      expect(created.status).toBe(201);
      const one = `/agent-pools/${created.body.data.id}`;
      expect((await caller.patch(one, resource("agent-pools", { name: unique("p") }))).status).toBe(200);
      expect((await caller.delete(one)).status).toBe(204);
    }
  });

  it("members and teams read, and get 403 with what is missing", async () => {
    const holder = await api.makeHolder(org.name, "manage-workspaces", "manage-vcs-settings", "manage-teams");
    for (const caller of [await api.makeMember(org.name), holder, await api.makeTeamToken(holder.teamId)]) {
      expect((await caller.get(path())).status).toBe(200);
      expect(data(await caller.get(at()))).toEqual(pool);
      const refused = [
        await create({}, {}, caller),
        await caller.patch(at(), resource("agent-pools", { name: "mine" })),
        await caller.delete(at()),
      ];
      for (const answer of refused) {
        expect(answer.status).toBe(403);
        expect(details(answer)[0]).toContain("'manage-agent-pools' (can-update-agent-pools)");
      }
    }
  });
});

describe("the audit log", () => {
  it("records each change, with the targets that the pool serves", async () => {
    await update({ "organization-scoped": false }, links("allowed-projects", project.id));
    await org.owner.delete(at());
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`));
    const mine = events
      .map((event: Json) => event.attributes)
      .filter((event: Json) => event["subject-id"] === pool.id)
      .sort((left: Json, right: Json) => (left.action < right.action ? -1 : 1));
    const { "agent-count": _, ...attributes } = pool.attributes;
    const none = { "allowed-workspaces": [], "allowed-projects": [], "excluded-workspaces": [] };
    const before = { ...attributes, ...none };
    const after = { ...before, "organization-scoped": false, "allowed-projects": [project.id] };
    expect(mine.map(({ action, before: was, after: is }: Json) => ({ action, was, is }))).toEqual([
      { action: "agent-pools.create", was: null, is: before },
      { action: "agent-pools.delete", was: after, is: null },
      { action: "agent-pools.update", was: before, is: after },
    ]);
  });
});
