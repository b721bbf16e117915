import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, pointers, resource } from "../../../support/builders.ts";

const api = useApi();

const listed = async (caller: Caller, organization: string, query = ""): Promise<string[]> =>
  data(await caller.get(`/organizations/${organization}/teams${query}`)).map((team: Json) => team.attributes.name);

describe("listTeams", () => {
  it("200: by name, in pages that don't overlap", async () => {
    const org = await api.makeOrganization();
    for (const name of ["charlie", "Alpha", "bravo"]) await api.makeTeam(org.name, { name });
    expect(await listed(org.owner, org.name)).toEqual(["Alpha", "bravo", "charlie", "owners"]);
    const second = await org.owner.get(`/organizations/${org.name}/teams?page[size]=3&page[number]=2`);
    expect(data(second).map((team: Json) => team.attributes.name)).toEqual(["owners"]);
    expect(second.body.meta.pagination).toEqual({
      "current-page": 2,
      "page-size": 3,
      "prev-page": 1,
      "next-page": null,
      "total-pages": 2,
      "total-count": 4,
    });
    const past = await org.owner.get(`/organizations/${org.name}/teams?page[number]=9`);
    expect(past.body.data).toEqual([]);
    expect(past.body.meta.pagination["total-count"]).toBe(4);
  });

  it("200: q matches part of the name, ignoring case and without wildcards", async () => {
    const org = await api.makeOrganization();
    for (const name of ["net_work", "net-work", "storage"]) await api.makeTeam(org.name, { name });
    expect(await listed(org.owner, org.name, "?q=NET")).toEqual(["net-work", "net_work"]);
    expect(await listed(org.owner, org.name, "?q=t_w")).toEqual(["net_work"]);
    expect(await listed(org.owner, org.name, "?q=%25")).toEqual([]);
    const page = await org.owner.get(`/organizations/${org.name}/teams?q=net&page[size]=1`);
    expect(page.body.meta.pagination["total-count"]).toBe(2);
  });

  it("200: filter[names] matches exact names, ignoring case", async () => {
    const org = await api.makeOrganization();
    for (const name of ["net", "network", "storage"]) await api.makeTeam(org.name, { name });
    expect(await listed(org.owner, org.name, "?filter[names]=NET,Storage,unknown")).toEqual(["net", "storage"]);
    expect(await listed(org.owner, org.name, "?filter%5Bnames%5D=netw")).toEqual([]);
  });

  it("400: an unknown include", async () => {
    const org = await api.makeOrganization();
    const answer = await org.owner.get(`/organizations/${org.name}/teams?include=users,secrets`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].detail).toMatch(/include parameter/);
    expect(pointers(answer)).toEqual(["include"]);
  });
});

describe("who can see a secret team", () => {
  it("200: its members, its token, owners, site admins, the organization's token, holders of access-secret-teams", async () => {
    const org = await api.makeOrganization();
    const secret = await api.makeTeam(org.name, { name: "secret", visibility: "secret" });
    const callers = [
      await api.makeMember(org.name, [secret.id]),
      await api.makeTeamToken(secret.id),
      org.owner,
      api.admin,
      await api.makeOrganizationToken(org.name),
      await api.makeTeamToken(org.ownersTeamId),
      await api.makeHolder(org.name, "access-secret-teams"),
    ];
    for (const caller of callers) {
      expect(await listed(caller, org.name, "?filter[names]=secret")).toEqual(["secret"]);
      expect((await caller.get(`/teams/${secret.id}`)).status).toBe(200);
    }
  });

  it("404: other members, whatever they manage: not in lists, counts or updates either", async () => {
    const org = await api.makeOrganization();
    const secret = await api.makeTeam(org.name, { name: "secret", visibility: "secret" });
    const open = await api.makeTeam(org.name, { name: "open" });
    const manager = await api.makeHolder(org.name, "manage-teams", "manage-membership", "manage-organization-access");
    const callers = [await api.makeMember(org.name, [open.id]), manager, await api.makeTeamToken(open.id)];
    for (const caller of callers) {
      const list = await caller.get(`/organizations/${org.name}/teams?q=secret`);
      expect(list.body.data).toEqual([]);
      expect(list.body.meta.pagination["total-count"]).toBe(0);
      expect((await caller.get(`/teams/${secret.id}`)).status).toBe(404);
      expect((await caller.patch(`/teams/${secret.id}`, resource("teams", { name: "found" }))).status).toBe(404);
      expect((await caller.delete(`/teams/${secret.id}`)).status).toBe(404);
      const members = { data: [{ type: "users", id: manager.username }] };
      expect((await caller.post(`/teams/${secret.id}/relationships/users`, members)).status).toBe(404);
    }
    expect(await listed(org.owner, org.name, "?q=secret")).toEqual(["secret"]);
  });

  it("404 immediately after a member leaves it, 200 immediately after it becomes visible", async () => {
    const org = await api.makeOrganization();
    const secret = await api.makeTeam(org.name, { visibility: "secret" });
    const member = await api.makeMember(org.name, [secret.id]);
    const members = { data: [{ type: "users", id: member.id }] };
    await org.owner.delete(`/teams/${secret.id}/relationships/users`, members);
    expect((await member.get(`/teams/${secret.id}`)).status).toBe(404);
    await org.owner.patch(`/teams/${secret.id}`, resource("teams", { visibility: "organization" }));
    expect((await member.get(`/teams/${secret.id}`)).status).toBe(200);
  });
});

