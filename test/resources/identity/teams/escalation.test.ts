/** Nobody grants more than they hold, by any route: into a team, by a team's token, or by what a team holds. */
import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  grantProject,
  makeHolder,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeProject,
  makeTeam,
  makeTeamToken,
  type Member,
  type Org,
  resource,
  unique,
} from "../../../support/builders.ts";

const api = useApi();

const people = (...ids: string[]) => ({ data: ids.map((id) => ({ type: "users", id })) });
const places = (...ids: string[]) => ({ data: ids.map((id) => ({ type: "organization-memberships", id })) });
const members = (team: Json) => `/teams/${team.id}/relationships`;

/** Each way into a team, tried by a caller for a person; the answers' statuses. */
async function join(caller: Caller, org: Org, team: Json, person: Member): Promise<number[]> {
  const invitation = resource(
    "organization-memberships",
    { email: `${unique("new")}@example.com` },
    { teams: { data: [{ type: "teams", id: team.id }] } },
  );
  const answers = [
    await caller.post(`${members(team)}/users`, people(person.username)),
    await caller.post(`${members(team)}/organization-memberships`, places(person.membershipId)),
    await caller.post(`/organizations/${org.name}/organization-memberships`, invitation),
  ];
  return answers.map((answer) => answer.status);
}

async function countOf(team: Json): Promise<number> {
  return data(await api.admin.get(`/teams/${team.id}`)).attributes["users-count"];
}

describe("manage-membership", () => {
  it.each(["manage-teams", "manage-projects", "read-projects", "access-secret-teams", "delegate-policy-overrides"])(
    "403: brings nobody, itself included, into a team that holds %s",
    async (permission) => {
      const org = await makeOrganization(api);
      const holder = await makeHolder(api, org.name, "manage-membership");
      const other = await makeMember(api, org.name);
      const team = await makeTeam(api, org.name, { "organization-access": { [permission]: true } });
      expect(await join(holder, org, team, holder)).toEqual([403, 403, 403]);
      expect(await join(holder, org, team, other)).toEqual([403, 403, 403]);
      expect(await join(await makeTeamToken(api, holder.teamId), org, team, other)).toEqual([403, 403, 403]);
      expect(await countOf(team)).toBe(0);
    },
  );

  it.each(["read", "write", "maintain", "admin"] as const)(
    "403: brings nobody, itself included, into a team with %s on a project",
    async (level) => {
      const org = await makeOrganization(api);
      const project = await makeProject(api, org.name);
      const holder = await makeHolder(api, org.name, "manage-membership");
      const team = await makeTeam(api, org.name);
      await grantProject(api, org.id, project.id, team.id, level);
      expect(await join(holder, org, team, holder)).toEqual([403, 403, 403]);
      expect((await holder.get(`/projects/${project.id}`)).status).toBe(404);
      expect(await countOf(team)).toBe(0);
    },
  );

  it("403: a grant on another project, or a lower one on this, is not enough; the sum of its own grants is", async () => {
    const org = await makeOrganization(api);
    const [project, other] = [await makeProject(api, org.name), await makeProject(api, org.name)];
    const holder = await makeHolder(api, org.name, "manage-membership");
    const ada = await makeMember(api, org.name);
    const team = await makeTeam(api, org.name);
    await grantProject(api, org.id, project.id, team.id, "write");
    await grantProject(api, org.id, other.id, holder.teamId, "admin");
    expect(await join(holder, org, team, ada)).toEqual([403, 403, 403]);
    await grantProject(api, org.id, project.id, holder.teamId, "read");
    expect(await join(holder, org, team, ada)).toEqual([403, 403, 403]);
    const second = await makeTeam(api, org.name);
    await grantProject(api, org.id, project.id, second.id, "maintain");
    await org.owner.post(`${members(second)}/users`, people(holder.username));
    expect(await join(holder, org, team, ada)).toEqual([204, 204, 201]);
  });

  it("204: what it holds on every project covers a grant on one", async () => {
    const org = await makeOrganization(api);
    const project = await makeProject(api, org.name);
    const team = await makeTeam(api, org.name);
    await grantProject(api, org.id, project.id, team.id, "admin");
    const reader = await makeHolder(api, org.name, "manage-membership", "read-projects");
    const manager = await makeHolder(api, org.name, "manage-membership", "manage-projects");
    expect(await join(reader, org, team, reader)).toEqual([403, 403, 403]);
    expect(await join(manager, org, team, manager)).toEqual([204, 204, 201]);
  });

  it("204: into its own team, whatever that holds, and into a team that holds no more", async () => {
    const org = await makeOrganization(api);
    const project = await makeProject(api, org.name);
    const holder = await makeHolder(api, org.name, "manage-membership", "manage-modules");
    await grantProject(api, org.id, project.id, holder.teamId, "admin");
    const ada = await makeMember(api, org.name);
    expect(await join(holder, org, { id: holder.teamId }, ada)).toEqual([204, 204, 201]);
    const equal = await makeTeam(api, org.name, { "organization-access": { "manage-modules": true } });
    expect(await join(holder, org, equal, ada)).toEqual([204, 204, 201]);
  });

  it("403: one team that holds more refuses a creation with several, and nobody is invited", async () => {
    const org = await makeOrganization(api);
    const holder = await makeHolder(api, org.name, "manage-membership");
    const [poor, rich] = [
      await makeTeam(api, org.name),
      await makeTeam(api, org.name, { "organization-access": { "manage-teams": true } }),
    ];
    const email = `${unique("new")}@example.com`;
    const body = resource(
      "organization-memberships",
      { email },
      { teams: { data: [poor, rich].map(({ id }) => ({ type: "teams", id })) } },
    );
    expect((await holder.post(`/organizations/${org.name}/organization-memberships`, body)).status).toBe(403);
    const list = await org.owner.get(`/organizations/${org.name}/organization-memberships?filter[email]=${email}`);
    expect(list.body.data).toEqual([]);
  });

  it("204: takes people out of any team but the owners': that gives nobody more", async () => {
    const org = await makeOrganization(api);
    const holder = await makeHolder(api, org.name, "manage-membership");
    const rich = await makeHolder(api, org.name, "manage-projects");
    const answer = await holder.delete(`${members({ id: rich.teamId })}/users`, people(rich.username));
    expect(answer.status).toBe(204);
    expect(await countOf({ id: rich.teamId })).toBe(0);
  });
});

