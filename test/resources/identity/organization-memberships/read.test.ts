import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();

const path = (org: Org) => `/organizations/${org.name}/organization-memberships`;
const listed = async (caller: Caller, org: Org, query: string): Promise<string[]> =>
  data(await caller.get(`${path(org)}?${query}`)).map((membership: Json) => membership.attributes.email);
const invite = async (org: Org, email: string): Promise<Json> =>
  data(await org.owner.post(path(org), resource("organization-memberships", { email })));

describe("listOrganizationMemberships", () => {
  it("200: all of them, in pages that don't overlap", async () => {
    const org = await api.makeOrganization();
    for (let count = 0; count < 3; count += 1) await api.makeMember(org.name);
    const pages = await Promise.all(
      [1, 2, 3].map((page) => org.owner.get(`${path(org)}?page[size]=2&page[number]=${page}`)),
    );
    expect(pages.map((page) => data(page).length)).toEqual([2, 2, 1]);
    expect(new Set(pages.flatMap((page) => data(page).map((one: Json) => one.id))).size).toBe(5);
    expect(pages[0]?.body.meta.pagination).toMatchObject({ "total-count": 5, "total-pages": 3, "next-page": 2 });
  });

  it("200: every document equals the one of the membership's own route", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name, { visibility: "secret" });
    await api.makeMember(org.name, [team.id]);
    for (const caller of [org.owner, await api.makeMember(org.name)]) {
      for (const one of data(await caller.get(path(org))))
        expect(data(await caller.get(`/organization-memberships/${one.id}`))).toEqual(one);
    }
  });

  it("200: q matches part of the email address or username, ignoring case and without wildcards", async () => {
    const org = await api.makeOrganization();
    const ada = await api.makeMember(org.name);
    const renamed = unique("Lovelace");
    await ada.patch("/account/update", resource("users", { username: renamed }));
    const email = `${unique("under_score")}@example.com`;
    await invite(org, email);
    expect(await listed(org.owner, org, `q=${renamed.toUpperCase()}`)).toEqual([ada.email]);
    expect(await listed(org.owner, org, `q=${ada.email.slice(0, -4).toUpperCase()}`)).toEqual([ada.email]);
    expect(await listed(org.owner, org, "q=r_s")).toEqual([email]);
    expect(await listed(org.owner, org, "q=%25")).toEqual([]);
  });

  it("200: filter[email] matches exact addresses, ignoring case", async () => {
    const org = await api.makeOrganization();
    const [ada, grace] = [await api.makeMember(org.name), await api.makeMember(org.name)];
    const both = `filter[email]=${ada.email.toUpperCase()},${grace.email},nobody@example.com`;
    expect((await listed(org.owner, org, both)).toSorted()).toEqual([ada.email, grace.email].toSorted());
    expect(await listed(org.owner, org, `filter[email]=${ada.email.slice(1)}`)).toEqual([]);
  });

  it("200: filter[status]; 400 for an unknown status", async () => {
    const org = await api.makeOrganization();
    const email = `${unique("invited")}@example.com`;
    await invite(org, email);
    expect(await listed(org.owner, org, "filter[status]=invited")).toEqual([email]);
    const active = await listed(org.owner, org, "filter[status]=active");
    expect(active).toHaveLength(2);
    expect(active).not.toContain(email);
    const unknown = await org.owner.get(`${path(org)}?filter[status]=retired`);
    expect(unknown.status).toBe(400);
    expect(pointers(unknown)).toEqual(["filter[status]"]);
  });

  it("200: includes users and teams, without the email addresses of others", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const ada = await api.makeMember(org.name, [team.id]);
    const answer = await org.owner.get(`${path(org)}?include=user,teams&filter[email]=${ada.email}`);
    const included: Json[] = answer.body.included;
    expect(included.map((item) => [item.type, item.id]).toSorted()).toEqual([
      ["teams", team.id],
      ["users", ada.id],
    ]);
    expect(included.find((item) => item.type === "users").attributes).not.toHaveProperty("email");
    expect(included.find((item) => item.type === "teams")).toEqual(data(await org.owner.get(`/teams/${team.id}`)));
    expect((await org.owner.get(`${path(org)}?include=organization`)).status).toBe(400);
  });

  it("200: members, tokens of the organization and of its teams; 404: others", async () => {
    const [here, there] = [await api.makeOrganization(), await api.makeOrganization()];
    const team = await api.makeTeam(here.name);
    const insiders = [
      await api.makeMember(here.name),
      await api.makeTeamToken(team.id),
      await api.makeOrganizationToken(here.name),
    ];
    for (const caller of insiders) expect((await caller.get(path(here))).status).toBe(200);
    const outsiders = [await api.makeUser(), there.owner, await api.makeOrganizationToken(there.name)];
    for (const caller of outsiders) expect((await caller.get(path(here))).status).toBe(404);
    expect((await api.nobody.get(path(here))).status).toBe(401);
  });
});

