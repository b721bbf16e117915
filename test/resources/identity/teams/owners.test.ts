import { describe, expect, it } from "vitest";
import { type Caller, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  makeHolder,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeUser,
  type Member,
  type Org,
  pointers,
  resource,
} from "../../../support/builders.ts";

const api = useApi();

const people = (...names: string[]) => ({ data: names.map((id) => ({ type: "users", id })) });
const users = (org: Org) => `/teams/${org.ownersTeamId}/relationships/users`;
const memberships = (org: Org) => `/teams/${org.ownersTeamId}/relationships/organization-memberships`;
const ownersOf = async (org: Org): Promise<string[]> =>
  data(await api.admin.get(`/teams/${org.ownersTeamId}?include=users`)).relationships.users.data.map(
    (user: { id: string }) => user.id,
  );

/** An organization whose only owners are two people, none of them a site admin. */
async function organizationOfTwo(): Promise<{ org: Org; second: Member }> {
  const org = await makeOrganization(api);
  const second = await makeMember(api, org.name, [org.ownersTeamId]);
  const admin = data(await api.admin.get("/account/details"));
  expect((await org.owner.delete(users(org), people(admin.id))).status).toBe(204);
  expect((await ownersOf(org)).toSorted()).toEqual([org.owner.id, second.id].toSorted());
  return { org, second };
}

describe("the owners team", () => {
  it("is there from the beginning, visible, and holds everything", async () => {
    const org = await makeOrganization(api);
    const member = await makeMember(api, org.name);
    const { attributes } = data(await member.get(`/teams/${org.ownersTeamId}`));
    expect(attributes).toMatchObject({ name: "owners", visibility: "organization" });
    expect(Object.values(attributes["organization-access"])).not.toContain(false);
  });

  it("422: keeps its name and its access, both told at once", async () => {
    const org = await makeOrganization(api);
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

  it("200: owners change its other attributes", async () => {
    const org = await makeOrganization(api);
    const answer = await org.owner.patch(`/teams/${org.ownersTeamId}`, resource("teams", { "sso-team-id": "sso-1" }));
    expect(data(answer).attributes["sso-team-id"]).toBe("sso-1");
  });

  it("403: nobody deletes it", async () => {
    const org = await makeOrganization(api);
    const callers = [org.owner, api.admin, await makeOrganizationToken(api, org.name)];
    for (const caller of callers) expect((await caller.delete(`/teams/${org.ownersTeamId}`)).status).toBe(403);
    expect((await org.owner.get(`/teams/${org.ownersTeamId}`)).status).toBe(200);
  });

  it("403: neither the organization's token nor any permission touches it or its members", async () => {
    const org = await makeOrganization(api);
    const outsider = await makeMember(api, org.name);
    const holder = await makeHolder(
      api,
      org.name,
      "manage-teams",
      "manage-membership",
      "manage-organization-access",
      "access-secret-teams",
    );
    for (const caller of [await makeOrganizationToken(api, org.name), holder] as Caller[]) {
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

  it("204: owners in person and site admins add and remove owners", async () => {
    const org = await makeOrganization(api);
    const ada = await makeMember(api, org.name);
    for (const caller of [org.owner, api.admin]) {
      expect((await caller.post(users(org), people(ada.username))).status).toBe(204);
      expect((await ada.patch(`/organizations/${org.name}`, resource("organizations", {}))).status).toBe(200);
      expect((await caller.delete(users(org), people(ada.username))).status).toBe(204);
      expect((await ada.patch(`/organizations/${org.name}`, resource("organizations", {}))).status).toBe(403);
    }
  });

  it("404: strangers", async () => {
    const org = await makeOrganization(api);
    const mallory = await makeUser(api);
    expect((await mallory.post(users(org), people(mallory.username))).status).toBe(404);
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

  it("409: not all at once either, and then none goes", async () => {
    const { org, second } = await organizationOfTwo();
    expect((await org.owner.delete(users(org), people(org.owner.id, second.id))).status).toBe(409);
    expect(await ownersOf(org)).toHaveLength(2);
    expect(data(await org.owner.get(`/teams/${org.ownersTeamId}`)).attributes["users-count"]).toBe(2);
  });

  it("409: an invitation to the owners team is no owner yet", async () => {
    const { org, second } = await organizationOfTwo();
    await org.owner.delete(users(org), people(second.id));
    const invitation = resource(
      "organization-memberships",
      { email: "not-yet@example.com" },
      { teams: { data: [{ type: "teams", id: org.ownersTeamId }] } },
    );
    expect((await org.owner.post(`/organizations/${org.name}/organization-memberships`, invitation)).status).toBe(201);
    expect((await org.owner.delete(users(org), people(org.owner.id))).status).toBe(409);
  });

  it("409: also when two requests remove the last two at once", async () => {
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

  it("409: also when one leaves the team and the other the organization at once", async () => {
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
