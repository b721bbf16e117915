import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../../support/api.ts";
import { data, details, inProject, type Org, pointers, resource } from "../../../../support/builders.ts";

const api = useApi();
let org: Org;
let project: Json;
let workspace: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  project = await api.makeProject(org.name);
  workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
});

async function record(attributes: object): Promise<Json> {
  return api.makeTeamWorkspace(workspace.id, (await api.makeTeam(org.name)).id, attributes);
}
const patch = (id: string, attributes: object, headers?: Record<string, string>) =>
  org.owner.patch(`/team-workspaces/${id}`, resource("team-workspaces", attributes), headers);

const rich = {
  access: "custom",
  runs: "apply",
  variables: "write",
  "state-versions": "write",
  "policy-mocks": "read",
  "workspace-locking": true,
  "run-tasks": true,
  "policy-overrides": true,
};
const lowest = {
  runs: "read",
  variables: "none",
  "state-versions": "none",
  "policy-mocks": "none",
  "workspace-locking": false,
  "run-tasks": false,
  "policy-overrides": false,
};

describe("updateTeamWorkspace: levels", () => {
  it.each(["read", "plan", "write", "admin"])("%s takes what it implies", async (access) => {
    const made = await record(rich);
    const changed = data(await patch(made.id, { access }));
    expect(changed.attributes).toEqual((await record({ access })).attributes);
    expect(data(await org.owner.get(`/team-workspaces/${made.id}`))).toEqual(changed);
  });

  it("a level to custom takes the custom defaults for absent keys", async () => {
    const made = await record({ access: "admin" });
    const changed = data(await patch(made.id, { access: "custom", runs: "plan" }));
    expect(changed.attributes).toMatchObject({ ...lowest, access: "custom", runs: "plan" });
  });

  it.each([
    [{ access: "read", runs: "apply" }, "read"],
    [{ runs: "apply" }, "plan"],
  ])("422 for a level with a chosen permission: %j", async (attributes, level) => {
    const made = await record({ access: "plan" });
    const answer = await patch(made.id, attributes);
    expect(answer.status).toBe(422);
    expect(details(answer)).toEqual([
      `Runs is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`,
    ]);
  });

  it("422 for what is no level", async () => {
    const made = await record({ access: "plan" });
    for (const access of ["maintain", null, 1]) expect((await patch(made.id, { access })).status).toBe(422);
  });
});

describe("updateTeamWorkspace: custom, value / null / absent", () => {
  it.each(Object.entries(lowest))("%s = %j changes it and keeps the others", async (name, value) => {
    for (const level of [{}, { access: "custom" }]) {
      const made = await record(rich);
      const alias = name === "policy-mocks" ? { "sentinel-mocks": value } : {};
      const changed = data(await patch(made.id, { ...level, [name]: value }));
      expect(changed.attributes).toEqual({ ...made.attributes, [name]: value, ...alias });
    }
  });

  it.each(Object.keys(lowest))("%s = null is 422", async (name) => {
    const answer = await patch((await record(rich)).id, { [name]: null });
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([`/data/attributes/${name}`]);
  });

  it("absent: nothing changes, and no version is raised", async () => {
    const made = await record(rich);
    const answer = await patch(made.id, { access: "custom" });
    expect(data(answer)).toEqual(made);
    expect(answer.headers.get("etag")).toBe('"1"');
  });
});

describe("updateTeamWorkspace and deleteTeamWorkspace: who, and when", () => {
  it("404: unknown, and for whoever may see it but not manage it", async () => {
    const made = await record({ access: "read" });
    const writers = await api.makeTeam(org.name);
    await api.makeTeamWorkspace(workspace.id, writers.id, { access: "write" });
    const writer = await api.makeMember(org.name, [writers.id]);
    expect((await writer.get(`/team-workspaces/${made.id}`)).status).toBe(200);
    const body = resource("team-workspaces", { access: "read" });
    expect((await writer.patch(`/team-workspaces/${made.id}`, body)).status).toBe(404);
    expect((await writer.delete(`/team-workspaces/${made.id}`)).status).toBe(404);
    expect((await patch("tws-unknown", { access: "read" })).status).toBe(404);
    expect((await org.owner.delete("/team-workspaces/tws-unknown")).status).toBe(404);
  });

  it("leave audit events with before and after", async () => {
    const made = await record({ access: "write" });
    data(await patch(made.id, { access: "read" }));
    data(await org.owner.delete(`/team-workspaces/${made.id}`));
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=5`));
    const of = (action: string) => events.find((item: Json) => item.attributes.action === action).attributes;
    expect(of("team-workspaces.update").before).toMatchObject({ access: "write", workspace: workspace.id });
    expect(of("team-workspaces.update").after).toMatchObject({ access: "read" });
    expect(of("team-workspaces.delete").before).toMatchObject({ access: "read" });
    expect(of("team-workspaces.delete").after).toBeNull();
  });

  it("the record goes with its team and with its workspace", async () => {
    const fresh = await api.makeWorkspace(org.name);
    const team = await api.makeTeam(org.name);
    const one = await api.makeTeamWorkspace(fresh.id, team.id);
    const two = await api.makeTeamWorkspace(fresh.id, (await api.makeTeam(org.name)).id);
    data(await org.owner.delete(`/teams/${team.id}`));
    expect((await org.owner.get(`/team-workspaces/${one.id}`)).status).toBe(404);
    data(await org.owner.delete(`/workspaces/${fresh.id}`));
    expect((await org.owner.get(`/team-workspaces/${two.id}`)).status).toBe(404);
  });
});

describe("listTeamWorkspaces", () => {
  const list = (caller: Caller, id: string, query = "") =>
    caller.get(`/team-workspaces?filter[workspace][id]=${id}${query}`);

  it("400: without the filter, naming it", async () => {
    const answer = await org.owner.get("/team-workspaces");
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(["filter[workspace][id]"]);
  });

  it("404: unknown, empty, or not to be seen", async () => {
    const plain = await api.makeMember(org.name);
    expect((await list(org.owner, "ws-unknown")).status).toBe(404);
    expect((await list(org.owner, "")).status).toBe(404);
    expect((await list(plain, workspace.id)).status).toBe(404);
  });

  it("is complete and without pagination, unless a page is asked for", async () => {
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

  it("shows secret teams to those who may see them", async () => {
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