describe("manage-teams", () => {
  it("403: neither joins a team nor acts as one that holds more by an organization-level permission", async () => {
    const org = await makeOrganization(api);
    const holder = await makeHolder(api, org.name, "manage-teams");
    const rich = await makeTeam(api, org.name, { "organization-access": { "manage-projects": true } });
    expect(await join(holder, org, rich, holder)).toEqual([403, 403, 403]);
    for (const path of ["authentication-token", "authentication-tokens"])
      expect((await holder.post(`/teams/${rich.id}/${path}`)).status).toBe(403);
    const grant = resource("teams", { "organization-access": { "manage-membership": true } });
    expect((await holder.patch(`/teams/${holder.teamId}`, grant)).status).toBe(403);
  });

  it.each(["read", "admin"] as const)("403: nor as one with %s on a project", async (level) => {
    const org = await makeOrganization(api);
    const project = await makeProject(api, org.name);
    const holder = await makeHolder(api, org.name, "manage-teams");
    const team = await makeTeam(api, org.name);
    await grantProject(api, org.id, project.id, team.id, level);
    for (const path of ["authentication-token", "authentication-tokens"])
      expect((await holder.post(`/teams/${team.id}/${path}`)).status).toBe(403);
    await grantProject(api, org.id, project.id, holder.teamId, level);
    for (const path of ["authentication-token", "authentication-tokens"])
      expect((await holder.post(`/teams/${team.id}/${path}`)).status).toBe(201);
  });

  it("403: with manage-membership too, the sum is still the limit", async () => {
    const org = await makeOrganization(api);
    const holder = await makeHolder(
      api,
      org.name,
      "manage-teams",
      "manage-membership",
      "manage-organization-access",
      "access-secret-teams",
    );
    const rich = await makeTeam(api, org.name, {
      visibility: "secret",
      "organization-access": { "manage-workspaces": true },
    });
    expect(await join(holder, org, rich, holder)).toEqual([403, 403, 403]);
    expect((await holder.post(`/teams/${rich.id}/authentication-token`)).status).toBe(403);
    const own = resource("teams", { "organization-access": { "manage-workspaces": true } });
    expect((await holder.patch(`/teams/${holder.teamId}`, own)).status).toBe(403);
    const made = data(
      await holder.post(`/organizations/${org.name}/teams`, resource("teams", { name: unique("mine") })),
    );
    expect((await holder.patch(`/teams/${made.id}`, own)).status).toBe(403);
  });
});

describe("the organization's token", () => {
  it("204: owns, so it fills any team but the owners'", async () => {
    const org = await makeOrganization(api);
    const project = await makeProject(api, org.name);
    const team = await makeTeam(api, org.name, { "organization-access": { "manage-projects": true } });
    await grantProject(api, org.id, project.id, team.id, "admin");
    const token = await makeOrganizationToken(api, org.name);
    const ada = await makeMember(api, org.name);
    expect(await join(token, org, team, ada)).toEqual([204, 204, 201]);
    expect(await join(token, org, { id: org.ownersTeamId }, ada)).toEqual([403, 403, 403]);
  });
});
