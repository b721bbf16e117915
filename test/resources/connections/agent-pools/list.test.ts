/** GET /organizations/:organization_name/agent-pools: pages, order, searches, and the workspaces that use a pool. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  grantProject,
  inProject,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeWorkspace,
  type Member,
  type Org,
  resource,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;
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
  org = await makeOrganization(api);
  project = await makeProject(api, org.name, { name: "Alpha" });
  await makeProject(api, org.name, { name: "Beta" });
  workspace = await makeWorkspace(api, org.name, { name: "inside" }, inProject(project.id));
  elsewhere = await makeWorkspace(api, org.name, { name: "outside" });
  member = await makeMember(api, org.name);
  const team = await makeTeam(api, org.name);
  await grantProject(api, org.id, project.id, team.id, "read");
  reader = await makeMember(api, org.name, [team.id]);
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
  // Made within a millisecond, they would be in no certain order.
  await api.database.write(async (tx) => {
    for (const [position, { id }] of [everyone, byWorkspace, byProject].entries()) {
      const createdAt = `2024-01-0${position + 1}T00:00:00.000Z`;
      await tx.db.updateTable("agentPools").set({ createdAt }).where("id", "=", id).execute();
    }
  });
  user = await makeWorkspace(
    api,
    org.name,
    { name: "user", "execution-mode": "agent", "agent-pool-id": byProject.id },
    inProject(project.id),
  );
});

const create = async (attributes: object, relationships: object): Promise<Json> =>
  data(
    await org.owner.post(`/organizations/${org.name}/agent-pools`, resource("agent-pools", attributes, relationships)),
  );
const list = (query = "", caller: Caller = org.owner) => caller.get(`/organizations/${org.name}/agent-pools${query}`);
const ids = async (query: string, caller?: Caller) => data(await list(query, caller)).map((pool: Json) => pool.id);

describe("listAgentPools", () => {
  it("goes by name, ignoring case, or as asked", async () => {
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

  it("finds the pools that serve a workspace: by itself, by its project, or all but the excluded", async () => {
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

  it("does not tell whoever can't read a workspace or a project that it is there", async () => {
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

  it("are named as far as the caller may read them, asked for or not, and shown with include", async () => {
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

  it("and those whom it serves are shown with include, each once, as far as the caller may read them", async () => {
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

  it("are none for a pool that nobody uses", async () => {
    const unused = (await list("?include=workspaces&q=everyone")).body;
    expect(unused.data[0].relationships.workspaces.data).toEqual([]);
    expect(unused.included).toEqual([]);
    expect(byProject.relationships.workspaces).toEqual({ data: [] });
    expect((await list("?include=agents")).status).toBe(400);
    expect(workspace.id).not.toBe(user.id);
  });

  it("are told apart by the ETag, which is everybody's", async () => {
    const etag = async (caller: Caller) => (await shown(caller)).headers.get("etag");
    const before = await etag(org.owner);
    expect(await etag(member)).toBe(before);
    const one = { "execution-mode": "agent", "agent-pool-id": byProject.id };
    const made = await makeWorkspace(api, org.name, one, inProject(project.id));
    const during = await etag(org.owner);
    expect(during).not.toBe(before);
    const stale = { "if-match": before ?? "" };
    const rename = resource("agent-pools", { name: "by-project" });
    expect((await org.owner.patch(`/agent-pools/${byProject.id}`, rename, stale)).status).toBe(412);
    expect((await org.owner.delete(`/workspaces/${made.id}`)).status).toBe(204);
    expect(await etag(member)).toBe(before);
  });
});
