import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  makeHolder,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeTeam,
  makeTeamToken,
  makeUser,
  type Org,
  pointers,
  resource,
  unique,
} from "../../../support/builders.ts";

const api = useApi();

const path = (org: Org) => `/organizations/${org.name}/organization-memberships`;
const listed = async (caller: Caller, org: Org, query: string): Promise<string[]> =>
  data(await caller.get(`${path(org)}?${query}`)).map((membership: Json) => membership.attributes.email);
const invite = async (org: Org, email: string): Promise<Json> =>
  data(await org.owner.post(path(org), resource("organization-memberships", { email })));

describe("listOrganizationMemberships", () => {
  it("200: all of them, in pages that don't overlap", async () => {
    const org = await makeOrganization(api);
    for (let count = 0; count < 3; count += 1) await makeMember(api, org.name);
    const pages = await Promise.all(
      [1, 2, 3].map((page) => org.owner.get(`${path(org)}?page[size]=2&page[number]=${page}`)),
    );
    expect(pages.map((page) => data(page).length)).toEqual([2, 2, 1]);
    expect(new Set(pages.flatMap((page) => data(page).map((one: Json) => one.id))).size).toBe(5);
    expect(pages[0]?.body.meta.pagination).toMatchObject({ "total-count": 5, "total-pages": 3, "next-page": 2 });
  });

  it("200: every document is the one that the membership's own address gives", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name, { visibility: "secret" });
    await makeMember(api, org.name, [team.id]);
    for (const caller of [org.owner, await makeMember(api, org.name)]) {
      for (const one of data(await caller.get(path(org))))
        expect(data(await caller.get(`/organization-memberships/${one.id}`))).toEqual(one);
    }
  });

  it("200: q is part of the address or the name, ignoring case, and no wildcard", async () => {
    const org = await makeOrganization(api);
    const ada = await makeMember(api, org.name);
    const renamed = unique("Lovelace");
    await ada.patch("/account/update", resource("users", { username: renamed }));
    const email = `${unique("under_score")}@example.com`;
    await invite(org, email);
    expect(await listed(org.owner, org, `q=${renamed.toUpperCase()}`)).toEqual([ada.email]);
    expect(await listed(org.owner, org, `q=${ada.email.slice(0, -4).toUpperCase()}`)).toEqual([ada.email]);
    expect(await listed(org.owner, org, "q=r_s")).toEqual([email]);
    expect(await listed(org.owner, org, "q=%25")).toEqual([]);
  });

  it("200: filter[email] are whole addresses, ignoring case", async () => {
    const org = await makeOrganization(api);
    const [ada, grace] = [await makeMember(api, org.name), await makeMember(api, org.name)];
    const both = `filter[email]=${ada.email.toUpperCase()},${grace.email},nobody@example.com`;
    expect((await listed(org.owner, org, both)).toSorted()).toEqual([ada.email, grace.email].toSorted());
    expect(await listed(org.owner, org, `filter[email]=${ada.email.slice(1)}`)).toEqual([]);
  });

  it("200: filter[status]; 400 for one that there is not", async () => {
    const org = await makeOrganization(api);
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

  it("200: include brings users and teams, without the addresses of others", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name);
    const ada = await makeMember(api, org.name, [team.id]);
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
    const [here, there] = [await makeOrganization(api), await makeOrganization(api)];
    const team = await makeTeam(api, here.name);
    const insiders = [
      await makeMember(api, here.name),
      await makeTeamToken(api, team.id),
      await makeOrganizationToken(api, here.name),
    ];
    for (const caller of insiders) expect((await caller.get(path(here))).status).toBe(200);
    const outsiders = [await makeUser(api), there.owner, await makeOrganizationToken(api, there.name)];
    for (const caller of outsiders) expect((await caller.get(path(here))).status).toBe(404);
    expect((await api.nobody.get(path(here))).status).toBe(401);
  });
});

describe("a member's secret teams", () => {
  it("are shown to those who may know of them, in lists and alone, and to nobody else", async () => {
    const org = await makeOrganization(api);
    const [open, secret] = [await makeTeam(api, org.name), await makeTeam(api, org.name, { visibility: "secret" })];
    const ada = await makeMember(api, org.name, [open.id, secret.id]);
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
      await makeMember(api, org.name, [secret.id]),
      await makeTeamToken(api, secret.id),
      await makeOrganizationToken(api, org.name),
      await makeHolder(api, org.name, "access-secret-teams"),
    ];
    for (const caller of insiders) expect(await teamsSeenBy(caller)).toEqual([all, all, all, all]);
    const others = [
      await makeMember(api, org.name, [open.id]),
      await makeHolder(api, org.name, "manage-membership", "manage-teams"),
      await makeTeamToken(api, open.id),
    ];
    for (const caller of others)
      expect(await teamsSeenBy(caller)).toEqual([[open.id], [open.id], [open.id], [open.id]]);
  });
});

describe("listMyOrganizationMemberships", () => {
  it("200: the caller's own, in every organization, with all own teams", async () => {
    const [one, two] = [await makeOrganization(api), await makeOrganization(api)];
    const secret = await makeTeam(api, one.name, { visibility: "secret" });
    const ada = await makeMember(api, one.name, [secret.id]);
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

  it("200: none for somebody who is nowhere", async () => {
    expect(data(await (await makeUser(api)).get("/organization-memberships"))).toEqual([]);
  });

  it("403: tokens that are not a person's", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name);
    for (const caller of [await makeTeamToken(api, team.id), await makeOrganizationToken(api, org.name)])
      expect((await caller.get("/organization-memberships")).status).toBe(403);
  });
});

describe("showOrganizationMembership", () => {
  it("200: to members; 404: to others, and for an unknown id", async () => {
    const org = await makeOrganization(api);
    const ada = await makeMember(api, org.name);
    const one = `/organization-memberships/${ada.membershipId}`;
    expect(data(await (await makeMember(api, org.name)).get(one)).attributes.email).toBe(ada.email);
    expect((await (await makeUser(api)).get(one)).status).toBe(404);
    expect((await (await makeOrganization(api)).owner.get(one)).status).toBe(404);
    expect((await org.owner.get("/organization-memberships/ou-unknown")).status).toBe(404);
    expect((await api.nobody.get(one)).status).toBe(401);
  });

  it("200: include=user", async () => {
    const org = await makeOrganization(api);
    const ada = await makeMember(api, org.name);
    const answer = await ada.get(`/organization-memberships/${ada.membershipId}?include=user`);
    expect(answer.body.included).toEqual([data(await ada.get("/account/details"))]);
  });
});
