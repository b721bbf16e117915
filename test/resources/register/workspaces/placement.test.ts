/** The project of a workspace: where it is created, and how an update moves it. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Member, type Org, resource, unique } from "../../../support/builders.ts";
import { bothPaths, faults, pathById } from "./support.ts";

const api = useApi();
let org: Org;
let other: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
  other = await api.makeOrganization();
});

const create = (caller: Caller, relationships?: object) =>
  caller.post(`/organizations/${org.name}/workspaces`, resource("workspaces", { name: unique("ws") }, relationships));
const count = async (id: string) => data(await api.admin.get(`/projects/${id}`)).attributes["workspace-count"];
const unknown = [["/data/relationships/project", "Project does not exist in this organization"]];

interface TeamMember extends Member {
  readonly teamId: string;
}
const member = async (...grants: [projectId: string, level: "read" | "write" | "maintain" | "admin"][]) => {
  const team = await api.makeTeam(org.name);
  for (const [projectId, level] of grants) await api.grantProject(projectId, team.id, level);
  const person: TeamMember = { ...(await api.makeMember(org.name, [team.id])), teamId: team.id };
  return person;
};

describe("createWorkspace: project", () => {
  it("is the named project, or else the default one; its counter goes up", async () => {
    const project = await api.makeProject(org.name);
    const before = await count(org.defaultProjectId);
    expect(data(await create(org.owner)).relationships.project.data.id).toBe(org.defaultProjectId);
    expect(data(await create(org.owner, { project: null })).relationships.project.data.id).toBe(org.defaultProjectId);
    expect(await count(org.defaultProjectId)).toBe(before + 2);
    expect(data(await create(org.owner, inProject(project.id))).relationships.project.data.id).toBe(project.id);
    expect(await count(project.id)).toBe(1);
  });

  it("an unknown one is 422", async () => {
    const answer = await create(org.owner, inProject("prj-unknown"));
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual(unknown);
  });

  it("an unknown one also reports a taken name, but only to callers who can read every workspace", async () => {
    const taken = await api.makeWorkspace(org.name);
    const body = resource("workspaces", { name: taken.attributes.name }, inProject("prj-unknown"));
    const path = `/organizations/${org.name}/workspaces`;
    const member = await api.makeMember(org.name);
    expect((await member.post(path, body)).body.errors).toHaveLength(1);
    expect((await org.owner.post(path, body)).body.errors).toHaveLength(2);
  });

  it("one of another organization is unknown, also to a site admin", async () => {
    for (const caller of [org.owner, api.admin]) {
      const answer = await create(caller, inProject(other.defaultProjectId));
      expect(answer.status).toBe(422);
      expect(faults(answer)).toEqual(unknown);
    }
    expect(await count(other.defaultProjectId)).toBe(0);
  });

  it("one that the caller can't read is unknown too", async () => {
    const [hidden, open] = [await api.makeProject(org.name), await api.makeProject(org.name)];
    const maintainer = await member([open.id, "maintain"]);
    const answer = await create(maintainer, inProject(hidden.id));
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual(unknown);
    expect((await create(maintainer, inProject(open.id))).status).toBe(201);
  });

  it.each<["read" | "write" | "maintain" | "admin", number]>([
    ["read", 403],
    ["write", 403],
    ["maintain", 201],
    ["admin", 201],
  ])("with %s on it: %i", async (level, status) => {
    const project = await api.makeProject(org.name);
    const answer = await create(await member([project.id, level]), inProject(project.id));
    expect(answer.status).toBe(status);
    if (status === 403) expect(details(answer)[0]).toContain("'create' on the project's workspaces");
    expect(await count(project.id)).toBe(status === 201 ? 1 : 0);
  });

  it("the default project needs 'create' as well", async () => {
    const plain = await api.makeMember(org.name);
    const answer = await create(plain);
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toContain("can-create-workspace");
    expect((await create(await member([org.defaultProjectId, "maintain"]))).status).toBe(201);
  });

  it.each(["manage-workspaces", "manage-projects"])("%s creates everywhere", async (permission) => {
    const holder = await api.makeHolder(org.name, permission);
    const project = await api.makeProject(org.name);
    expect((await create(holder, inProject(project.id))).status).toBe(201);
    expect((await create(holder)).status).toBe(201);
  });

  it.each(["read-projects", "read-workspaces", "manage-teams"])("%s creates nowhere", async (permission) => {
    const holder = await api.makeHolder(org.name, permission);
    expect((await create(holder)).status).toBe(403);
  });

  it.each([
    [{ project: { data: null } }],
    [{ project: { data: { type: "teams", id: "x" } } }],
    [{ project: { data: { type: "projects" } } }],
    [{ project: { data: [] } }],
    [{ project: {} }],
    [{ project: "prj-x" }],
  ])("%j is refused", async (relationships) => {
    const answer = await create(org.owner, relationships);
    expect(answer.status).toBe(422);
    expect(faults(answer).map(([pointer]) => pointer)).toEqual(["/data/relationships/project/data"]);
  });
});

describe.each(bothPaths)("updateWorkspace %s: project", (_, pathOf) => {
  let source: Json;
  let target: Json;
  let workspace: Json;
  beforeEach(async () => {
    [source, target] = [await api.makeProject(org.name), await api.makeProject(org.name)];
    workspace = await api.makeWorkspace(org.name, {}, inProject(source.id));
  });
  const move = (caller: Caller, projectId = target.id, attributes: object = {}) =>
    caller.patch(pathOf(workspace), resource("workspaces", attributes, inProject(projectId)));
  const where = async () => data(await api.admin.get(pathById(workspace))).relationships.project.data.id;

  it("moves it, and updates the counters of both projects", async () => {
    const answer = await move(org.owner, target.id, { description: "moved" });
    expect(answer.status).toBe(200);
    expect(answer.body.data.relationships.project).toEqual({
      data: { id: target.id, type: "projects" },
      links: { related: `/api/v2/projects/${target.id}` },
    });
    expect(answer.body.data.attributes.description).toBe("moved");
    expect(data(await org.owner.get(pathById(workspace)))).toEqual(answer.body.data);
    expect([await count(source.id), await count(target.id)]).toEqual([0, 1]);
  });

  it("omitted or unchanged means no move, for callers who can update it", async () => {
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, team.id, "admin");
    const admin = await api.makeMember(org.name, [team.id]);
    const same = await move(admin, source.id, { description: "stays" });
    expect(same.status).toBe(200);
    expect(same.body.data.attributes.description).toBe("stays");
    expect([await count(source.id), await where()]).toEqual([1, source.id]);
  });

  it.each<[string, () => Promise<Caller>, number]>([
    ["an owner", async () => org.owner, 200],
    ["a site admin", async () => api.admin, 200],
    ["the organization's token", () => api.makeOrganizationToken(org.name), 200],
    ["the owners team's token", () => api.makeTeamToken(org.ownersTeamId), 200],
    ["a holder of manage-projects", () => api.makeHolder(org.name, "manage-projects"), 200],
    ["admin on both", () => member([source.id, "admin"], [target.id, "admin"]), 200],
    ["a holder of manage-workspaces", () => api.makeHolder(org.name, "manage-workspaces"), 403],
    ["admin on the source, read on the target", () => member([source.id, "admin"], [target.id, "read"]), 403],
    ["admin on the source, maintain on the target", () => member([source.id, "admin"], [target.id, "maintain"]), 403],
    ["maintain on the source, admin on the target", () => member([source.id, "maintain"], [target.id, "admin"]), 403],
    ["read on the source, admin on the target", () => member([source.id, "read"], [target.id, "admin"]), 403],
    ["admin on the source alone", () => member([source.id, "admin"]), 422],
    ["admin on the target alone", () => member([target.id, "admin"]), 404],
    ["a plain member", () => api.makeMember(org.name), 404],
  ])("%s: %#", async (_who, make, status) => {
    const answer = await move(await make());
    expect(answer.status).toBe(status);
    if (status === 422) expect(faults(answer)).toEqual(unknown);
    expect(await where()).toBe(status === 200 ? target.id : source.id);
    expect([await count(source.id), await count(target.id)]).toEqual(status === 200 ? [0, 1] : [1, 0]);
  });

  it("an admin of only the workspace can't move it to another project", async () => {
    const admin = await member([target.id, "admin"]);
    await api.grantWorkspace(workspace.id, admin.teamId, "admin");
    const answer = await move(admin);
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toContain("admin access to its project and to the destination project");
  });

  it("grants of several teams add up", async () => {
    const [one, two] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    await api.grantProject(source.id, one.id, "admin");
    await api.grantProject(target.id, two.id, "admin");
    expect((await move(await api.makeMember(org.name, [one.id, two.id]))).status).toBe(200);
  });

  it("an unknown project, and one of another organization, are 422, and nothing else changes", async () => {
    for (const id of ["prj-unknown", other.defaultProjectId]) {
      const answer = await move(api.admin, id, { description: "x" });
      expect(answer.status).toBe(422);
      expect(faults(answer)).toEqual(unknown);
    }
    expect(data(await org.owner.get(pathById(workspace)))).toEqual(workspace);
  });

  it("concurrent moves keep the counters correct", async () => {
    await Promise.all(
      Array.from({ length: 8 }, (_item, number) => move(org.owner, number % 2 === 0 ? target.id : source.id)),
    );
    const now = await where();
    expect([await count(source.id), await count(target.id)]).toEqual(now === source.id ? [1, 0] : [0, 1]);
  });
});
