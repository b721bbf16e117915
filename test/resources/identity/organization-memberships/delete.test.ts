import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  grantProject,
  makeHolder,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeProject,
  makeTeam,
  makeTeamToken,
  makeUser,
  resource,
} from "../../../support/builders.ts";

const api = useApi();

const one = (membershipId: string) => `/organization-memberships/${membershipId}`;

describe("deleteOrganizationMembership", () => {
  it("204: the person is out of every team and without access with the next request", async () => {
    const org = await makeOrganization(api);
    const project = await makeProject(api, org.name);
    const team = await makeTeam(api, org.name);
    await grantProject(api, org.id, project.id, team.id, "admin");
    const ada = await makeMember(api, org.name, [team.id]);
    expect((await ada.get(`/projects/${project.id}`)).status).toBe(200);

    expect((await org.owner.delete(one(ada.membershipId))).status).toBe(204);

    expect((await ada.get(`/projects/${project.id}`)).status).toBe(404);
    expect((await ada.get(`/organizations/${org.name}`)).status).toBe(404);
    expect(data(await ada.get("/organization-memberships"))).toEqual([]);
    const after = data(await org.owner.get(`/teams/${team.id}?include=users`));
    expect(after.attributes["users-count"]).toBe(0);
    expect(after.relationships.users.data).toEqual([]);
    expect((await org.owner.get(one(ada.membershipId))).status).toBe(404);
    expect((await org.owner.delete(one(ada.membershipId))).status).toBe(404);
  });

  it("204: a person who comes back is in none of the former teams", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name);
    const ada = await makeMember(api, org.name, [team.id]);
    await org.owner.delete(one(ada.membershipId));
    const body = resource("organization-memberships", { email: ada.email });
    const again = data(await org.owner.post(`/organizations/${org.name}/organization-memberships`, body));
    expect(again.relationships.teams.data).toEqual([]);
    expect(data(await org.owner.get(`/teams/${team.id}`)).attributes["users-count"]).toBe(0);
  });

  it("204: an invited person was not counted, and is not discounted", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name);
    await makeMember(api, org.name, [team.id]);
    const body = resource(
      "organization-memberships",
      { email: "invited@example.com" },
      { teams: { data: [{ type: "teams", id: team.id }] } },
    );
    const invited = data(await org.owner.post(`/organizations/${org.name}/organization-memberships`, body));
    expect((await org.owner.delete(one(invited.id))).status).toBe(204);
    expect(data(await org.owner.get(`/teams/${team.id}`)).attributes["users-count"]).toBe(1);
  });

  it("leaves a trace of whom, and of all the teams", async () => {
    const org = await makeOrganization(api);
    const [open, secret] = [await makeTeam(api, org.name), await makeTeam(api, org.name, { visibility: "secret" })];
    const ada = await makeMember(api, org.name, [open.id, secret.id]);
    const holder = await makeHolder(api, org.name, "manage-membership");
    await holder.delete(one(ada.membershipId));
    const action = "organization-memberships.delete";
    const events = data(
      await org.owner.get(
        `/organizations/${org.name}/audit-events?filter[subject][id]=${ada.membershipId}&filter[action]=${action}`,
      ),
    );
    expect(events.map((event: Json) => event.attributes)).toMatchObject([
      {
        "actor-id": holder.id,
        before: { email: ada.email, status: "active", teams: [open.id, secret.id].toSorted() },
        after: null,
      },
    ]);
  });

  it("204: everybody may leave", async () => {
    const org = await makeOrganization(api);
    const ada = await makeMember(api, org.name);
    expect((await ada.delete(one(ada.membershipId))).status).toBe(204);
    expect((await ada.get(`/organizations/${org.name}`)).status).toBe(404);
  });

  it("204: site admins, the organization's token, holders of manage-membership", async () => {
    const org = await makeOrganization(api);
    const holder = await makeHolder(api, org.name, "manage-membership");
    const callers = [api.admin, await makeOrganizationToken(api, org.name), holder];
    for (const caller of [...callers, await makeTeamToken(api, holder.teamId)]) {
      const ada = await makeMember(api, org.name);
      expect((await caller.delete(one(ada.membershipId))).status).toBe(204);
    }
  });

  it("403: other members; 404: strangers", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name);
    const ada = await makeMember(api, org.name, [team.id]);
    const callers = [
      await makeMember(api, org.name, [team.id]),
      await makeHolder(api, org.name, "manage-teams"),
      await makeTeamToken(api, team.id),
    ];
    for (const caller of callers) {
      const answer = await caller.delete(one(ada.membershipId));
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("manage-membership");
    }
    const outsiders = [await makeUser(api), (await makeOrganization(api)).owner];
    for (const caller of outsiders) expect((await caller.delete(one(ada.membershipId))).status).toBe(404);
    expect((await api.nobody.delete(one(ada.membershipId))).status).toBe(401);
    expect((await org.owner.get(one(ada.membershipId))).status).toBe(200);
  });

  it("403: an owner's, for everybody but owners in person and the owner", async () => {
    const org = await makeOrganization(api);
    const [ada, grace] = [
      await makeMember(api, org.name, [org.ownersTeamId]),
      await makeMember(api, org.name, [org.ownersTeamId]),
    ];
    const callers = [
      await makeHolder(api, org.name, "manage-membership", "manage-teams"),
      await makeOrganizationToken(api, org.name),
    ];
    for (const caller of callers) expect((await caller.delete(one(ada.membershipId))).status).toBe(403);
    expect((await org.owner.delete(one(ada.membershipId))).status).toBe(204);
    expect((await grace.delete(one(grace.membershipId))).status).toBe(204);
  });

  it("409: the last owner stays, also when leaving of one's own will", async () => {
    const org = await makeOrganization(api);
    const [adminMembership] = data(
      await api.admin.get(`/organizations/${org.name}/organization-memberships?filter[email]=admin@localhost`),
    );
    expect((await org.owner.delete(one(adminMembership.id))).status).toBe(204);
    const [mine] = data(await org.owner.get("/organization-memberships"));
    for (const caller of [org.owner, api.admin]) {
      const answer = await caller.delete(one(mine.id));
      expect(answer.status).toBe(409);
      expect(answer.body.errors[0].title).toBe("conflict");
    }
    expect((await org.owner.get(one(mine.id))).status).toBe(200);
  });

  it("409: also when the last two leave at once", async () => {
    for (let round = 0; round < 5; round += 1) {
      const org = await makeOrganization(api);
      const [adminMembership] = data(
        await api.admin.get(`/organizations/${org.name}/organization-memberships?filter[email]=admin@localhost`),
      );
      const [mine] = data(await org.owner.get("/organization-memberships"));
      const answers = await Promise.all([org.owner.delete(one(mine.id)), api.admin.delete(one(adminMembership.id))]);
      expect(answers.map((answer) => answer.status).toSorted()).toEqual([204, 409]);
    }
  });

  it("412: an invitation that became a membership meanwhile", async () => {
    const org = await makeOrganization(api);
    const email = "newcomer@example.com";
    const body = resource("organization-memberships", { email });
    const answer = await org.owner.post(`/organizations/${org.name}/organization-memberships`, body);
    const etag = answer.headers.get("etag") ?? "";
    await makeUser(api, { email });
    const { id } = data(answer);
    expect((await org.owner.delete(one(id), undefined, { "if-match": etag })).status).toBe(412);
  });
});