describe("a member's secret teams", () => {
  it("are shown only to callers who can see them", async () => {
    const org = await api.makeOrganization();
    const [open, secret] = [await api.makeTeam(org.name), await api.makeTeam(org.name, { visibility: "secret" })];
    const ada = await api.makeMember(org.name, [open.id, secret.id]);
    const teamsSeenBy = async (caller: Caller): Promise<string[][]> => {
      const alone = await caller.get(`/organization-memberships/${ada.membershipId}?include=teams`);
      const list = await caller.get(`${path(org)}?include=teams&filter[email]=${ada.email}`);
      return [
        data(alone).relationships.teams.data,
        data(list)[0].relationships.teams.data,
        alone.body.included,
        list.body.included,
      ].map((items: Json[]) => items.map((item) => item.id).toSorted());
    };
    const all = [open.id, secret.id].toSorted();
    const insiders = [
      ada,
      org.owner,
      await api.makeMember(org.name, [secret.id]),
      await api.makeTeamToken(secret.id),
      await api.makeOrganizationToken(org.name),
      await api.makeHolder(org.name, "access-secret-teams"),
    ];
    for (const caller of insiders) expect(await teamsSeenBy(caller)).toEqual([all, all, all, all]);
    const others = [
      await api.makeMember(org.name, [open.id]),
      await api.makeHolder(org.name, "manage-membership", "manage-teams"),
      await api.makeTeamToken(open.id),
    ];
    for (const caller of others)
      expect(await teamsSeenBy(caller)).toEqual([[open.id], [open.id], [open.id], [open.id]]);
  });
});

describe("listMyOrganizationMemberships", () => {
  it("200: the caller's memberships in all organizations, with all of the caller's teams", async () => {
    const [one, two] = [await api.makeOrganization(), await api.makeOrganization()];
    const secret = await api.makeTeam(one.name, { visibility: "secret" });
    const ada = await api.makeMember(one.name, [secret.id]);
    const second = data(await two.owner.post(path(two), resource("organization-memberships", { email: ada.email })));
    const mine = await ada.get("/organization-memberships");
    expect(
      data(mine)
        .map((one: Json) => one.id)
        .toSorted(),
    ).toEqual([ada.membershipId, second.id].toSorted());
    const first = data(mine).find((membership: Json) => membership.id === ada.membershipId);
    expect(first.relationships.teams.data).toEqual([{ id: secret.id, type: "teams" }]);
    expect(first).toEqual(data(await ada.get(`/organization-memberships/${ada.membershipId}`)));
    const page = await ada.get("/organization-memberships?page[size]=1");
    expect(data(page)).toHaveLength(1);
    expect(page.body.meta.pagination["total-count"]).toBe(2);
  });

  it("200: an empty list for a user without memberships", async () => {
    expect(data(await (await api.makeUser()).get("/organization-memberships"))).toEqual([]);
  });

  it("403: tokens that don't belong to a user", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    for (const caller of [await api.makeTeamToken(team.id), await api.makeOrganizationToken(org.name)])
      expect((await caller.get("/organization-memberships")).status).toBe(403);
  });
});

describe("showOrganizationMembership", () => {
  it("200: to members; 404: to others, and for an unknown id", async () => {
    const org = await api.makeOrganization();
    const ada = await api.makeMember(org.name);
    const one = `/organization-memberships/${ada.membershipId}`;
    expect(data(await (await api.makeMember(org.name)).get(one)).attributes.email).toBe(ada.email);
    expect((await (await api.makeUser()).get(one)).status).toBe(404);
    expect((await (await api.makeOrganization()).owner.get(one)).status).toBe(404);
    expect((await org.owner.get("/organization-memberships/ou-unknown")).status).toBe(404);
    expect((await api.nobody.get(one)).status).toBe(401);
  });

  it("200: include=user", async () => {
    const org = await api.makeOrganization();
    const ada = await api.makeMember(org.name);
    const answer = await ada.get(`/organization-memberships/${ada.membershipId}?include=user`);
    expect(answer.body.included).toEqual([data(await ada.get("/account/details"))]);
  });
});

const one = (membershipId: string) => `/organization-memberships/${membershipId}`;

