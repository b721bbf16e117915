import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../../support/api.ts";
import { data, details, onProject, type Org, pointers, resource } from "../../../../support/builders.ts";
import { describeOnce } from "../../../../support/once.ts";

const api = useApi();
let org: Org;
let project: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  project = await api.makeProject(org.name);
});

const create = (attributes: object, teamId: string, projectId = project.id) =>
  org.owner.post("/team-projects", resource("team-projects", attributes, onProject(projectId, teamId)));

/** The specification's table of implied values: a row for each permission, a column for each level. */
const levels = ["read", "write", "maintain", "admin", "custom"];
const impliedValues = {
  "project-access": {
    settings: ["read", "read", "read", "delete", "read"],
    teams: ["none", "none", "none", "manage", "none"],
    "variable-sets": ["read", "write", "write", "write", "none"],
  },
  "workspace-access": {
    runs: ["read", "apply", "apply", "apply", "read"],
    "policy-mocks": ["none", "read", "read", "read", "none"],
    "sentinel-mocks": ["none", "read", "read", "read", "none"],
    "state-versions": ["read", "write", "write", "write", "none"],
    variables: ["read", "write", "write", "write", "none"],
    create: [false, false, true, true, false],
    locking: [false, true, true, true, false],
    delete: [false, false, true, true, false],
    move: [false, false, false, true, false],
    "run-tasks": [false, false, true, true, false],
    "policy-overrides": [false, false, true, true, false],
  },
};
const column = (rows: Readonly<Record<string, readonly unknown[]>>, index: number) =>
  Object.fromEntries(Object.entries(rows).map(([name, values]) => [name, values[index]]));
const implied = Object.fromEntries(
  levels.map((level, index) => [
    level,
    {
      "project-access": column(impliedValues["project-access"], index),
      "workspace-access": column(impliedValues["workspace-access"], index),
    },
  ]),
);

/** Every value of every permission that can be chosen. */
const choices: readonly (readonly [string, string, readonly unknown[]])[] = [
  ["project-access", "settings", ["read", "update", "delete"]],
  ["project-access", "teams", ["none", "read", "manage"]],
  ["project-access", "variable-sets", ["none", "read", "write"]],
  ["workspace-access", "runs", ["read", "plan", "apply"]],
  ["workspace-access", "policy-mocks", ["none", "read"]],
  ["workspace-access", "state-versions", ["none", "read-outputs", "read", "write"]],
  ["workspace-access", "variables", ["none", "read", "write"]],
  ["workspace-access", "create", [false, true]],
  ["workspace-access", "locking", [false, true]],
  ["workspace-access", "delete", [false, true]],
  ["workspace-access", "move", [false, true]],
  ["workspace-access", "run-tasks", [false, true]],
  ["workspace-access", "policy-overrides", [false, true]],
];
const values = choices.flatMap(([group, name, all]) => all.map((value) => [group, name, value] as const));

