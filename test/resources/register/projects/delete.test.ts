/** GET and DELETE /projects/:project_id, and the default project. */
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, details, type Org, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

const setWorkspaceCount = (projectId: string, workspaceCount: number) =>
  api.database.write((tx) =>
    tx.db.updateTable("projects").set({ workspaceCount }).where("id", "=", projectId).execute(),
  );

describe("showProject", () => {
  it("shows how many workspaces and teams the project has", async () => {
    const project = await api.makeProject(org.name);
    await setWorkspaceCount(project.id, 12);
    for (const level of ["read", "admin"] as const) {
      await api.grantProject(project.id, (await api.makeTeam(org.name)).id, level);
    }
    const answer = await org.owner.get(`/projects/${project.id}`);
    expect(answer.status).toBe(200);
    expect(answer.body.data.attributes).toEqual({
      ...project.attributes,
      "workspace-count": 12,
      "team-count": 2,
    });
  });

  it("refuses an include with 400", async () => {
    const project = await api.makeProject(org.name);
    const answer = await org.owner.get(`/projects/${project.id}?include=nonsense`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].detail).toContain("include parameter");
    expect(answer.body.errors[0].source).toEqual({ parameter: "include" });
  });
});

describe("deleteProject: deleted", () => {
  it("answers 204 without a body, and the project is gone", async () => {
    const project = await api.makeProject(org.name);
    const answer = await org.owner.delete(`/projects/${project.id}`);
    expect(answer.status).toBe(204);
    expect(answer.body).toBeUndefined();
    for (const again of [
      await org.owner.get(`/projects/${project.id}`),
      await org.owner.delete(`/projects/${project.id}`),
      await org.owner.patch(`/projects/${project.id}`, resource("projects", { description: "x" })),
    ]) {
      expect(again.status).toBe(404);
    }
  });

  it("keeps the other projects and a correct total", async () => {
    const own = await api.makeOrganization();
    const [first, second] = [await api.makeProject(own.name), await api.makeProject(own.name)];
    data(await own.owner.delete(`/projects/${first.id}`));
    const { body } = await own.owner.get(`/organizations/${own.name}/projects?sort=name`);
    expect(body.data.map((project: { id: string }) => project.id)).toEqual([own.defaultProjectId, second.id]);
    expect(body.meta["status-counts"]).toEqual({ total: 2, matching: 2 });
  });

  it("deletes the teams' access, not the teams", async () => {
    const project = await api.makeProject(org.name);
    const team = await api.makeTeam(org.name);
    const grantId = await api.grantProject(project.id, team.id, "read");
    data(await org.owner.delete(`/projects/${project.id}`));
    const left = await api.database.reader.db
      .selectFrom("teamProjects")
      .select("id")
      .where("id", "=", grantId)
      .execute();
    expect(left).toEqual([]);
    expect((await org.owner.get(`/teams/${team.id}`)).status).toBe(200);
  });

  it("ignores a body", async () => {
    const project = await api.makeProject(org.name);
    expect((await org.owner.delete(`/projects/${project.id}`, { anything: true })).status).toBe(204);
  });

  it("of many concurrent requests, one succeeds", async () => {
    const project = await api.makeProject(org.name);
    const answers = await Promise.all(Array.from({ length: 6 }, () => org.owner.delete(`/projects/${project.id}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404, 404, 404]);
  });
});

describe("deleteProject: 409", () => {
  it.each([1, 250])("while it has %i workspaces", async (count) => {
    const project = await api.makeProject(org.name);
    await setWorkspaceCount(project.id, count);
    const answer = await org.owner.delete(`/projects/${project.id}`);
    expect(answer.status).toBe(409);
    expect(answer.body.errors).toEqual([{ status: "409", title: "conflict", detail: expect.any(String) }]);
    expect(details(answer)[0]).toContain(`${count} workspace`);
    expect((await org.owner.get(`/projects/${project.id}`)).status).toBe(200);
    await setWorkspaceCount(project.id, 0);
    expect((await org.owner.delete(`/projects/${project.id}`)).status).toBe(204);
  });

  it("for the default project, empty or not, for any caller", async () => {
    for (const caller of [org.owner, api.admin]) {
      const answer = await caller.delete(`/projects/${org.defaultProjectId}`);
      expect(answer.status).toBe(409);
      expect(answer.body.errors[0].title).toBe("conflict");
      expect(details(answer)[0]).toContain("default project");
    }
    expect((await org.owner.get(`/projects/${org.defaultProjectId}`)).status).toBe(200);
  });

  it("comes after 403: callers without the permission don't learn the reason", async () => {
    const team = await api.makeTeam(org.name);
    await api.grantProject(org.defaultProjectId, team.id, "maintain");
    const member = await api.makeMember(org.name, [team.id]);
    expect((await member.delete(`/projects/${org.defaultProjectId}`)).status).toBe(403);
  });
});

describe("the default project", () => {
  it("exists from the start, named 'Default Project'", async () => {
    const own = await api.makeOrganization();
    const { data: projects, meta } = (await own.owner.get(`/organizations/${own.name}/projects`)).body;
    expect(projects).toHaveLength(1);
    expect(projects[0].id).toBe(own.defaultProjectId);
    expect(projects[0].attributes).toMatchObject({
      name: "Default Project",
      description: null,
      "auto-destroy-activity-duration": null,
      "workspace-count": 0,
      "team-count": 0,
    });
    expect(meta["status-counts"]).toEqual({ total: 1, matching: 1 });
    expect(data(await own.owner.get(`/projects/${own.defaultProjectId}`))).toEqual(projects[0]);
  });

  it("stays the default, and can't be deleted, under another name", async () => {
    const own = await api.makeOrganization();
    const answer = await own.owner.patch(
      `/projects/${own.defaultProjectId}`,
      resource("projects", { name: "Basement" }),
    );
    expect(answer.status).toBe(200);
    expect((await own.owner.delete(`/projects/${own.defaultProjectId}`)).status).toBe(409);
    const organization = data(await own.owner.get(`/organizations/${own.name}`));
    expect(organization.relationships["default-project"].data.id).toBe(own.defaultProjectId);
  });
});
