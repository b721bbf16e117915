/** Callers can't grant more access than they have: by adding team members, creating team tokens or changing a team. */
import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();

describe("owners", () => {
  const people = (...names: string[]) => ({ data: names.map((id) => ({ type: "users", id })) });
  const users = (org: Org) => `/teams/${org.ownersTeamId}/relationships/users`;
  const memberships = (org: Org) => `/teams/${org.ownersTeamId}/relationships/organization-memberships`;
  const ownersOf = async (org: Org): Promise<string[]> =>
    data(await api.admin.get(`/teams/${org.ownersTeamId}?include=users`)).relationships.users.data.map(
      (user: { id: string }) => user.id,
    );

  /** An organization whose only owners are two people, none of them a site admin. */
  async function organizationOfTwo(): Promise<{ org: Org; second: Member }> {
    const org = await api.makeOrganization();
    const second = await api.makeMember(org.name, [org.ownersTeamId]);
    const admin = data(await api.admin.get("/account/details"));
    expect((await org.owner.delete(users(org), people(admin.id))).status).toBe(204);
    expect((await ownersOf(org)).toSorted()).toEqual([org.owner.id, second.id].toSorted());
    return { org, second };
  }

  describe("the owners team", () => {
    it("exists from the start, is visible and has every permission", async () => {
      const org = await api.makeOrganization();
      const member = await api.makeMember(org.name);
      const { attributes } = data(await member.get(`/teams/${org.ownersTeamId}`));
      expect(attributes).toMatchObject({ name: "owners", visibility: "organization" });
      expect(Object.values(attributes["organization-access"])).not.toContain(false);
    });

    it("422: can't change its name or its access; reports both faults", async () => {
      const org = await api.makeOrganization();
      for (const caller of [org.owner, api.admin]) {
        const answer = await caller.patch(
          `/teams/${org.ownersTeamId}`,
          resource("teams", { name: "lords", "organization-access": { "manage-teams": false } }),
        );
        expect(answer.status).toBe(422);
        expect(pointers(answer)).toEqual(["/data/attributes/name", "/data/attributes/organization-access"]);
      }
      const same = resource("teams", { name: "owners", "organization-access": { "manage-teams": true } });
      expect((await org.owner.patch(`/teams/${org.ownersTeamId}`, same)).status).toBe(200);
    });

    it("200: owners can change its other attributes", async () => {
      const org = await api.makeOrganization();
      const answer = await org.owner.patch(`/teams/${org.ownersTeamId}`, resource("teams", { "sso-team-id": "sso-1" }));
      expect(data(answer).attributes["sso-team-id"]).toBe("sso-1");
    });

    it("403: can't be deleted", async () => {
      const org = await api.makeOrganization();
      const callers = [org.owner, api.admin, await api.makeOrganizationToken(org.name)];
      for (const caller of callers) expect((await caller.delete(`/teams/${org.ownersTeamId}`)).status).toBe(403);
      expect((await org.owner.get(`/teams/${org.ownersTeamId}`)).status).toBe(200);
    });

    it("403: the organization's token and other permissions can't change it or its members", async () => {
      const org = await api.makeOrganization();
      const outsider = await api.makeMember(org.name);
      const holder = await api.makeHolder(
        org.name,
        "manage-teams",
        "manage-membership",
        "manage-organization-access",
        "access-secret-teams",
      );
      for (const caller of [await api.makeOrganizationToken(org.name), holder] as Caller[]) {
        const change = resource("teams", { "sso-team-id": "x" });
        expect((await caller.patch(`/teams/${org.ownersTeamId}`, change)).status).toBe(403);
        for (const method of ["POST", "DELETE"]) {
          const byName = await caller.send(method, users(org), people(outsider.username));
          expect(byName.status).toBe(403);
          expect(details(byName)[0]).toContain("owners");
          const byMembership = { data: [{ type: "organization-memberships", id: outsider.membershipId }] };
          expect((await caller.send(method, memberships(org), byMembership)).status).toBe(403);
        }
        expect((await caller.delete(users(org), people(org.owner.username))).status).toBe(403);
      }
      expect(await ownersOf(org)).not.toContain(outsider.id);
      expect(await ownersOf(org)).toContain(org.owner.id);
    });

    it("204: owners and site admins add and remove owners", async () => {
      const org = await api.makeOrganization();
      const ada = await api.makeMember(org.name);
      for (const caller of [org.owner, api.admin]) {
        expect((await caller.post(users(org), people(ada.username))).status).toBe(204);
        expect((await ada.patch(`/organizations/${org.name}`, resource("organizations", {}))).status).toBe(200);
        expect((await caller.delete(users(org), people(ada.username))).status).toBe(204);
        expect((await ada.patch(`/organizations/${org.name}`, resource("organizations", {}))).status).toBe(403);
      }
    });
  });

  describe("the last owner", () => {
    it("409: can't be removed, by name or by membership, by an owner or a site admin", async () => {
      const { org, second } = await organizationOfTwo();
      expect((await org.owner.delete(users(org), people(second.id))).status).toBe(204);
      const [mine] = data(await org.owner.get("/organization-memberships"));
      const membership = { data: [{ type: "organization-memberships", id: mine.id }] };
      for (const caller of [org.owner, api.admin]) {
        const answer = await caller.delete(users(org), people(org.owner.username));
        expect(answer.status).toBe(409);
        expect(answer.body.errors[0].title).toBe("conflict");
        expect((await caller.delete(memberships(org), membership)).status).toBe(409);
        expect((await caller.delete(`/organization-memberships/${mine.id}`)).status).toBe(409);
      }
      expect(await ownersOf(org)).toEqual([org.owner.id]);
    });

    it("409: all owners in one request; none is removed", async () => {
      const { org, second } = await organizationOfTwo();
      expect((await org.owner.delete(users(org), people(org.owner.id, second.id))).status).toBe(409);
      expect(await ownersOf(org)).toHaveLength(2);
      expect(data(await org.owner.get(`/teams/${org.ownersTeamId}`)).attributes["users-count"]).toBe(2);
    });

    it("409: an invited person doesn't count as an owner", async () => {
      const { org, second } = await organizationOfTwo();
      await org.owner.delete(users(org), people(second.id));
      const invitation = resource(
        "organization-memberships",
        { email: "not-yet@example.com" },
        { teams: { data: [{ type: "teams", id: org.ownersTeamId }] } },
      );
      expect((await org.owner.post(`/organizations/${org.name}/organization-memberships`, invitation)).status).toBe(
        201,
      );
      expect((await org.owner.delete(users(org), people(org.owner.id))).status).toBe(409);
    });

    it("409: also when concurrent requests remove the last two", async () => {
      for (let round = 0; round < 5; round += 1) {
        const { org, second } = await organizationOfTwo();
        const answers = await Promise.all([
          api.admin.delete(users(org), people(second.id)),
          api.admin.delete(users(org), people(org.owner.id)),
        ]);
        expect(answers.map((answer) => answer.status).toSorted()).toEqual([204, 409]);
        expect(await ownersOf(org)).toHaveLength(1);
        expect(data(await api.admin.get(`/teams/${org.ownersTeamId}`)).attributes["users-count"]).toBe(1);
      }
    });

    it("409: also when one leaves the team and the other the organization concurrently", async () => {
      for (let round = 0; round < 5; round += 1) {
        const { org, second } = await organizationOfTwo();
        const answers = await Promise.all([
          api.admin.delete(`/organization-memberships/${second.membershipId}`),
          api.admin.delete(users(org), people(org.owner.id)),
        ]);
        expect(answers.map((answer) => answer.status).toSorted()).toEqual([204, 409]);
        expect(await ownersOf(org)).toHaveLength(1);
      }
    });
  });
});