describe("createTeamProject: made", () => {
  it.each(Object.entries(implied))("%s: 200 with what the level implies", async (access, expected) => {
    const team = await api.makeTeam(org.name);
    const answer = await create({ access }, team.id);
    expect(answer.status).toBe(200);
    const { id } = answer.body.data;
    expect(id).toMatch(/^tprj-/);
    expect(answer.headers.get("etag")).toBe('"1"');
    expect(answer.body).toEqual({
      data: {
        id,
        type: "team-projects",
        attributes: { access, "expires-at": null, reason: null, ...expected },
        relationships: {
          team: { data: { type: "teams", id: team.id }, links: { related: `/api/v2/teams/${team.id}` } },
          project: { data: { type: "projects", id: project.id }, links: { related: `/api/v2/projects/${project.id}` } },
        },
        links: { self: `/api/v2/team-projects/${id}` },
      },
    });
    expect(data(await org.owner.get(`/team-projects/${id}`))).toEqual(answer.body.data);
  });

  it.each(values)("custom %s.%s = %s, and the defaults for the rest", async (group, name, value) => {
    const team = await api.makeTeam(org.name);
    const made = data(await create({ access: "custom", [group]: { [name]: value } }, team.id));
    const expected: Json = structuredClone(implied.custom);
    expected[group][name] = value;
    if (name === "policy-mocks") expected[group]["sentinel-mocks"] = value;
    expect(made.attributes).toEqual({ access: "custom", "expires-at": null, reason: null, ...expected });
  });

  it("takes sentinel-mocks for policy-mocks, and refuses the two with different values", async () => {
    const team = await api.makeTeam(org.name);
    const made = data(await create({ access: "custom", "workspace-access": { "sentinel-mocks": "read" } }, team.id));
    expect(made.attributes["workspace-access"]).toMatchObject({ "policy-mocks": "read", "sentinel-mocks": "read" });
    const both = { "sentinel-mocks": "read", "policy-mocks": "none" };
    const answer = await create({ access: "custom", "workspace-access": both }, team.id);
    expect(answer.status).toBe(422);
  });

  it("counts the team and raises the project's version", async () => {
    const fresh = await api.makeProject(org.name);
    const before = await org.owner.get(`/projects/${fresh.id}`);
    await api.makeTeamProject(fresh.id, (await api.makeTeam(org.name)).id);
    const after = await org.owner.get(`/projects/${fresh.id}`);
    expect(data(after).attributes["team-count"]).toBe(data(before).attributes["team-count"] + 1);
    expect(after.headers.get("etag")).not.toBe(before.headers.get("etag"));
  });

  it("leaves an audit event that tells who got what on which project", async () => {
    const team = await api.makeTeam(org.name);
    const made = data(await create({ access: "maintain" }, team.id));
    const [event] = data(
      await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${made.id}`),
    ).filter((item: Json) => JSON.stringify(item).includes(made.id));
    expect(JSON.stringify(event)).toContain("team-projects.create");
    expect(event.attributes.before).toBeNull();
    expect(event.attributes.after).toMatchObject({ access: "maintain", team: team.id, project: project.id });
  });

  it("takes effect with the member's next request", async () => {
    const fresh = await api.makeProject(org.name);
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name, [team.id]);
    expect((await member.get(`/projects/${fresh.id}`)).status).toBe(404);
    const record = await api.makeTeamProject(fresh.id, team.id);
    expect((await member.get(`/projects/${fresh.id}`)).status).toBe(200);
    data(await org.owner.delete(`/team-projects/${record.id}`));
    expect((await member.get(`/projects/${fresh.id}`)).status).toBe(404);
  });
});

describeOnce("createTeamProject: 422 for what the body shows", () => {
  it.each(
    ["read", "write", "maintain", "admin"].flatMap((level) => choices.map(([group, name]) => [level, group, name])),
  )("%s with a chosen %s.%s", async (level, group, name) => {
    const value = choices.find(([, known]) => known === name)?.[2][0];
    const answer = await create({ access: level, [group as string]: { [name as string]: value } }, "team-unknown");
    expect(answer.status).toBe(422);
    const human = `${group} ${name}`.replaceAll("-", " ");
    expect(details(answer)).toEqual([
      `${human[0]?.toUpperCase()}${human.slice(1)} is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`,
    ]);
    expect(pointers(answer)).toEqual([`/data/attributes/${group}/${name}`]);
  });

  it("tells of every permission at once", async () => {
    const answer = await create(
      { access: "read", "workspace-access": { runs: "apply", move: true }, "project-access": { teams: "manage" } },
      "team-unknown",
    );
    expect(details(answer)).toHaveLength(3);
  });

  it.each(["plan", "none", "", "Admin", null, 5, undefined])("access %j", async (access) => {
    const answer = await create({ access }, "team-unknown");
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/access"]);
  });

  it.each(choices.flatMap(([group, name]) => ["everything", null, 7].map((value) => [group, name, value] as const)))(
    "%s.%s = %j",
    async (group, name, value) => {
      const answer = await create({ access: "custom", [group]: { [name]: value } }, "team-unknown");
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual([`/data/attributes/${group}/${name}`]);
    },
  );

  it.each([
    ["settings none", { "project-access": { settings: "none" } }],
    ["runs none", { "workspace-access": { runs: "none" } }],
    ["a group that is no object", { "workspace-access": "apply" }],
  ])("%s", async (_, attributes) => {
    expect((await create({ access: "custom", ...attributes }, "team-unknown")).status).toBe(422);
  });

  it("without a team and a project", async () => {
    const answer = await org.owner.post("/team-projects", resource("team-projects", { access: "read" }));
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/relationships/team", "/data/relationships/project"]);
  });

  it("of another type", async () => {
    const team = await api.makeTeam(org.name);
    const body = resource("team-workspaces", { access: "read" }, onProject(project.id, team.id));
    expect((await org.owner.post("/team-projects", body)).status).toBe(422);
  });
});

describe("createTeamProject: 422 for what the register knows", () => {
  it("a second record for the same team and project", async () => {
    const team = await api.makeTeam(org.name);
    data(await create({ access: "read" }, team.id));
    const answer = await create({ access: "admin" }, team.id);
    expect(answer.status).toBe(422);
    expect(details(answer)).toEqual(["Team has already been taken"]);
    const other = await api.makeProject(org.name);
    expect((await create({ access: "read" }, team.id, other.id)).status).toBe(200);
  });

  it("of many at the same time one is made", async () => {
    const team = await api.makeTeam(org.name);
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ access: "read" }, team.id)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(422)]);
  });

  it("the owners team", async () => {
    const answer = await create({ access: "read" }, org.ownersTeamId);
    expect(answer.status).toBe(422);
    expect(details(answer)[0]).toContain("owners team");
  });
});

describe("createTeamProject: 404", () => {
  it("an unknown project, an unknown team, a team or project of another organization", async () => {
    const team = await api.makeTeam(org.name);
    const other = await api.makeOrganization();
    const foreignTeam = await api.makeTeam(other.name);
    const foreignProject = await api.makeProject(other.name);
    expect((await create({ access: "read" }, team.id, "prj-unknown")).status).toBe(404);
    expect((await create({ access: "read" }, "team-unknown")).status).toBe(404);
    expect((await create({ access: "read" }, foreignTeam.id)).status).toBe(404);
    expect((await create({ access: "read" }, team.id, foreignProject.id)).status).toBe(404);
    const body = resource("team-projects", { access: "read" }, onProject(project.id, foreignTeam.id));
    expect((await api.admin.post("/team-projects", body)).status).toBe(404);
  });

  it("a secret team that the caller may not know of", async () => {
    const secret = await api.makeTeam(org.name, { visibility: "secret" });
    const admins = await api.makeTeam(org.name);
    const fresh = await api.makeProject(org.name);
    await api.makeTeamProject(fresh.id, admins.id, { access: "admin" });
    const admin = await api.makeMember(org.name, [admins.id]);
    const body = resource("team-projects", { access: "read" }, onProject(fresh.id, secret.id));
    expect((await admin.post("/team-projects", body)).status).toBe(404);
    expect((await org.owner.post("/team-projects", body)).status).toBe(200);
  });

  it("for whoever reads the project but may not manage its access, not 403", async () => {
    const reader = await api.makeHolder(org.name, "read-projects");
    const team = await api.makeTeam(org.name);
    const body = resource("team-projects", { access: "custom" }, onProject(project.id, team.id));
    expect((await reader.post("/team-projects", body)).status).toBe(404);
  });
});

describe("createTeamProject: 403, nobody gives more than they hold", () => {
  it.each([
    ["a level", { access: "read" }],
    ["maintain, whose workspace admin no custom set has", { access: "maintain" }],
    ["one permission", { access: "custom", "workspace-access": { move: true } }],
    ["a higher value", { access: "custom", "workspace-access": { runs: "plan" } }],
    ["reading variable sets", { access: "custom", "project-access": { "variable-sets": "read" } }],
    ["overriding policies", { access: "custom", "workspace-access": { "policy-overrides": true } }],
  ])("%s, by whoever holds only teams: manage", async (_, attributes) => {
    const managers = await api.makeTeam(org.name);
    const fresh = await api.makeProject(org.name);
    await api.makeTeamProject(fresh.id, managers.id, { access: "custom", "project-access": { teams: "manage" } });
    const manager = await api.makeMember(org.name, [managers.id]);
    const team = await api.makeTeam(org.name);
    const grant = (given: object) =>
      manager.post("/team-projects", resource("team-projects", given, onProject(fresh.id, team.id)));
    const answer = await grant(attributes);
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toContain("You can't grant what you don't hold yourself");
    expect((await grant({ access: "custom", "project-access": { teams: "manage" } })).status).toBe(200);
  });

  it("but the organization's token hands on what it can't use itself", async () => {
    const token = await api.makeOrganizationToken(org.name);
    const team = await api.makeTeam(org.name);
    const body = resource("team-projects", { access: "admin" }, onProject(project.id, team.id));
    expect((await token.post("/team-projects", body)).status).toBe(200);
  });
});
