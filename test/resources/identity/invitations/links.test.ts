import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { cookieOf, signInWithToken, secretInUrl } from "../../../support/browser.ts";
import { data, pointers, resource } from "../../../support/builders.ts";
import { invite, invitationLinks, newEmail, password } from "../../../support/invitations.ts";

const api = useApi();
const { show, register, accept, registered, account, actionsOf } = invitationLinks(api);

describe("acceptInvitation", () => {
  it("200: by a signed-in user with any email address", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const { membership, secret } = await invite(org, { teamIds: [team.id] });
    const ada = await api.makeUser();
    const answer = await accept(secret, await signInWithToken(api, ada));
    expect(answer.status).toBe(200);
    expect(data(answer)).toMatchObject({
      type: "organization-memberships",
      id: membership.id,
      attributes: { status: "active", email: ada.email },
      relationships: { user: { data: { id: ada.id } }, teams: { data: [{ id: team.id }] } },
    });
    expect((await ada.get(`/organizations/${org.name}`)).status).toBe(200);
    expect(await actionsOf(answer)).toEqual(["organization-memberships.accept-invitation"]);
    expect((await accept(secret, await api.makeUser())).status).toBe(404);
  });

  it("200: a member joins the invitation's teams, and doesn't become a member twice", async () => {
    const org = await api.makeOrganization();
    const [own, other] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    const ada = await api.makeMember(org.name, [own.id]);
    const { membership, secret } = await invite(org, { teamIds: [own.id, other.id] });
    const joined = data(await accept(secret, ada));
    expect(joined.id).toBe(ada.membershipId);
    const teamIds = joined.relationships.teams.data.map(({ id }: Json) => id);
    expect(teamIds).toEqual([own.id, other.id].toSorted());
    expect((await api.admin.get(`/organization-memberships/${membership.id}`)).status).toBe(404);
    for (const { id } of [own, other])
      expect(data(await org.owner.get(`/teams/${id}`)).attributes["users-count"]).toBe(1);
  });

  it("409: a user whose own address is invited must accept that invitation", async () => {
    const org = await api.makeOrganization();
    const email = newEmail();
    const [own, other] = [await invite(org, { email }), await invite(org)];
    const answer = await registered((await invite(await api.makeOrganization(), { email })).secret);
    const grace = { cookie: cookieOf(answer), origin: api.url, "content-type": "application/vnd.api+json" };
    const path = (secret: string) => `/invitations/${secret}/actions/accept`;
    expect((await api.nobody.post(path(other.secret), undefined, grace)).status).toBe(409);
    expect((await api.nobody.post(path(own.secret), undefined, grace)).status).toBe(200);
  });

  it("401: without a token; 403: with an organization token; the link stays valid", async () => {
    const org = await api.makeOrganization();
    const { secret } = await invite(org);
    expect((await accept(secret, api.nobody)).status).toBe(401);
    expect((await accept(secret, await api.makeOrganizationToken(org.name))).status).toBe(403);
    expect((await show(secret)).status).toBe(200);
  });
});

describe("renewInvitation", () => {
  const renew = (id: string, by: Caller) => by.post(`/organization-memberships/${id}/actions/renew-invitation`);

  it("200: a new link for seven days; the previous one stops working", async () => {
    const org = await api.makeOrganization();
    const { membership, secret } = await invite(org);
    const answer = await renew(membership.id, org.owner);
    expect(answer.status).toBe(200);
    const renewed = data(answer);
    expect(renewed).toMatchObject({ id: membership.id, attributes: { status: "invited" } });
    expect((await show(secret)).status).toBe(404);
    expect((await show(secretInUrl(renewed.attributes["invitation-url"]))).status).toBe(200);
    expect(await actionsOf(answer)).toEqual(["organization-memberships.renew-invitation"]);
  });

  it("409: for a member", async () => {
    const org = await api.makeOrganization();
    const { membershipId } = await api.makeMember(org.name);
    expect((await renew(membershipId, org.owner)).status).toBe(409);
  });

  it("403: for members, and for inviters with less access than the invitation", async () => {
    const org = await api.makeOrganization();
    const managers = await api.makeTeam(org.name, { "organization-access": { "manage-membership": true } });
    const strong = await api.makeTeam(org.name, { "organization-access": { "manage-workspaces": true } });
    const hidden = await api.makeTeam(org.name, {
      visibility: "secret",
      "organization-access": { "manage-workspaces": true },
    });
    const [manager, member] = [await api.makeMember(org.name, [managers.id]), await api.makeMember(org.name)];
    const plain = await invite(org);
    expect((await renew(plain.membership.id, member)).status).toBe(403);
    expect((await renew(plain.membership.id, manager)).status).toBe(200);
    for (const teamId of [strong.id, hidden.id, org.ownersTeamId]) {
      const { membership, secret } = await invite(org, { teamIds: [teamId] });
      expect((await renew(membership.id, manager)).status).toBe(403);
      expect((await show(secret)).status).toBe(200);
    }
  });
});