describe("deleteOrganizationMembership", () => {
  it("204: the person leaves every team and has no access with the next request", async () => {
    const org = await api.makeOrganization();
    const project = await api.makeProject(org.name);
    const team = await api.makeTeam(org.name);
    await api.grantProject(project.id, team.id, "admin");
    const ada = await api.makeMember(org.name, [team.id]);
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

  it("204: a person who is added again is in none of the former teams", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const ada = await api.makeMember(org.name, [team.id]);
    await org.owner.delete(one(ada.membershipId));
    const body = resource("organization-memberships", { email: ada.email });
    const again = data(await org.owner.post(`/organizations/${org.name}/organization-memberships`, body));
    expect(again.relationships.teams.data).toEqual([]);
    expect(data(await org.owner.get(`/teams/${team.id}`)).attributes["users-count"]).toBe(0);
  });

  it("204: deleting an invitation doesn't change the teams' counts", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    await api.makeMember(org.name, [team.id]);
    const body = resource(
      "organization-memberships",
      { email: "invited@example.com" },
      { teams: { data: [{ type: "teams", id: team.id }] } },
    );
    const invited = data(await org.owner.post(`/organizations/${org.name}/organization-memberships`, body));
    expect((await org.owner.delete(one(invited.id))).status).toBe(204);
    expect(data(await org.owner.get(`/teams/${team.id}`)).attributes["users-count"]).toBe(1);
  });

  it("records an event with the person and all teams", async () => {
    const org = await api.makeOrganization();
    const [open, secret] = [await api.makeTeam(org.name), await api.makeTeam(org.name, { visibility: "secret" })];
    const ada = await api.makeMember(org.name, [open.id, secret.id]);
    const holder = await api.makeHolder(org.name, "manage-membership");
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

  it("204: members can leave", async () => {
    const org = await api.makeOrganization();
    const ada = await api.makeMember(org.name);
    expect((await ada.delete(one(ada.membershipId))).status).toBe(204);
    expect((await ada.get(`/organizations/${org.name}`)).status).toBe(404);
  });

  it("204: site admins, the organization's token, holders of manage-membership", async () => {
    const org = await api.makeOrganization();
    const holder = await api.makeHolder(org.name, "manage-membership");
    const callers = [api.admin, await api.makeOrganizationToken(org.name), holder];
    for (const caller of [...callers, await api.makeTeamToken(holder.teamId)]) {
      const ada = await api.makeMember(org.name);
      expect((await caller.delete(one(ada.membershipId))).status).toBe(204);
    }
  });

  it("403: other members; 404: strangers", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const ada = await api.makeMember(org.name, [team.id]);
    const callers = [
      await api.makeMember(org.name, [team.id]),
      await api.makeHolder(org.name, "manage-teams"),
      await api.makeTeamToken(team.id),
    ];
    for (const caller of callers) {
      const answer = await caller.delete(one(ada.membershipId));
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("manage-membership");
    }
    const outsiders = [await api.makeUser(), (await api.makeOrganization()).owner];
    for (const caller of outsiders) expect((await caller.delete(one(ada.membershipId))).status).toBe(404);
    expect((await api.nobody.delete(one(ada.membershipId))).status).toBe(401);
    expect((await org.owner.get(one(ada.membershipId))).status).toBe(200);
  });

  it("403: an owner's membership, for everybody but owners", async () => {
    const org = await api.makeOrganization();
    const [ada, grace] = [
      await api.makeMember(org.name, [org.ownersTeamId]),
      await api.makeMember(org.name, [org.ownersTeamId]),
    ];
    const callers = [
      await api.makeHolder(org.name, "manage-membership", "manage-teams"),
      await api.makeOrganizationToken(org.name),
    ];
    for (const caller of callers) expect((await caller.delete(one(ada.membershipId))).status).toBe(403);
    expect((await org.owner.delete(one(ada.membershipId))).status).toBe(204);
    expect((await grace.delete(one(grace.membershipId))).status).toBe(204);
  });

  it("409: the last owner can't be removed, not even by leaving", async () => {
    const org = await api.makeOrganization();
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

  it("409: also when the last two leave concurrently", async () => {
    for (let round = 0; round < 5; round += 1) {
      const org = await api.makeOrganization();
      const [adminMembership] = data(
        await api.admin.get(`/organizations/${org.name}/organization-memberships?filter[email]=admin@localhost`),
      );
      const [mine] = data(await org.owner.get("/organization-memberships"));
      const answers = await Promise.all([org.owner.delete(one(mine.id)), api.admin.delete(one(adminMembership.id))]);
      expect(answers.map((answer) => answer.status).toSorted()).toEqual([204, 409]);
    }
  });

  it("412: an invitation that has become a membership", async () => {
    const org = await api.makeOrganization();
    const email = "newcomer@example.com";
    const body = resource("organization-memberships", { email });
    const answer = await org.owner.post(`/organizations/${org.name}/organization-memberships`, body);
    const etag = answer.headers.get("etag") ?? "";
    await api.makeUser({ email });
    const { id } = data(answer);
    expect((await org.owner.delete(one(id), undefined, { "if-match": etag })).status).toBe(412);
  });
});