describe("showTeam", () => {
  it("200: a visible team for every member, with the caller's permissions", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name);
    const answer = await member.get(`/teams/${team.id}`);
    expect(answer.headers.get("etag")).toBe('"1"');
    expect(Object.values(data(answer).attributes.permissions)).not.toContain(true);
    const own = await api.makeMember(org.name, [team.id]);
    const { permissions } = data(await own.get(`/teams/${team.id}`)).attributes;
    expect(permissions).toEqual({
      "can-update": false,
      "can-destroy": false,
      "can-update-membership": false,
      "can-update-organization-access": false,
      "can-update-api-token": true,
    });
  });
});

describe("include", () => {
  it("users and organization-memberships list the members and include each document once", async () => {
    const org = await api.makeOrganization();
    const [first, second] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    const ada = await api.makeMember(org.name, [first.id, second.id]);
    const grace = await api.makeMember(org.name, [first.id]);
    const list = await org.owner.get(
      `/organizations/${org.name}/teams?include=users,organization-memberships&filter[names]=${first.attributes.name},${second.attributes.name}`,
    );
    const one = data(list).find((team: Json) => team.id === first.id);
    const ids = (linkage: Json[]) => linkage.map((item) => item.id).toSorted();
    expect(ids(one.relationships.users.data)).toEqual([ada.id, grace.id].toSorted());
    expect(ids(one.relationships["organization-memberships"].data)).toEqual(
      [ada.membershipId, grace.membershipId].toSorted(),
    );
    expect(ids(list.body.included)).toEqual([ada.id, grace.id, ada.membershipId, grace.membershipId].toSorted());
    const user = list.body.included.find((item: Json) => item.id === ada.id);
    expect(user.attributes.username).toBe(ada.username);
    expect(user.attributes).not.toHaveProperty("email");
  });

  it("includes the same document as the membership's own route, also with secret teams", async () => {
    const org = await api.makeOrganization();
    const [open, secret] = [await api.makeTeam(org.name), await api.makeTeam(org.name, { visibility: "secret" })];
    const ada = await api.makeMember(org.name, [open.id, secret.id]);
    for (const caller of [org.owner, await api.makeMember(org.name), ada]) {
      const shown = data(await caller.get(`/organization-memberships/${ada.membershipId}`));
      const beside = await caller.get(`/teams/${open.id}?include=organization-memberships`);
      expect(beside.body.included).toEqual([shown]);
    }
  });

  it("doesn't list members without include", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    await api.makeMember(org.name, [team.id]);
    const answer = await org.owner.get(`/teams/${team.id}`);
    expect(answer.body).not.toHaveProperty("included");
    expect(data(answer).relationships).not.toHaveProperty("users");
  });
});