describe("a link that somebody else created", () => {
  const addToTeam = async (by: Caller, teamId: string, id: string) => {
    const body = { data: [{ type: "organization-memberships", id }] };
    const answer = await by.post(`/teams/${teamId}/relationships/organization-memberships`, body);
    expect(answer.status).toBe(204);
    return answer;
  };

  async function withManager() {
    const org = await api.makeOrganization();
    const managers = await api.makeTeam(org.name, { "organization-access": { "manage-membership": true } });
    return { org, manager: await api.makeMember(org.name, [managers.id]) };
  }

  it("404: stops working when others add the invited person to a team", async () => {
    const { org, manager } = await withManager();
    const { membership, secret } = await invite(org, { by: manager });
    expect((await show(secret)).status).toBe(200);
    const answer = await addToTeam(org.owner, org.ownersTeamId, membership.id);
    expect((await accept(secret, manager)).status).toBe(404);
    expect((await registered(secret)).status).toBe(404);
    expect(await actionsOf(answer)).toEqual(["organization-memberships.end-invitation", "teams.add-members"]);
    const renewed = await org.owner.post(`/organization-memberships/${membership.id}/actions/renew-invitation`);
    expect((await show(secretInUrl(data(renewed).attributes["invitation-url"]))).status).toBe(200);
  });

  it("still works if its creator added the person, or is an owner", async () => {
    const { org, manager } = await withManager();
    const [team, other] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    const own = await invite(org, { by: manager });
    await addToTeam(manager, team.id, own.membership.id);
    expect((await show(own.secret)).status).toBe(200);
    const token = await api.makeOrganizationToken(org.name);
    for (const by of [org.owner, token, api.admin]) {
      const { membership, secret } = await invite(org, { by });
      await addToTeam(manager, other.id, membership.id);
      expect((await show(secret)).status).toBe(200);
    }
  });
});

describe("createUserInvitation", () => {
  const make = (id: string, by: Caller = api.admin) => by.post(`/admin/users/${id}/invitation`);

  it("201: a link for a user without a password to set one and sign in", async () => {
    const grace = await api.makeUser();
    const answer = await make(grace.id);
    expect(answer.status).toBe(201);
    const { attributes, relationships } = data(answer);
    expect(attributes).toMatchObject({ username: grace.username, email: grace.email, "has-password": false });
    expect(relationships.organization).toBeUndefined();
    expect(await actionsOf(answer)).toEqual(["invitations.create"]);
    const secret = secretInUrl(attributes["invitation-url"]);
    expect(data(await show(secret)).attributes).toMatchObject({ username: grace.username, email: grace.email });
    expect(pointers(await register(secret, { username: "another", password }))).toEqual(["/data/attributes/username"]);
    expect(pointers(await register(secret, { password: "short" }))).toEqual(["/data/attributes/password"]);
    const set = await register(secret, { password });
    expect(set.status).toBe(201);
    expect((await account(set)).id).toBe(grace.id);
    expect((await register(secret, { password })).status).toBe(404);
  });

  it("a new link replaces the previous one; setting a password otherwise invalidates it", async () => {
    const grace = await api.makeUser();
    const [first, second] = [data(await make(grace.id)), data(await make(grace.id))].map(({ attributes }) =>
      secretInUrl(attributes["invitation-url"]),
    ) as [string, string];
    expect((await show(first)).status).toBe(404);
    expect((await show(second)).status).toBe(200);
    data(await api.admin.patch(`/admin/users/${grace.id}`, resource("users", { password })));
    expect((await show(second)).status).toBe(404);
    expect((await register(second, { password: `${password}!` })).status).toBe(404);
    const third = secretInUrl(data(await make(grace.id)).attributes["invitation-url"]);
    expect((await register(third, { password: `${password}!` })).status).toBe(201);
  });

  it("409: can't be accepted by another user", async () => {
    const secret = secretInUrl(data(await make((await api.makeUser()).id)).attributes["invitation-url"]);
    expect((await accept(secret, await api.makeUser())).status).toBe(409);
    expect((await show(secret)).status).toBe(200);
  });

  it("404: for everybody but site admins, and for an unknown id", async () => {
    const grace = await api.makeUser();
    expect((await make(grace.id, grace)).status).toBe(404);
    expect((await make("user-none")).status).toBe(404);
  });
});
