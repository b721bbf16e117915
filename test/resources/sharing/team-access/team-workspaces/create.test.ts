import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../../support/api.ts";
import { data, details, inProject, onWorkspace, type Org, pointers, resource } from "../../../../support/builders.ts";

const api = useApi();
const forEver = { "expires-at": null, reason: null };
let org: Org;
let workspace: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  workspace = await api.makeWorkspace(org.name);
});

const create = (attributes: object, teamId: string, workspaceId = workspace.id) =>
  org.owner.post("/team-workspaces", resource("team-workspaces", attributes, onWorkspace(workspaceId, teamId)));

/** The decisions' table of implied values: read, plan, write, admin, custom. */
const levels = ["read", "plan", "write", "admin", "custom"];
const implied: Record<string, readonly unknown[]> = {
  runs: ["read", "plan", "apply", "apply", "read"],
  variables: ["read", "read", "write", "write", "none"],
  "state-versions": ["read", "read", "write", "write", "none"],
  "policy-mocks": ["none", "none", "read", "read", "none"],
  "sentinel-mocks": ["none", "none", "read", "read", "none"],
  "workspace-locking": [false, false, true, true, false],
  "run-tasks": [false, false, false, true, false],
  "policy-overrides": [false, false, false, true, false],
};
const impliedBy = (level: string) =>
  Object.fromEntries(Object.entries(implied).map(([name, row]) => [name, row[levels.indexOf(level)]]));

const choices: Record<string, readonly unknown[]> = {
  runs: ["read", "plan", "apply"],
  variables: ["none", "read", "write"],
  "state-versions": ["none", "read-outputs", "read", "write"],
  "policy-mocks": ["none", "read"],
  "workspace-locking": [false, true],
  "run-tasks": [false, true],
  "policy-overrides": [false, true],
};
const human = (name: string) => {
  const words = name.replaceAll("-", " ");
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
};

