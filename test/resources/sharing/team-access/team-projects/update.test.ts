import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../../support/api.ts";
import { data, details, type Org, pointers, resource } from "../../../../support/builders.ts";

const api = useApi();
let org: Org;
let project: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  project = await api.makeProject(org.name);
});

async function record(attributes: object): Promise<Json> {
  return api.makeTeamProject(project.id, (await api.makeTeam(org.name)).id, attributes);
}
const patch = (id: string, attributes: object, headers?: Record<string, string>) =>
  org.owner.patch(`/team-projects/${id}`, resource("team-projects", attributes), headers);

const rich = {
  access: "custom",
  "project-access": { settings: "delete", teams: "manage", "variable-sets": "write" },
  "workspace-access": {
    runs: "apply",
    "policy-mocks": "read",
    "state-versions": "write",
    variables: "write",
    create: true,
    locking: true,
    delete: true,
    move: true,
    "run-tasks": true,
    "policy-overrides": true,
  },
};

describe("updateTeamProject: a level", () => {
  it.each(["read", "write", "maintain", "admin"])(
    "%s takes what it implies, whatever was chosen before",
    async (access) => {
      const made = await record(rich);
      const changed = data(await patch(made.id, { access }));
      const fresh = await record({ access });
      expect(changed.attributes).toEqual(fresh.attributes);
      expect(data(await org.owner.get(`/team-projects/${made.id}`))).toEqual(changed);
    },
  );

  it("to custom takes the custom defaults for absent keys", async () => {
    const made = await record({ access: "admin" });
    const changed = data(await patch(made.id, { access: "custom", "workspace-access": { create: true } }));
    const defaults = await record({ access: "custom", "workspace-access": { create: true } });
    expect(changed.attributes).toEqual(defaults.attributes);
  });

  it.each([
    [{ access: "read", "workspace-access": { runs: "apply" } }, "read"],
    [{ "workspace-access": { runs: "apply" } }, "write"],
  ])("with a chosen permission is 422: %j", async (attributes, level) => {
    const made = await record({ access: "write" });
    const answer = await patch(made.id, attributes);
    expect(answer.status).toBe(422);
    expect(details(answer)).toEqual([
      `Workspace access runs is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`,
    ]);
    expect(data(await org.owner.get(`/team-projects/${made.id}`))).toEqual(made);
  });

  it("that is none is 422", async () => {
    const made = await record({ access: "write" });
    for (const access of ["plan", null, 1]) expect((await patch(made.id, { access })).status).toBe(422);
  });
});

describe("updateTeamProject: custom, value / null / absent", () => {
  const lowest: Record<string, Record<string, unknown>> = {
    "project-access": { settings: "read", teams: "none", "variable-sets": "none" },
    "workspace-access": {
      runs: "read",
      "policy-mocks": "none",
      "state-versions": "none",
      variables: "none",
      create: false,
      locking: false,
      delete: false,
      move: false,
      "run-tasks": false,
      "policy-overrides": false,
    },
  };
  const keys = Object.entries(lowest).flatMap(([group, members]) => Object.keys(members).map((name) => [group, name]));

  it.each(keys)("%s.%s: a value changes it and keeps the others", async (group = "", name = "") => {
    for (const withLevel of [true, false]) {
      const made = await record(rich);
      const value = lowest[group]?.[name];
      const changed = data(
        await patch(made.id, { ...(withLevel && { access: "custom" }), [group]: { [name]: value } }),
      );
      const expected: Json = structuredClone(made.attributes);
      expected[group][name] = value;
      if (name === "policy-mocks") expected[group]["sentinel-mocks"] = value;
      expect(changed.attributes).toEqual(expected);
    }
  });

  it.each(keys)("%s.%s: null is 422", async (group = "", name = "") => {
    const made = await record(rich);
    const answer = await patch(made.id, { [group]: { [name]: null } });
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([`/data/attributes/${group}/${name}`]);
  });

  it("absent: nothing changes, and no version is raised", async () => {
    const made = await record(rich);
    for (const attributes of [{}, { access: "custom" }, { "workspace-access": {} }]) {
      const answer = await patch(made.id, attributes);
      expect(data(answer)).toEqual(made);
      expect(answer.headers.get("etag")).toBe('"1"');
    }
  });

  it("keeps the team and the project, whatever is sent", async () => {
    const made = await record(rich);
    const other = await api.makeProject(org.name);
    const body = resource("team-projects", {}, { project: { data: { type: "projects", id: other.id } } });
    expect(data(await org.owner.patch(`/team-projects/${made.id}`, body)).relationships).toEqual(made.relationships);
  });
});

