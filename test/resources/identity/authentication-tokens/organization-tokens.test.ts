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
} from "../../../support/builders.ts";

const api = useApi();

const path = (org: Org) => `/organizations/${org.name}/authentication-token`;
const works = async (caller: Caller) => (await caller.get("/account/details")).status === 200;

describe("the organization's token", () => {
  it("201: acts as the organization, and a new one replaces it", async () => {
    const org = await makeOrganization(api);
    const body = resource("authentication-tokens", { description: "sync", "expired-at": null });
    const answer = await org.owner.post(path(org), body);
    expect(answer.status).toBe(201);
    expect(data(answer).attributes.description).toBe("sync");
    expect(data(answer).relationships.organization.data).toEqual({ id: org.name, type: "organizations" });
    const first = api.as(data(answer).attributes.token);
    expect((await first.get(`/organizations/${org.name}/teams`)).status).toBe(200);

    const second = data(await first.post(path(org)));
    expect(second.relationships["created-by"].data).toEqual({ id: org.id, type: "organizations" });
    expect(await works(first)).toBe(false);
    const present = api.as(second.attributes.token);
    expect(await works(present)).toBe(true);
    const shown = data(await org.owner.get(path(org)));
    expect(shown.id).toBe(second.id);
    expect(shown.attributes.token).toBeNull();
    expect(data(await org.owner.get(`/authentication-tokens/${second.id}`)).id).toBe(second.id);
  });

  it("is found whatever the case of the organization's name", async () => {
    const org = await makeOrganization(api);
    await makeOrganizationToken(api, org.name);
    const answer = await org.owner.get(`/organizations/${org.name.toUpperCase()}/authentication-token`);
    expect(answer.status).toBe(200);
  });

  it("204: revoked; then 404 until there is a new one", async () => {
    const org = await makeOrganization(api);
    expect((await org.owner.get(path(org))).status).toBe(404);
    expect((await org.owner.delete(path(org))).status).toBe(404);
    const token = await makeOrganizationToken(api, org.name);
    expect((await org.owner.delete(path(org))).status).toBe(204);
    expect(await works(token)).toBe(false);
    expect((await org.owner.get(path(org))).status).toBe(404);
  });

  it("422: a refused replacement leaves the former one working", async () => {
    const org = await makeOrganization(api);
    const token = await makeOrganizationToken(api, org.name);
    const body = resource("authentication-tokens", { "expired-at": "2020-01-01T00:00:00Z" });
    expect(pointers(await org.owner.post(path(org), body))).toEqual(["/data/attributes/expired-at"]);
    expect(await works(token)).toBe(true);
  });

  it("403 and 404: members without ownership, whatever they manage; 404: strangers", async () => {
    const org = await makeOrganization(api);
    const token = await makeOrganizationToken(api, org.name);
    const { id } = data(await org.owner.get(path(org)));
    const team = await makeTeam(api, org.name);
    const insiders = [
      await makeMember(api, org.name),
      await makeHolder(api, org.name, "manage-teams", "manage-membership", "manage-organization-access"),
      await makeTeamToken(api, team.id),
    ];
    const outsiders = [await makeUser(api), (await makeOrganization(api)).owner];
    for (const caller of insiders) expect((await caller.post(path(org))).status).toBe(403);
    for (const caller of outsiders) expect((await caller.post(path(org))).status).toBe(404);
    for (const caller of [...insiders, ...outsiders]) {
      expect((await caller.get(path(org))).status).toBe(404);
      expect((await caller.delete(path(org))).status).toBe(404);
      expect((await caller.get(`/authentication-tokens/${id}`)).status).toBe(404);
      expect((await caller.delete(`/authentication-tokens/${id}`)).status).toBe(404);
    }
    expect(await works(token)).toBe(true);
  });
});

describe("listOrganizationTokens", () => {
  const list = (org: Org, query = "") => `/organizations/${org.name}/authentication-tokens${query}`;

  it("200: the one token of a kind without its secret, or none", async () => {
    const org = await makeOrganization(api);
    for (const query of ["", "?token=audit-trails"]) {
      const none = await org.owner.get(list(org, query));
      expect([data(none), none.body.meta.pagination["total-count"]]).toEqual([[], 0]);
    }
    await makeOrganizationToken(api, org.name);
    const [shown, ...others] = data(await org.owner.get(list(org)));
    expect(shown).toEqual(data(await org.owner.get(path(org))));
    expect([shown.attributes.token, others]).toEqual([null, []]);
    expect(data(await org.owner.get(list(org, "?token=audit-trails")))).toEqual([]);
  });

  it("403: members without ownership; 404: strangers", async () => {
    const org = await makeOrganization(api);
    await makeOrganizationToken(api, org.name);
    for (const caller of [await makeMember(api, org.name), await makeHolder(api, org.name, "manage-teams")])
      expect((await caller.get(list(org))).status).toBe(403);
    expect((await (await makeUser(api)).get(list(org))).status).toBe(404);
  });
});