describe("createTeamWorkspace: made", () => {
  it.each(levels)("%s: 200 with what the level implies", async (access) => {
    const team = await api.makeTeam(org.name);
    const answer = await create({ access }, team.id);
    expect(answer.status).toBe(200);
    const { id } = answer.body.data;
    expect(id).toMatch(/^tws-/);
    expect(answer.headers.get("etag")).toBe('"1"');
    expect(answer.body).toEqual({
      data: {
        id,
        type: "team-workspaces",
        attributes: { access, ...forEver, ...impliedBy(access) },
        relationships: {
          team: { data: { type: "teams", id: team.id }, links: { related: `/api/v2/teams/${team.id}` } },
          workspace: {
            data: { type: "workspaces", id: workspace.id },
            links: { related: `/api/v2/workspaces/${workspace.id}` },
          },
        },
        links: { self: `/api/v2/team-workspaces/${id}` },
      },
    });
    expect(data(await org.owner.get(`/team-workspaces/${id}`))).toEqual(answer.body.data);
  });

  it.each(Object.entries(choices).flatMap(([name, all]) => all.map((value) => [name, value] as const)))(
    "custom %s = %s, and the defaults for the rest",
    async (name, value) => {
      const made = data(await create({ access: "custom", [name]: value }, (await api.makeTeam(org.name)).id));
      const alias = name === "policy-mocks" ? { "sentinel-mocks": value } : {};
      expect(made.attributes).toEqual({
        access: "custom",
        ...forEver,
        ...impliedBy("custom"),
        [name]: value,
        ...alias,
      });
    },
  );

  it("takes sentinel-mocks for policy-mocks", async () => {
    const made = data(await create({ access: "custom", "sentinel-mocks": "read" }, (await api.makeTeam(org.name)).id));
    expect(made.attributes).toMatchObject({ "policy-mocks": "read", "sentinel-mocks": "read" });
  });

  it("leaves an audit event", async () => {
    const team = await api.makeTeam(org.name);
    data(await create({ access: "plan" }, team.id));
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=5`));
    const event = events.find((item: Json) => item.attributes.action === "team-workspaces.create");
    expect(event.attributes.before).toBeNull();
    expect(event.attributes.after).toMatchObject({ access: "plan", team: team.id, workspace: workspace.id });
  });
});

describe("createTeamWorkspace: 422", () => {
  it.each(["read", "plan", "write", "admin"].flatMap((level) => Object.keys(choices).map((name) => [level, name])))(
    "%s with a chosen %s",
    async (level = "", name = "") => {
      const answer = await create({ access: level, [name]: choices[name]?.[0] }, "team-unknown");
      expect(answer.status).toBe(422);
      expect(details(answer)).toEqual([
        `${human(name)} is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`,
      ]);
      expect(pointers(answer)).toEqual([`/data/attributes/${name}`]);
    },
  );

  it.each(["maintain", "none", "", null, 5, undefined])("access %j", async (access) => {
    const answer = await create({ access }, "team-unknown");
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/access"]);
  });

  it.each(Object.keys(choices).flatMap((name) => ["everything", null, 7].map((value) => [name, value] as const)))(
    "%s = %j",
    async (name, value) => {
      const answer = await create({ access: "custom", [name]: value }, "team-unknown");
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual([`/data/attributes/${name}`]);
    },
  );

  it("runs none, and a body without relationships", async () => {
    expect((await create({ access: "custom", runs: "none" }, "team-unknown")).status).toBe(422);
    const answer = await org.owner.post("/team-workspaces", resource("team-workspaces", { access: "read" }));
    expect(pointers(answer)).toEqual(["/data/relationships/team", "/data/relationships/workspace"]);
  });

  it("a second record for the same team, also at the same time; and the owners team", async () => {
    const team = await api.makeTeam(org.name);
    const answers = await Promise.all(Array.from({ length: 6 }, () => create({ access: "read" }, team.id)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(5).fill(422)]);
    const again = await create({ access: "admin" }, team.id);
    expect(details(again)).toEqual(["Team has already been taken"]);
    expect((await create({ access: "read" }, org.ownersTeamId)).status).toBe(422);
  });
});

describe("createTeamWorkspace: 404 and 403", () => {
  it("404: unknown or foreign workspace or team", async () => {
    const team = await api.makeTeam(org.name);
    const other = await api.makeOrganization();
    const foreignTeam = await api.makeTeam(other.name);
    const foreignWorkspace = await api.makeWorkspace(other.name);
    expect((await create({ access: "read" }, team.id, "ws-unknown")).status).toBe(404);
    expect((await create({ access: "read" }, "team-unknown")).status).toBe(404);
    expect((await create({ access: "read" }, foreignTeam.id)).status).toBe(404);
    expect((await create({ access: "read" }, team.id, foreignWorkspace.id)).status).toBe(404);
  });

  it("404 for whoever sees the workspace but is no admin of it, not 403", async () => {
    const reader = await api.makeHolder(org.name, "read-workspaces");
    const team = await api.makeTeam(org.name);
    const body = resource("team-workspaces", { access: "custom" }, onWorkspace(workspace.id, team.id));
    expect((await reader.post("/team-workspaces", body)).status).toBe(404);
  });

  it("404 for 'manage' on the project's teams alone: that is no admin of the project", async () => {
    const project = await api.makeProject(org.name);
    const held = await api.makeWorkspace(org.name, {}, inProject(project.id));
    const managers = await api.makeTeam(org.name);
    await api.makeTeamProject(project.id, managers.id, { access: "custom", "project-access": { teams: "manage" } });
    const manager = await api.makeMember(org.name, [managers.id]);
    const team = await api.makeTeam(org.name);
    const body = resource("team-workspaces", { access: "custom" }, onWorkspace(held.id, team.id));
    expect((await manager.post("/team-workspaces", body)).status).toBe(404);
    const records = await manager.get(`/team-workspaces?filter[workspace][id]=${held.id}`);
    expect(records.status).toBe(200);
  });

  it.each(["workspace", "project"])("200 for the admins of the %s", async (kind) => {
    const project = await api.makeProject(org.name);
    const held = await api.makeWorkspace(org.name, {}, inProject(project.id));
    const admins = await api.makeTeam(org.name);
    if (kind === "project") await api.makeTeamProject(project.id, admins.id, { access: "admin" });
    else await api.makeTeamWorkspace(held.id, admins.id, { access: "admin" });
    const admin = await api.makeMember(org.name, [admins.id]);
    const team = await api.makeTeam(org.name);
    const body = resource("team-workspaces", { access: "admin" }, onWorkspace(held.id, team.id));
    expect((await admin.post("/team-workspaces", body)).status).toBe(200);
  });

  it("the organization's token hands on what it can't use itself", async () => {
    const token = await api.makeOrganizationToken(org.name);
    const team = await api.makeTeam(org.name);
    const body = resource("team-workspaces", { access: "admin" }, onWorkspace(workspace.id, team.id));
    expect((await token.post("/team-workspaces", body)).status).toBe(200);
  });
});