describe("updateTeamProject: who, and when", () => {
  it("404: unknown, and for whoever may see it but not manage it", async () => {
    const made = await record({ access: "read" });
    const readers = await api.makeTeam(org.name);
    await api.makeTeamProject(project.id, readers.id, { access: "maintain" });
    const reader = await api.makeMember(org.name, [readers.id]);
    expect((await reader.get(`/team-projects/${made.id}`)).status).toBe(200);
    const body = resource("team-projects", { access: "read" });
    expect((await reader.patch(`/team-projects/${made.id}`, body)).status).toBe(404);
    expect((await reader.delete(`/team-projects/${made.id}`)).status).toBe(404);
    expect((await patch("tprj-unknown", { access: "read" })).status).toBe(404);
  });

  it("403: raising anybody, oneself included, above what one holds; lowering is free", async () => {
    const managers = await api.makeTeam(org.name);
    const fresh = await api.makeProject(org.name);
    const own = await api.makeTeamProject(fresh.id, managers.id, {
      access: "custom",
      "project-access": { teams: "manage" },
    });
    const strong = await api.makeTeamProject(fresh.id, (await api.makeTeam(org.name)).id, { access: "write" });
    const manager = await api.makeMember(org.name, [managers.id]);
    const change = (id: string, attributes: object) =>
      manager.patch(`/team-projects/${id}`, resource("team-projects", attributes));
    expect((await change(own.id, { access: "admin" })).status).toBe(403);
    expect((await change(own.id, { "workspace-access": { locking: true } })).status).toBe(403);
    expect((await change(strong.id, { access: "maintain" })).status).toBe(403);
    expect((await change(strong.id, { access: "read" })).status).toBe(200);
    expect((await change(strong.id, { access: "write" })).status).toBe(403);
  });

  it("412: If-Match that does not fit, after the right was checked and before the rules", async () => {
    const made = await record({ access: "write" });
    const stale = { "if-match": '"7"' };
    expect((await patch(made.id, { access: "read" }, stale)).status).toBe(412);
    expect((await patch(made.id, { "workspace-access": { move: true } }, stale)).status).toBe(412);
    const changed = await patch(made.id, { access: "read" }, { "if-match": '"1"' });
    expect(changed.status).toBe(200);
    expect(changed.headers.get("etag")).toBe('"2"');
    expect((await org.owner.delete(`/team-projects/${made.id}`, undefined, { "if-match": '"1"' })).status).toBe(412);
    expect((await org.owner.delete(`/team-projects/${made.id}`, undefined, { "if-match": '"2"' })).status).toBe(204);
  });

  it("leaves an audit event with before and after", async () => {
    const made = await record({ access: "write" });
    data(await patch(made.id, { access: "read" }));
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=5`));
    const event = events.find((item: Json) => item.attributes.action === "team-projects.update");
    expect(event.attributes.before).toMatchObject({ access: "write", project: project.id });
    expect(event.attributes.after).toMatchObject({ access: "read", project: project.id });
  });
});

describe("deleteTeamProject", () => {
  it("204, and the project has a team less", async () => {
    const fresh = await api.makeProject(org.name);
    const made = await api.makeTeamProject(fresh.id, (await api.makeTeam(org.name)).id);
    expect((await org.owner.delete(`/team-projects/${made.id}`)).status).toBe(204);
    expect(data(await org.owner.get(`/projects/${fresh.id}`)).attributes["team-count"]).toBe(0);
    expect((await org.owner.get(`/team-projects/${made.id}`)).status).toBe(404);
    expect((await org.owner.delete(`/team-projects/${made.id}`)).status).toBe(404);
  });

  it("goes with its team, and with its project", async () => {
    const fresh = await api.makeProject(org.name);
    const [first, second] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    const one = await api.makeTeamProject(fresh.id, first.id);
    const two = await api.makeTeamProject(fresh.id, second.id);
    data(await org.owner.delete(`/teams/${first.id}`));
    expect((await org.owner.get(`/team-projects/${one.id}`)).status).toBe(404);
    expect(data(await org.owner.get(`/projects/${fresh.id}`)).attributes["team-count"]).toBe(1);
    data(await org.owner.delete(`/projects/${fresh.id}`));
    expect((await org.owner.get(`/team-projects/${two.id}`)).status).toBe(404);
  });
});
