/** Access to a project: every kind of caller against every operation. */
import { beforeAll, describe, expect, it } from "vitest";
import { maskOf, type PermissionSet } from "../../../../src/access/permission-set.ts";
import { newId } from "../../../../src/kernel/ids.ts";
import { now } from "../../../../src/kernel/time.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, resource, unique } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let other: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
  other = await api.makeOrganization();
});

type Level = "read" | "write" | "maintain" | "admin";
type MakeCaller = (projectId: string) => Promise<Caller>;

const holder = (...permissions: string[]): MakeCaller => {
  return () => api.makeHolder(org.name, ...permissions);
};

/** A member in one team for each level, every team with that level on the project. */
const withLevels = (...levels: Level[]): MakeCaller => {
  return async (projectId) => {
    const teams: string[] = [];
    for (const level of levels) {
      const team = await api.makeTeam(org.name);
      await api.grantProject(projectId, team.id, level);
      teams.push(team.id);
    }
    return api.makeMember(org.name, teams);
  };
};

/** A member in one team for each set, every team with a custom grant of it on the project. */
const withCustom = (...sets: Partial<PermissionSet>[]): MakeCaller => {
  return async (projectId) => {
    const teams: string[] = [];
    for (const set of sets) {
      const team = await api.makeTeam(org.name);
      await insertCustomGrant(projectId, team.id, set);
      teams.push(team.id);
    }
    return api.makeMember(org.name, teams);
  };
};

async function insertCustomGrant(projectId: string, teamId: string, set: Partial<PermissionSet>): Promise<void> {
  const id = newId("team-projects");
  const row = { id, organizationId: org.id, projectId, teamId, createdAt: now(), version: 1 };
  await api.database.write((tx) =>
    tx.db
      .insertInto("teamProjects")
      .values({ ...row, access: "custom", permissions: maskOf(set) })
      .execute(),
  );
}

const teamTokenWithLevel = (level: Level): MakeCaller => {
  return async (projectId) => {
    const team = await api.makeTeam(org.name);
    await api.grantProject(projectId, team.id, level);
    return api.makeTeamToken(team.id);
  };
};

const revoked: MakeCaller = async () => {
  const person = await api.makeMember(org.name, [org.ownersTeamId]);
  const tokens = data(await person.get(`/users/${person.id}/authentication-tokens`));
  data(await api.admin.delete(`/authentication-tokens/${tokens[0].id}`));
  return person;
};

const expired: MakeCaller = async () => {
  const person = await api.makeMember(org.name, [org.ownersTeamId]);
  await api.database.write((tx) =>
    tx.db
      .updateTable("tokens")
      .set({ expiredAt: "2001-01-01T00:00:00.000Z" })
      .where("userId", "=", person.id)
      .execute(),
  );
  return person;
};

const leftTheOrganization: MakeCaller = async () => {
  const person = await api.makeMember(org.name, [org.ownersTeamId]);
  data(await api.admin.delete(`/organization-memberships/${person.membershipId}`));
  return person;
};

const leftTheTeam: MakeCaller = async (projectId) => {
  const team = await api.makeTeam(org.name);
  await api.grantProject(projectId, team.id, "admin");
  const person = await api.makeMember(org.name, [team.id]);
  const link = { data: [{ type: "users", id: person.username }] };
  data(await api.admin.delete(`/teams/${team.id}/relationships/users`, link));
  return person;
};

/** Full access in the other organization; on this project, a grant that must not count. */
const ownerElsewhere: MakeCaller = async () => other.owner;

interface Expected {
  readonly show: number;
  readonly list: number;
  readonly create: number;
  readonly update: number;
  readonly delete: number;
  /** `can-update`, `can-destroy` and `can-create-workspace` of callers who can see the project. */
  readonly may: readonly [boolean, boolean, boolean] | undefined;
}

const row = (
  [show, list, create, update, remove]: readonly [number, number, number, number, number],
  may?: Expected["may"],
): Expected => ({ show, list, create, update, delete: remove, may });

const everything = row([200, 200, 201, 200, 204], [true, true, true]);
const projectAdmin = row([200, 200, 403, 200, 204], [true, true, true]);
const reader = row([200, 200, 403, 403, 403], [false, false, false]);
const workspaceMaker = row([200, 200, 403, 403, 403], [false, false, true]);
const updater = row([200, 200, 403, 200, 403], [true, false, false]);
const blind = row([404, 200, 403, 404, 404]);
const stranger = row([404, 404, 404, 404, 404]);
const unknown = row([401, 401, 401, 401, 401]);

