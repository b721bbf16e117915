/**
 * A pool's scope is checked when a workspace or a project chooses it, and not again. GET
 * /organizations/:organization_name/agent-pools: pages, order, searches, and the workspaces that use a pool.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  inProject,
  type Member,
  type Org,
  pointers,
  resource,
  unique,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;

describe("scopes", () => {
  let project: string;
  let other: string;
  beforeAll(async () => {
    org = await api.makeOrganization();
    project = (await api.makeProject(org.name)).id;
    other = (await api.makeProject(org.name)).id;
  });

  type Scope = "allowed-workspaces" | "allowed-projects" | "excluded-workspaces";
  const lists = (scopes: Partial<Record<Scope, string[]>>) =>
    Object.fromEntries(
      Object.entries(scopes).map(([name, ids]) => [
        name,
        { data: ids.map((id) => ({ type: name.replace(/^.*-/, ""), id })) },
      ]),
    );
  const makePool = async (scoped: boolean, scopes: Partial<Record<Scope, string[]>> = {}): Promise<string> => {
    const body = resource("agent-pools", { name: unique("pool"), "organization-scoped": scoped }, lists(scopes));
    return data(await org.owner.post(`/organizations/${org.name}/agent-pools`, body)).id;
  };
  const inPool = (id: string) => ({ "execution-mode": "agent", "agent-pool-id": id });
  const create = (pool: string, projectId: string): Promise<Answer> =>
    org.owner.post(
      `/organizations/${org.name}/workspaces`,
      resource("workspaces", { name: unique("ws"), ...inPool(pool) }, inProject(projectId)),
    );
  const take = (workspace: Json, pool: string, relationships?: object): Promise<Answer> =>
    org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", inPool(pool), relationships));

  function expectRefused(answer: Answer): void {
    expect(answer.status, JSON.stringify(answer.body)).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/agent-pool-id"]);
    expect(details(answer)).toEqual([
      "Agent pool does not serve this workspace; add the workspace or its project to the pool's scope, or use another pool",
    ]);
  }

  describe("a workspace can choose a pool", () => {
    it("that is for the whole organization, unless it is excluded", async () => {
      const [one, two] = [
        await api.makeWorkspace(org.name, {}, inProject(project)),
        await api.makeWorkspace(org.name, {}, inProject(project)),
      ];
      const pool = await makePool(true, { "excluded-workspaces": [two.id] });
      expect((await take(one, pool)).status).toBe(200);
      expectRefused(await take(two, pool));
      expect((await create(pool, project)).status).toBe(201);
    });

    it("that lists it", async () => {
      const [one, two] = [
        await api.makeWorkspace(org.name, {}, inProject(project)),
        await api.makeWorkspace(org.name, {}, inProject(project)),
      ];
      const pool = await makePool(false, { "allowed-workspaces": [one.id] });
      expect((await take(one, pool)).status).toBe(200);
      expectRefused(await take(two, pool));
      expectRefused(await create(pool, project));
      expect(data(await org.owner.get(`/workspaces/${two.id}`)).attributes["execution-mode"]).toBe("remote");
    });

    it("that lists its project, unless it is excluded; also if the same request moves it there", async () => {
      const [one, two, elsewhere] = [
        await api.makeWorkspace(org.name, {}, inProject(project)),
        await api.makeWorkspace(org.name, {}, inProject(project)),
        await api.makeWorkspace(org.name, {}, inProject(other)),
      ];
      const pool = await makePool(false, { "allowed-projects": [project], "excluded-workspaces": [two.id] });
      expect((await take(one, pool)).status).toBe(200);
      expectRefused(await take(two, pool));
      expectRefused(await take(elsewhere, pool));
      expect((await create(pool, project)).status).toBe(201);
      expectRefused(await create(pool, other));
      expect((await take(elsewhere, pool, inProject(project))).status).toBe(200);
    });

    it("but not one with an empty scope", async () => {
      const workspace = await api.makeWorkspace(org.name, {}, inProject(project));
      const pool = await makePool(false);
      expectRefused(await take(workspace, pool));
      expectRefused(await create(pool, project));
    });

    it("and keeps it when the scope changes later, or it is moved away", async () => {
      const pool = await makePool(false, { "allowed-projects": [project] });
      const workspace = data(await create(pool, project));
      const narrowed = resource("agent-pools", {}, lists({ "allowed-projects": [] }));
      expect((await org.owner.patch(`/agent-pools/${pool}`, narrowed)).status).toBe(200);
      const kept = async () => {
        const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
        return [shown.attributes["execution-mode"], shown.relationships["agent-pool"].data.id];
      };
      const changes = [
        take(workspace, pool),
        org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", { description: "kept" })),
        org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", {}, inProject(other))),
      ];
      for (const answer of await Promise.all(changes)) expect(answer.status).toBe(200);
      expect(await kept()).toEqual(["agent", pool]);
      expect((await take(workspace, await makePool(true))).status).toBe(200);
      expectRefused(await take(workspace, pool));
    });

    it("422 for one that does not exist", async () => {
      const workspace = await api.makeWorkspace(org.name);
      expect(details(await take(workspace, "apool-0000000000000000"))).toEqual([
        "Agent pool does not exist in this organization",
      ]);
    });
  });

  describe("a project can choose a pool as its default", () => {
    const defaults = (pool: string) => ({ "default-execution-mode": "agent", "default-agent-pool-id": pool });
    const give = (id: string, pool: string) => org.owner.patch(`/projects/${id}`, resource("projects", defaults(pool)));
    const makeWith = (pool: string) =>
      org.owner.post(
        `/organizations/${org.name}/projects`,
        resource("projects", { name: unique("project"), ...defaults(pool) }),
      );

    function expectNotServed(answer: Answer): void {
      expect(answer.status, JSON.stringify(answer.body)).toBe(422);
      expect(pointers(answer)).toEqual(["/data/attributes/default-agent-pool-id"]);
      expect(details(answer)).toEqual([
        "Default agent pool does not serve this project; add the project to the pool's scope, or use another pool",
      ]);
    }

    it("that is for the whole organization, or lists it", async () => {
      const [everyones, own] = [await makePool(true), await makePool(false, { "allowed-projects": [project] })];
      for (const pool of [everyones, own]) expect((await give(project, pool)).status).toBe(200);
      expect((await makeWith(everyones)).status).toBe(201);
    });

    it("422 for one that lists others, or only some of its workspaces", async () => {
      const workspace = await api.makeWorkspace(org.name, {}, inProject(other));
      const named = await makePool(false, { "allowed-projects": [project], "allowed-workspaces": [workspace.id] });
      expectNotServed(await give(other, named));
      expectNotServed(await makeWith(named));
      expect(data(await org.owner.get(`/projects/${other}`)).attributes["default-execution-mode"]).toBe("remote");
    });

    it("and keeps it when the scope changes later", async () => {
      const pool = await makePool(false, { "allowed-projects": [other] });
      expect((await give(other, pool)).status).toBe(200);
      await org.owner.patch(`/agent-pools/${pool}`, resource("agent-pools", {}, lists({ "allowed-projects": [] })));
      const changed = await org.owner.patch(`/projects/${other}`, resource("projects", { description: "kept" }));
      expect(data(changed).relationships["default-agent-pool"].data.id).toBe(pool);
    });
  });
});

describe("list", () => {
  let project: Json;
  let workspace: Json;
  let elsewhere: Json;
  let member: Member;
  let reader: Member;
  let everyone: Json;
  let byWorkspace: Json;
  let byProject: Json;
  let user: Json;

  beforeAll(async () => {
    org = await api.makeOrganization();
    project = await api.makeProject(org.name, { name: "Alpha" });
    await api.makeProject(org.name, { name: "Beta" });
    workspace = await api.makeWorkspace(org.name, { name: "inside" }, inProject(project.id));
    elsewhere = await api.makeWorkspace(org.name, { name: "outside" });
    member = await api.makeMember(org.name);
    const team = await api.makeTeam(org.name);
    await api.grantProject(project.id, team.id, "read");
    reader = await api.makeMember(org.name, [team.id]);
    const link = (type: string, ...ids: string[]) => ({ data: ids.map((id) => ({ type, id })) });
    everyone = await create({ name: "everyone" }, { "excluded-workspaces": link("workspaces", elsewhere.id) });
    byWorkspace = await create(
      { name: "By-Workspace", "organization-scoped": false },
      { "allowed-workspaces": link("workspaces", elsewhere.id) },
    );
    byProject = await create(
      { name: "by-project", "organization-scoped": false },
      { "allowed-projects": link("projects", project.id) },
    );
    // Created within a millisecond, they would have no defined order.
    await api.database.write(async (tx) => {
      for (const [position, { id }] of [everyone, byWorkspace, byProject].entries()) {
        const createdAt = `2024-01-0${position + 1}T00:00:00.000Z`;
        await tx.db.updateTable("agentPools").set({ createdAt }).where("id", "=", id).execute();
      }
    });
    user = await api.makeWorkspace(
      org.name,
      { name: "user", "execution-mode": "agent", "agent-pool-id": byProject.id },
      inProject(project.id),
    );
  });

  const create = async (attributes: object, relationships: object): Promise<Json> =>
    data(
      await org.owner.post(
        `/organizations/${org.name}/agent-pools`,
        resource("agent-pools", attributes, relationships),
      ),
    );
  const list = (query = "", caller: Caller = org.owner) => caller.get(`/organizations/${org.name}/agent-pools${query}`);
  const ids = async (query: string, caller?: Caller) => data(await list(query, caller)).map((pool: Json) => pool.id);

  describe("listAgentPools", () => {
    it("sorts by name, ignoring case, or as requested", async () => {
      const byName = [byProject.id, byWorkspace.id, everyone.id];
      const byAge = [everyone.id, byWorkspace.id, byProject.id];
      expect(await ids("")).toEqual(byName);
      expect(await ids("?sort=name")).toEqual(byName);
      expect(await ids("?sort=-name")).toEqual(byName.toReversed());
      expect(await ids("?sort=created-at")).toEqual(byAge);
      expect(await ids("?sort=-created-at")).toEqual(byAge.toReversed());
      expect((await list("?sort=colour")).status).toBe(400);
    });

    it("shows pages with the total", async () => {
      const answer = await list("?page[size]=2&page[number]=2");
      expect(answer.body.data.map((pool: Json) => pool.id)).toEqual([everyone.id]);
      expect(answer.body.meta.pagination).toMatchObject({ "total-count": 3, "total-pages": 2, "current-page": 2 });
      const past = await list("?page[number]=999&page[size]=100");
      expect(past.body.data).toEqual([]);
      expect(past.body.meta.pagination).toMatchObject({ "total-count": 3, "current-page": 999 });
    });

    it("finds parts of names, ignoring case", async () => {
      expect(await ids("?q=BY-")).toEqual([byProject.id, byWorkspace.id]);
      expect(await ids("?q=%25")).toEqual([]);
      expect(await ids("?q=")).toHaveLength(3);
    });

    it("finds the pools that serve a workspace: directly, through its project, or as one that is not excluded", async () => {
      const serving = (name: string) => ids(`?filter[allowed_workspaces][name]=${name}`);
      expect(await serving("inside")).toEqual([byProject.id, everyone.id]);
      expect(await serving("outside")).toEqual([byWorkspace.id]);
      expect(await serving("nowhere")).toEqual([]);
      const answer = await list("?filter[allowed_workspaces][name]=inside&page[size]=1");
      expect(answer.body.meta.pagination["total-count"]).toBe(2);
    });

    it("finds the pools that serve a project", async () => {
      expect(await ids("?filter[allowed_projects][name]=alpha")).toEqual([byProject.id, everyone.id]);
      expect(await ids("?filter[allowed_projects][name]=Beta")).toEqual([everyone.id]);
      expect(await ids("?filter[allowed_projects][name]=Gamma")).toEqual([]);
    });

    it("does not reveal a workspace or project to callers who can't read it", async () => {
      for (const query of ["?filter[allowed_workspaces][name]=outside", "?filter[allowed_projects][name]=Beta"]) {
        expect(await ids(query, member)).toEqual([]);
        expect(await ids(query, reader)).toEqual([]);
      }
      expect(await ids("?filter[allowed_workspaces][name]=inside", reader)).toEqual([byProject.id, everyone.id]);
      expect(await ids("?filter[allowed_projects][name]=Alpha", reader)).toEqual([byProject.id, everyone.id]);
    });
  });

  describe("the workspaces that use a pool", () => {
    const shown = (caller: Caller, query = "") => caller.get(`/agent-pools/${byProject.id}${query}`);

    it("are listed if the caller can read them, and shown with include", async () => {
      for (const answer of [
        await shown(org.owner, "?include=workspaces"),
        await list("?include=workspaces&q=by-project", reader),
      ]) {
        expect(answer.status).toBe(200);
        const pool = [answer.body.data].flat()[0];
        expect(pool.relationships.workspaces.data).toEqual([{ id: user.id, type: "workspaces" }]);
        expect(answer.body.included.map((item: Json) => [item.type, item.id])).toEqual([["workspaces", user.id]]);
      }
      for (const caller of [org.owner, reader]) {
        const named = [data(await shown(caller)), data(await list("?q=by-project", caller))[0]];
        for (const pool of named)
          expect(pool.relationships.workspaces).toEqual({ data: [{ id: user.id, type: "workspaces" }] });
      }
      for (const answer of [
        await shown(member, "?include=workspaces"),
        await list("?include=workspaces&q=by-project", member),
      ]) {
        expect([answer.body.data].flat()[0].relationships.workspaces.data).toEqual([]);
        expect(answer.body.included).toEqual([]);
      }
    });

    it("and its scope are shown with include, each once, if the caller can read them", async () => {
      const all = "?include=workspaces,allowed_workspaces,allowed_projects,excluded_workspaces";
      const kindsOf = (answer: { body: Json }) => answer.body.included.map((item: Json) => [item.type, item.id]);
      const served = await org.owner.get(`/agent-pools/${byWorkspace.id}${all}`);
      expect(kindsOf(served)).toEqual([["workspaces", elsewhere.id]]);
      const [project] = byProject.relationships["allowed-projects"].data;
      expect(kindsOf(await shown(org.owner, "?include=allowed_projects"))).toEqual([["projects", project.id]]);
      expect(kindsOf(await shown(org.owner, all))).toEqual([
        ["workspaces", user.id],
        ["projects", project.id],
      ]);
      for (const id of [byWorkspace.id, byProject.id])
        expect(kindsOf(await member.get(`/agent-pools/${id}${all}`))).toEqual([]);
      expect((await list("?include=allowed_projects")).status).toBe(400);
    });

    it("are empty for an unused pool", async () => {
      const unused = (await list("?include=workspaces&q=everyone")).body;
      expect(unused.data[0].relationships.workspaces.data).toEqual([]);
      expect(unused.included).toEqual([]);
      expect(byProject.relationships.workspaces).toEqual({ data: [] });
      expect((await list("?include=agents")).status).toBe(400);
      expect(workspace.id).not.toBe(user.id);
    });

    it("are part of the ETag, which is the same for everybody", async () => {
      const etag = async (caller: Caller) => (await shown(caller)).headers.get("etag");
      const before = await etag(org.owner);
      expect(await etag(member)).toBe(before);
      const one = { "execution-mode": "agent", "agent-pool-id": byProject.id };
      const created = await api.makeWorkspace(org.name, one, inProject(project.id));
      const during = await etag(org.owner);
      expect(during).not.toBe(before);
      const stale = { "if-match": before ?? "" };
      const rename = resource("agent-pools", { name: "by-project" });
      expect((await org.owner.patch(`/agent-pools/${byProject.id}`, rename, stale)).status).toBe(412);
      expect((await org.owner.delete(`/workspaces/${created.id}`)).status).toBe(204);
      expect(await etag(member)).toBe(before);
    });
  });
});
