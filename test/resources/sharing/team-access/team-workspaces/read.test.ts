/** listTeamWorkspaces over HTTP. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../../support/api.ts";
import { data, inProject, type Org, pointers } from "../../../../support/builders.ts";

const api = useApi();
let org: Org;
let project: Json;
let workspace: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  project = await api.makeProject(org.name);
  workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
});

describe("listTeamWorkspaces", () => {
  const list = (caller: Caller, id: string, query = "") =>
    caller.get(`/team-workspaces?filter[workspace][id]=${id}${query}`);

  it("400: without the filter, naming it", async () => {
    const answer = await org.owner.get("/team-workspaces");
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(["filter[workspace][id]"]);
  });

  it("404: unknown, empty, or not visible to the caller", async () => {
    const plain = await api.makeMember(org.name);
    expect((await list(org.owner, "ws-unknown")).status).toBe(404);
    expect((await list(org.owner, "")).status).toBe(404);
    expect((await list(plain, workspace.id)).status).toBe(404);
  });

  it("is complete and without pagination, unless a page is requested", async () => {
    const fresh = await api.makeWorkspace(org.name);
    for (let count = 0; count < 23; count += 1)
      await api.makeTeamWorkspace(fresh.id, (await api.makeTeam(org.name)).id);
    const whole = await list(org.owner, fresh.id);
    expect(whole.body.data).toHaveLength(23);
    expect(whole.body).not.toHaveProperty("meta");
    expect(whole.body).not.toHaveProperty("links");
    for (const query of ["&page[number]=2", "&page[number]=2&page[size]=20"]) {
      const page = await list(org.owner, fresh.id, query);
      expect(page.body.data.map((item: Json) => item.id)).toEqual(
        whole.body.data.slice(20).map((item: Json) => item.id),
      );
      expect(page.body.meta.pagination).toMatchObject({ "current-page": 2, "page-size": 20, "total-count": 23 });
    }
    expect((await list(org.owner, fresh.id, "&page[size]=5")).body.data).toHaveLength(5);
    expect((await list(org.owner, fresh.id, "&page[size]=0")).status).toBe(400);
  });

  it("shows secret teams to callers who can see them", async () => {
    const fresh = await api.makeWorkspace(org.name, {}, inProject(project.id));
    const secretTeam = await api.makeTeam(org.name, { visibility: "secret" });
    const secret = await api.makeTeamWorkspace(fresh.id, secretTeam.id, { access: "read" });
    const onWorkspace = async (attributes: object) => {
      const team = await api.makeTeam(org.name);
      await api.makeTeamWorkspace(fresh.id, team.id, attributes);
      return api.makeMember(org.name, [team.id]);
    };
    const onProject = async (attributes: object) => {
      const team = await api.makeTeam(org.name);
      await api.makeTeamProject(project.id, team.id, attributes);
      return api.makeMember(org.name, [team.id]);
    };
    const cases: [Caller, boolean][] = [
      [org.owner, true],
      [await onWorkspace({ access: "read" }), false],
      [await onWorkspace({ access: "write" }), false],
      [await onWorkspace({ access: "admin" }), true],
      [await onProject({ access: "read" }), false],
      [await onProject({ access: "custom", "project-access": { teams: "read" } }), true],
      [await onProject({ access: "maintain" }), true],
      [await api.makeHolder(org.name, "read-workspaces"), false],
      [await api.makeHolder(org.name, "read-workspaces", "access-secret-teams"), true],
      [await api.makeHolder(org.name, "manage-workspaces"), true],
      [await api.makeMember(org.name, [secretTeam.id]), true],
      [await api.makeTeamToken(secretTeam.id), true],
    ];
    for (const [position, [caller, expected]] of cases.entries()) {
      const ids = data(await list(caller, fresh.id)).map((item: Json) => item.id);
      expect(ids.includes(secret.id), `case ${position}`).toBe(expected);
      expect((await caller.get(`/team-workspaces/${secret.id}`)).status).toBe(expected ? 200 : 404);
      const paged = await list(caller, fresh.id, "&page[size]=100");
      expect(paged.body.meta.pagination["total-count"]).toBe(ids.length);
    }
  });
});