describe("escalation", () => {
  const people = (...ids: string[]) => ({ data: ids.map((id) => ({ type: "users", id })) });
  const linkage = (...ids: string[]) => ({ data: ids.map((id) => ({ type: "organization-memberships", id })) });
  const members = (team: Json) => `/teams/${team.id}/relationships`;

  /** Tries every way to add a person to a team; returns the status codes. */
  async function join(caller: Caller, org: Org, team: Json, person: Member): Promise<number[]> {
    const invitation = resource(
      "organization-memberships",
      { email: `${unique("new")}@example.com` },
      { teams: { data: [{ type: "teams", id: team.id }] } },
    );
    const answers = [
      await caller.post(`${members(team)}/users`, people(person.username)),
      await caller.post(`${members(team)}/organization-memberships`, linkage(person.membershipId)),
      await caller.post(`/organizations/${org.name}/organization-memberships`, invitation),
    ];
    return answers.map((answer) => answer.status);
  }

  async function countOf(team: Json): Promise<number> {
    return data(await api.admin.get(`/teams/${team.id}`)).attributes["users-count"];
  }

  describe("manage-membership", () => {
    it.each(["manage-teams", "manage-projects", "read-projects", "access-secret-teams", "delegate-policy-overrides"])(
      "403: can't add anyone, including itself, to a team with %s",
      async (permission) => {
        const org = await api.makeOrganization();
        const holder = await api.makeHolder(org.name, "manage-membership");
        const other = await api.makeMember(org.name);
        const team = await api.makeTeam(org.name, { "organization-access": { [permission]: true } });
        expect(await join(holder, org, team, holder)).toEqual([403, 403, 403]);
        expect(await join(holder, org, team, other)).toEqual([403, 403, 403]);
        expect(await join(await api.makeTeamToken(holder.teamId), org, team, other)).toEqual([403, 403, 403]);
        expect(await countOf(team)).toBe(0);
      },
    );

    it.each(["read", "write", "maintain", "admin"] as const)(
      "403: can't add anyone, including itself, to a team with %s on a project",
      async (level) => {
        const org = await api.makeOrganization();
        const project = await api.makeProject(org.name);
        const holder = await api.makeHolder(org.name, "manage-membership");
        const team = await api.makeTeam(org.name);
        await api.grantProject(project.id, team.id, level);
        expect(await join(holder, org, team, holder)).toEqual([403, 403, 403]);
        expect((await holder.get(`/projects/${project.id}`)).status).toBe(404);
        expect(await countOf(team)).toBe(0);
      },
    );

    it("403: a grant on another project, or a lower one on this, is not enough; the sum of the caller's grants is", async () => {
      const org = await api.makeOrganization();
      const [project, other] = [await api.makeProject(org.name), await api.makeProject(org.name)];
      const holder = await api.makeHolder(org.name, "manage-membership");
      const ada = await api.makeMember(org.name);
      const team = await api.makeTeam(org.name);
      await api.grantProject(project.id, team.id, "write");
      await api.grantProject(other.id, holder.teamId, "admin");
      expect(await join(holder, org, team, ada)).toEqual([403, 403, 403]);
      await api.grantProject(project.id, holder.teamId, "read");
      expect(await join(holder, org, team, ada)).toEqual([403, 403, 403]);
      const second = await api.makeTeam(org.name);
      await api.grantProject(project.id, second.id, "maintain");
      await org.owner.post(`${members(second)}/users`, people(holder.username));
      expect(await join(holder, org, team, ada)).toEqual([204, 204, 201]);
    });

    it("204: access to every project covers a grant on one", async () => {
      const org = await api.makeOrganization();
      const project = await api.makeProject(org.name);
      const team = await api.makeTeam(org.name);
      await api.grantProject(project.id, team.id, "admin");
      const reader = await api.makeHolder(org.name, "manage-membership", "read-projects");
      const manager = await api.makeHolder(org.name, "manage-membership", "manage-projects");
      expect(await join(reader, org, team, reader)).toEqual([403, 403, 403]);
      expect(await join(manager, org, team, manager)).toEqual([204, 204, 201]);
    });

    it("204: can add to its own team, and to a team without more access", async () => {
      const org = await api.makeOrganization();
      const project = await api.makeProject(org.name);
      const holder = await api.makeHolder(org.name, "manage-membership", "manage-modules");
      await api.grantProject(project.id, holder.teamId, "admin");
      const ada = await api.makeMember(org.name);
      expect(await join(holder, org, { id: holder.teamId }, ada)).toEqual([204, 204, 201]);
      const equal = await api.makeTeam(org.name, { "organization-access": { "manage-modules": true } });
      expect(await join(holder, org, equal, ada)).toEqual([204, 204, 201]);
    });

    it("403: one team with more access rejects the whole invitation", async () => {
      const org = await api.makeOrganization();
      const holder = await api.makeHolder(org.name, "manage-membership");
      const [poor, rich] = [
        await api.makeTeam(org.name),
        await api.makeTeam(org.name, { "organization-access": { "manage-teams": true } }),
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

    it("204: can remove people from any team but the owners team", async () => {
      const org = await api.makeOrganization();
      const holder = await api.makeHolder(org.name, "manage-membership");
      const rich = await api.makeHolder(org.name, "manage-projects");
      const answer = await holder.delete(`${members({ id: rich.teamId })}/users`, people(rich.username));
      expect(answer.status).toBe(204);
      expect(await countOf({ id: rich.teamId })).toBe(0);
    });
  });

  describe("manage-teams", () => {
    it("403: can't join or act as a team with more organization permissions", async () => {
      const org = await api.makeOrganization();
      const holder = await api.makeHolder(org.name, "manage-teams");
      const rich = await api.makeTeam(org.name, { "organization-access": { "manage-projects": true } });
      expect(await join(holder, org, rich, holder)).toEqual([403, 403, 403]);
      for (const path of ["authentication-token", "authentication-tokens"])
        expect((await holder.post(`/teams/${rich.id}/${path}`)).status).toBe(403);
      const grant = resource("teams", { "organization-access": { "manage-membership": true } });
      expect((await holder.patch(`/teams/${holder.teamId}`, grant)).status).toBe(403);
    });

    it.each(["read", "admin"] as const)("403: can't act as a team with %s on a project", async (level) => {
      const org = await api.makeOrganization();
      const project = await api.makeProject(org.name);
      const holder = await api.makeHolder(org.name, "manage-teams");
      const team = await api.makeTeam(org.name);
      await api.grantProject(project.id, team.id, level);
      for (const path of ["authentication-token", "authentication-tokens"])
        expect((await holder.post(`/teams/${team.id}/${path}`)).status).toBe(403);
      await api.grantProject(project.id, holder.teamId, level);
      for (const path of ["authentication-token", "authentication-tokens"])
        expect((await holder.post(`/teams/${team.id}/${path}`)).status).toBe(201);
    });

    it("403: together with manage-membership, the sum of both is the limit", async () => {
      const org = await api.makeOrganization();
      const holder = await api.makeHolder(
        org.name,
        "manage-teams",
        "manage-membership",
        "manage-organization-access",
        "access-secret-teams",
      );
      const rich = await api.makeTeam(org.name, {
        visibility: "secret",
        "organization-access": { "manage-workspaces": true },
      });
      expect(await join(holder, org, rich, holder)).toEqual([403, 403, 403]);
      expect((await holder.post(`/teams/${rich.id}/authentication-token`)).status).toBe(403);
      const own = resource("teams", { "organization-access": { "manage-workspaces": true } });
      expect((await holder.patch(`/teams/${holder.teamId}`, own)).status).toBe(403);
      const created = data(
        await holder.post(`/organizations/${org.name}/teams`, resource("teams", { name: unique("mine") })),
      );
      expect((await holder.patch(`/teams/${created.id}`, own)).status).toBe(403);
    });
  });

  describe("the organization's token", () => {
    it("204: can add members to any team but the owners team", async () => {
      const org = await api.makeOrganization();
      const project = await api.makeProject(org.name);
      const team = await api.makeTeam(org.name, { "organization-access": { "manage-projects": true } });
      await api.grantProject(project.id, team.id, "admin");
      const token = await api.makeOrganizationToken(org.name);
      const ada = await api.makeMember(org.name);
      expect(await join(token, org, team, ada)).toEqual([204, 204, 201]);
      expect(await join(token, org, { id: org.ownersTeamId }, ada)).toEqual([403, 403, 403]);
    });
  });
});