const callers: readonly (readonly [string, MakeCaller, Expected])[] = [
  ["an owner", async () => org.owner, everything],
  ["a site admin", async () => api.admin, everything],
  ["the organization's token", () => api.makeOrganizationToken(org.name), everything],
  ["the owners team's token", () => api.makeTeamToken(org.ownersTeamId), everything],
  ["a holder of manage-projects", holder("manage-projects"), everything],
  [
    "the token of a team with manage-projects",
    async () => api.makeTeamToken((await api.makeHolder(org.name, "manage-projects")).teamId),
    everything,
  ],
  ["a holder of manage-workspaces", holder("manage-workspaces"), workspaceMaker],
  ["a holder of read-projects", holder("read-projects"), reader],
  ["a holder of read-workspaces", holder("read-workspaces"), blind],
  [
    "a holder of every permission that is not about projects",
    holder("manage-teams", "manage-membership", "manage-organization-access", "manage-vcs-settings", "manage-policies"),
    blind,
  ],
  ["a plain member", () => api.makeMember(org.name), blind],
  [
    "a member of a team without any grant",
    async () => api.makeMember(org.name, [(await api.makeTeam(org.name)).id]),
    blind,
  ],
  ["read on the project", withLevels("read"), reader],
  ["write on the project", withLevels("write"), reader],
  ["maintain on the project", withLevels("maintain"), workspaceMaker],
  ["admin on the project", withLevels("admin"), projectAdmin],
  ["two teams, read and maintain: the sum", withLevels("read", "maintain"), workspaceMaker],
  ["two teams, admin and read: the sum", withLevels("admin", "read"), projectAdmin],
  [
    "two teams whose grants add up",
    withCustom({ settings: "update" }, { settings: "read", create: true }),
    {
      ...updater,
      may: [true, false, true],
    },
  ],
  ["custom: settings update", withCustom({ settings: "update" }), updater],
  ["custom: settings delete", withCustom({ settings: "delete" }), { ...projectAdmin, may: [true, true, false] }],
  ["the token of a team with read", teamTokenWithLevel("read"), reader],
  ["the token of a team with admin", teamTokenWithLevel("admin"), projectAdmin],
  ["someone who left a team with admin", leftTheTeam, blind],
  ["someone who left the organization", leftTheOrganization, stranger],
  ["a stranger", () => api.makeUser(), stranger],
  ["an owner of another organization", ownerElsewhere, stranger],
  ["another organization's token", () => api.makeOrganizationToken(other.name), stranger],
  ["the token of another organization's owners", () => api.makeTeamToken(other.ownersTeamId), stranger],
  ["no token", async () => api.nobody, unknown],
  ["an unknown token", async () => api.as("cadastre-unknown"), unknown],
  ["a revoked token", revoked, unknown],
  ["an expired token", expired, unknown],
];

describe.each(callers)("%s", (_, makeCaller, expected) => {
  let caller: Caller;
  let project: Json;
  beforeAll(async () => {
    project = await api.makeProject(org.name);
    caller = await makeCaller(project.id);
  });

  it(`showProject: ${expected.show}`, async () => {
    const answer = await caller.get(`/projects/${project.id}`);
    expect(answer.status).toBe(expected.show);
    if (expected.may === undefined) expect(answer.body).not.toHaveProperty("data");
    else {
      const [update, destroy, create] = expected.may;
      expect(answer.body.data.attributes.permissions).toEqual({
        "can-update": update,
        "can-destroy": destroy,
        "can-create-workspace": create,
      });
    }
  });

  it(`listProjects: ${expected.list}`, async () => {
    const answer = await caller.get(`/organizations/${org.name}/projects?filter[names]=${project.attributes.name}`);
    expect(answer.status).toBe(expected.list);
    const shown = (answer.body.data ?? []).map((item: Json) => item.id);
    expect(shown).toEqual(expected.show === 200 ? [project.id] : []);
  });

  it(`createProject: ${expected.create}`, async () => {
    const name = unique("made");
    const answer = await caller.post(`/organizations/${org.name}/projects`, resource("projects", { name }));
    expect(answer.status).toBe(expected.create);
    if (expected.create === 403) expect(details(answer)[0]).toContain("'manage-projects'");
    const found = data(await api.admin.get(`/organizations/${org.name}/projects?filter[names]=${name}`));
    expect(found).toHaveLength(expected.create === 201 ? 1 : 0);
  });

  it(`updateProject: ${expected.update}`, async () => {
    const answer = await caller.patch(`/projects/${project.id}`, resource("projects", { description: "changed" }));
    expect(answer.status).toBe(expected.update);
    if (expected.update === 403) expect(details(answer)[0]).toContain("'update' on the project's settings");
    const { description } = data(await api.admin.get(`/projects/${project.id}`)).attributes;
    expect(description).toBe(expected.update === 200 ? "changed" : null);
  });

  it(`deleteProject: ${expected.delete}`, async () => {
    const answer = await caller.delete(`/projects/${project.id}`);
    expect(answer.status).toBe(expected.delete);
    if (expected.delete === 403) expect(details(answer)[0]).toContain("'delete' on the project's settings");
    expect((await api.admin.get(`/projects/${project.id}`)).status).toBe(expected.delete === 204 ? 404 : 200);
  });
});

describe("refusals", () => {
  it("returns the same 404 for a hidden project as for a missing one", async () => {
    const project = await api.makeProject(org.name);
    const person = await api.makeUser();
    const bodies = await Promise.all([
      person.get(`/projects/${project.id}`),
      person.get("/projects/prj-doesnotexist"),
      person.delete(`/projects/${project.id}`),
      person.patch("/projects/prj-doesnotexist", resource("projects", {})),
    ]);
    expect(bodies.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(new Set(bodies.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(bodies[0]?.body.errors).toEqual([{ status: "404", title: "not found", detail: expect.any(String) }]);
  });

  it("403 and 401 have their titles", async () => {
    const project = await api.makeProject(org.name);
    const answer = await (await withLevels("read")(project.id)).delete(`/projects/${project.id}`);
    expect(answer.body.errors).toEqual([{ status: "403", title: "forbidden", detail: expect.any(String) }]);
    const anonymous = await api.nobody.get(`/projects/${project.id}`);
    expect(anonymous.body.errors).toEqual([{ status: "401", title: "unauthorized", detail: expect.any(String) }]);
  });

  it("an id is case-sensitive", async () => {
    const project = await api.makeProject(org.name);
    expect((await org.owner.get(`/projects/${project.id.toUpperCase()}`)).status).toBe(404);
    expect((await org.owner.get(`/projects/${encodeURIComponent(`${project.id} `)}`)).status).toBe(404);
  });
});