describe("listOrganizationTeamTokens", () => {
  const list = (org: Org, query = "") => `/organizations/${org.name}/team-tokens${query}`;
  const teamsOf = async (caller: Caller, org: Org, query = ""): Promise<string[]> =>
    data(await caller.get(list(org, query))).map((token: Json) => token.relationships.team.data.id);

  it("200: the tokens of all teams without secrets, and no others", async () => {
    const org = await makeOrganization(api);
    const [one, two] = [await makeTeam(api, org.name), await makeTeam(api, org.name, { visibility: "secret" })];
    for (const id of [one.id, two.id, org.ownersTeamId]) await makeTeamToken(api, id);
    await makeOrganizationToken(api, org.name);
    const answer = await org.owner.get(list(org));
    expect((await teamsOf(org.owner, org)).toSorted()).toEqual([one.id, two.id, org.ownersTeamId].toSorted());
    expect(data(answer).map((token: Json) => token.attributes.token)).toEqual([null, null, null]);
    expect(answer.body.meta.pagination["total-count"]).toBe(3);
  });

  it("200: those that the caller may manage: the owners' for owners in person, secret teams' for those who know of them", async () => {
    const org = await makeOrganization(api);
    const [open, secret] = [await makeTeam(api, org.name), await makeTeam(api, org.name, { visibility: "secret" })];
    const holder = await makeHolder(api, org.name, "manage-teams");
    const initiated = await makeHolder(api, org.name, "manage-teams", "access-secret-teams");
    const insider = await makeHolder(api, org.name, "manage-teams");
    await org.owner.post(`/teams/${secret.id}/relationships/users`, {
      data: [{ type: "users", id: insider.username }],
    });
    for (const id of [open.id, secret.id, org.ownersTeamId]) await makeTeamToken(api, id);
    const organizationToken = await makeOrganizationToken(api, org.name);
    expect(await teamsOf(holder, org)).toEqual([open.id]);
    for (const caller of [initiated, insider, organizationToken])
      expect((await teamsOf(caller, org)).toSorted()).toEqual([open.id, secret.id].toSorted());
    expect(await teamsOf(api.admin, org)).toHaveLength(3);
  });

  it("200: q is part of the team's name, ignoring case", async () => {
    const org = await makeOrganization(api);
    const [network, storage] = [
      await makeTeam(api, org.name, { name: "network" }),
      await makeTeam(api, org.name, { name: "storage" }),
    ];
    for (const { id } of [network, storage]) await makeTeamToken(api, id);
    expect(await teamsOf(org.owner, org, "?q=NETW")).toEqual([network.id]);
    expect(await teamsOf(org.owner, org, "?q=%25")).toEqual([]);
  });

  it("200: sorted, with pages, and the other way round", async () => {
    const org = await makeOrganization(api);
    const ids: string[] = [];
    for (const name of ["bravo", "Alpha", "charlie"]) {
      const { id } = await makeTeam(api, org.name, { name });
      await makeTeamToken(api, id);
      ids.push(id);
    }
    const [bravo, alpha, charlie] = ids;
    expect(await teamsOf(org.owner, org, "?sort=team-name")).toEqual([alpha, bravo, charlie]);
    expect(await teamsOf(org.owner, org, "?sort=-team-name")).toEqual([charlie, bravo, alpha]);
    expect(await teamsOf(org.owner, org, "?sort=team-name&page[size]=1&page[number]=2")).toEqual([bravo]);
    expect((await teamsOf(org.owner, org, "?sort=created-by")).toSorted()).toEqual(ids.toSorted());
  });

  it("200: by expiry, never comes after every date; by last use, never comes before", async () => {
    const org = await makeOrganization(api);
    const made: Record<string, string> = {};
    for (const [name, expiry] of [
      ["never", null],
      ["late", "2098-01-01T00:00:00Z"],
      ["soon", "2097-01-01T00:00:00Z"],
    ] as const) {
      const team = await makeTeam(api, org.name);
      const body = resource("authentication-tokens", { "expired-at": expiry });
      const token = data(await org.owner.post(`/teams/${team.id}/authentication-tokens`, body));
      made[name] = team.id;
      await api.database.write((tx) =>
        tx.db
          .updateTable("tokens")
          .set({ lastUsedAt: name === "never" ? null : `${name === "late" ? "2020" : "2021"}-01-01T00:00:00.000Z` })
          .where("id", "=", token.id)
          .execute(),
      );
    }
    expect(await teamsOf(org.owner, org, "?sort=expired-at")).toEqual([made["soon"], made["late"], made["never"]]);
    expect(await teamsOf(org.owner, org, "?sort=-expired-at")).toEqual([made["never"], made["late"], made["soon"]]);
    expect(await teamsOf(org.owner, org, "?sort=last-used-at")).toEqual([made["never"], made["late"], made["soon"]]);
    expect(await teamsOf(org.owner, org, "?sort=-last-used-at")).toEqual([made["soon"], made["late"], made["never"]]);
  });

  it("400: a sort key that there is not", async () => {
    const org = await makeOrganization(api);
    const answer = await org.owner.get(list(org, "?sort=secret"));
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(["sort"]);
  });

  it("403: members without manage-teams; 404: strangers", async () => {
    const org = await makeOrganization(api);
    for (const caller of [await makeMember(api, org.name), await makeHolder(api, org.name, "manage-membership")])
      expect((await caller.get(list(org))).status).toBe(403);
    expect((await (await makeUser(api)).get(list(org))).status).toBe(404);
  });
});
