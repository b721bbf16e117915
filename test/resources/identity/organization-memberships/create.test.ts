import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
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
const invitation = (email: unknown, ...teamIds: string[]) =>
  resource(
    "organization-memberships",
    { email },
    teamIds.length === 0 ? undefined : { teams: { data: teamIds.map((id) => ({ type: "teams", id })) } },
  );
const newAddress = () => `${unique("someone")}@example.com`;
const trail = async (org: Org, id: string): Promise<Json[]> =>
  data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${id}`)).map(
    (event: Json) => event.attributes,
  );
const usersCount = async (org: Org, team: Json): Promise<number> =>
  data(await org.owner.get(`/teams/${team.id}`)).attributes["users-count"];

describe("createOrganizationMembership", () => {
  it("201: somebody who exists is a member at once, whatever the case of the address", async () => {
    const org = await makeOrganization(api);
    const ada = await makeUser(api);
    expect((await ada.get(`/organizations/${org.name}`)).status).toBe(404);
    const answer = await org.owner.post(path(org), invitation(ada.email.toUpperCase()));
    expect(answer.status).toBe(201);
    expect(answer.headers.get("etag")).toBe('"1"');
    const membership = data(answer);
    expect(membership.id).toMatch(/^ou-/);
    expect(membership.attributes.status).toBe("active");
    expect(membership.relationships.user.data).toEqual({ id: ada.id, type: "users" });
    expect(membership.relationships.organization.data).toEqual({ id: org.name, type: "organizations" });
    expect(membership.relationships.teams.data).toEqual([]);
    expect(data(await org.owner.get(`/organization-memberships/${membership.id}`))).toEqual(membership);
    expect((await ada.get(`/organizations/${org.name}`)).status).toBe(200);
  });

  it("201: an unknown address is invited", async () => {
    const org = await makeOrganization(api);
    const email = newAddress();
    const membership = data(await org.owner.post(path(org), invitation(email)));
    expect(membership.attributes).toMatchObject({ email, status: "invited" });
    expect(membership.relationships.user).toEqual({
      data: { id: membership.id.replace("ou-", "user-"), type: "users" },
    });
  });

  it("201: with teams, each once, and the person is counted in each", async () => {
    const org = await makeOrganization(api);
    const ada = await makeUser(api);
    const [one, two] = [await makeTeam(api, org.name), await makeTeam(api, org.name, { visibility: "secret" })];
    const membership = data(await org.owner.post(path(org), invitation(ada.email, one.id, two.id, one.id)));
    expect(membership.relationships.teams.data.map((team: Json) => team.id)).toEqual([one.id, two.id].toSorted());
    expect([await usersCount(org, one), await usersCount(org, two)]).toEqual([1, 1]);
    expect(data(await org.owner.get(`/organization-memberships/${membership.id}`))).toEqual(membership);
  });

  it("leaves a trace of whom, and of the teams", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name);
    const email = newAddress();
    const membership = data(await org.owner.post(path(org), invitation(email, team.id)));
    expect(await trail(org, membership.id)).toMatchObject([
      {
        action: "organization-memberships.create",
        "actor-id": org.owner.id,
        before: null,
        after: { email, status: "invited", teams: [team.id] },
      },
    ]);
  });

  it("422: a second membership or invitation for the address, whatever its case", async () => {
    const org = await makeOrganization(api);
    const [ada, email] = [await makeMember(api, org.name), newAddress()];
    await org.owner.post(path(org), invitation(email));
    for (const taken of [ada.email, ada.email.toUpperCase(), email.toUpperCase()]) {
      const answer = await org.owner.post(path(org), invitation(taken));
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/attributes/email"]);
      expect(details(answer)[0]).toMatch(/^Email has already been taken/);
    }
    const elsewhere = await makeOrganization(api);
    expect((await elsewhere.owner.post(path(elsewhere), invitation(ada.email))).status).toBe(201);
  });

  it("422: teams that are unknown, foreign or secret to the caller, told with the taken address", async () => {
    const [org, elsewhere] = [await makeOrganization(api), await makeOrganization(api)];
    const ada = await makeMember(api, org.name);
    const holder = await makeHolder(api, org.name, "manage-membership");
    const secret = await makeTeam(api, org.name, { visibility: "secret" });
    const foreign = await makeTeam(api, elsewhere.name);
    const answer = await holder.post(path(org), invitation(ada.email, "team-unknown", foreign.id, secret.id));
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([
      "/data/attributes/email",
      "/data/relationships/teams",
      "/data/relationships/teams",
      "/data/relationships/teams",
    ]);
    const unseen = await holder.post(path(org), invitation(newAddress(), secret.id));
    expect(details(unseen)).toEqual([`Team ${secret.id} does not exist in this organization`]);
  });

  it.each([[undefined], [null], [""], ["nobody"], [7], [`${"a".repeat(250)}@x.yz`]])("422: email %j", async (email) => {
    const org = await makeOrganization(api);
    const answer = await org.owner.post(path(org), invitation(email));
    expect(answer.status).toBe(422);
    expect(new Set(pointers(answer))).toEqual(new Set(["/data/attributes/email"]));
  });

  it("422: a wrong type, and teams that are no list of teams, at once", async () => {
    const org = await makeOrganization(api);
    const body = resource("memberships", { email: newAddress() }, { teams: { data: [{ type: "users", id: "x" }] } });
    expect(pointers(await org.owner.post(path(org), body))).toEqual(["/data/type", "/data/relationships/teams/data/0"]);
  });

  it("422 for all but one: the same person at the same time", async () => {
    const org = await makeOrganization(api);
    const { email } = await makeUser(api);
    const answers = await Promise.all([1, 2, 3].map(() => org.owner.post(path(org), invitation(email))));
    expect(answers.map((answer) => answer.status).toSorted()).toEqual([201, 422, 422]);
  });

  it("201: owners, site admins, the organization's token, holders of manage-membership", async () => {
    const org = await makeOrganization(api);
    const holder = await makeHolder(api, org.name, "manage-membership");
    const callers = [api.admin, await makeOrganizationToken(api, org.name), holder];
    for (const caller of [...callers, await makeTeamToken(api, holder.teamId)])
      expect((await caller.post(path(org), invitation(newAddress()))).status).toBe(201);
  });

  it("403: other members; 404: strangers", async () => {
    const org = await makeOrganization(api);
    const callers = [await makeMember(api, org.name), await makeHolder(api, org.name, "manage-teams")];
    for (const caller of callers) {
      const answer = await caller.post(path(org), invitation(newAddress()));
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("manage-membership");
    }
    expect((await (await makeUser(api)).post(path(org), invitation(newAddress()))).status).toBe(404);
    expect((await api.nobody.post(path(org), invitation(newAddress()))).status).toBe(401);
  });

  it("403: the owners team, for everybody but owners in person", async () => {
    const org = await makeOrganization(api);
    const callers = [
      await makeHolder(api, org.name, "manage-membership", "manage-teams"),
      await makeOrganizationToken(api, org.name),
    ];
    for (const caller of callers)
      expect((await caller.post(path(org), invitation(newAddress(), org.ownersTeamId))).status).toBe(403);
    expect((await org.owner.post(path(org), invitation(newAddress(), org.ownersTeamId))).status).toBe(201);
  });
});

describe("an invitation", () => {
  it("becomes a membership, in its teams, when a user with the address appears, whatever its case", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name, { "organization-access": { "read-projects": true } });
    const email = newAddress();
    const { id } = data(await org.owner.post(path(org), invitation(email, team.id)));
    expect(await usersCount(org, team)).toBe(0);

    const ada = await makeUser(api, { email: email.toUpperCase() });

    const membership = data(await org.owner.get(`/organization-memberships/${id}`));
    expect(membership.attributes.status).toBe("active");
    expect(membership.relationships.user.data).toEqual({ id: ada.id, type: "users" });
    expect(membership.relationships.teams.data).toEqual([{ id: team.id, type: "teams" }]);
    expect(await usersCount(org, team)).toBe(1);
    expect((await ada.get(`/projects/${org.defaultProjectId}`)).status).toBe(200);
    const updates = (await trail(org, id)).filter((event) => event.action === "organization-memberships.update");
    expect(updates).toMatchObject([
      { "actor-name": "admin", before: { status: "invited" }, after: { status: "active", teams: [team.id] } },
    ]);
  });

  it("becomes one in every organization that waits for the address", async () => {
    const [one, two] = [await makeOrganization(api), await makeOrganization(api)];
    const email = newAddress();
    for (const org of [one, two]) await org.owner.post(path(org), invitation(email));
    const ada = await makeUser(api, { email });
    expect(data(await ada.get("/organization-memberships"))).toHaveLength(2);
  });

  it("becomes one when a site admin gives a user the address", async () => {
    const org = await makeOrganization(api);
    const team = await makeTeam(api, org.name);
    const email = newAddress();
    await org.owner.post(path(org), invitation(email, team.id));
    const ada = await makeUser(api);
    await api.admin.patch(`/admin/users/${ada.id}`, resource("users", { email }));
    expect((await ada.get(`/organizations/${org.name}`)).status).toBe(200);
    expect(await usersCount(org, team)).toBe(1);
  });

  it("is taken back by deleting it", async () => {
    const org = await makeOrganization(api);
    const email = newAddress();
    const { id } = data(await org.owner.post(path(org), invitation(email)));
    expect((await org.owner.delete(`/organization-memberships/${id}`)).status).toBe(204);
    const ada = await makeUser(api, { email });
    expect((await ada.get(`/organizations/${org.name}`)).status).toBe(404);
  });
});

describe("a member whose address changes", () => {
  it("keeps the membership, under the new address, and leaves the old one free", async () => {
    const org = await makeOrganization(api);
    const ada = await makeMember(api, org.name);
    const email = newAddress();
    await api.admin.patch(`/admin/users/${ada.id}`, resource("users", { email }));
    const membership = data(await org.owner.get(`/organization-memberships/${ada.membershipId}`));
    expect(membership.attributes).toMatchObject({ email, status: "active" });
    const updates = (await trail(org, ada.membershipId)).filter((event) => event.action.endsWith(".update"));
    expect(updates).toMatchObject([{ "actor-name": "admin", before: { email: ada.email }, after: { email } }]);
    const newcomer = await makeUser(api, { email: ada.email });
    expect((await newcomer.get(`/organizations/${org.name}`)).status).toBe(404);
    expect((await org.owner.post(path(org), invitation(newcomer.email))).status).toBe(201);
    expect((await org.owner.post(path(org), invitation(email))).status).toBe(422);
  });

  it("takes over an invitation to the new address, with its teams", async () => {
    const org = await makeOrganization(api);
    const [both, invited] = [await makeTeam(api, org.name), await makeTeam(api, org.name)];
    const ada = await makeMember(api, org.name, [both.id]);
    const email = newAddress();
    const waiting = data(await org.owner.post(path(org), invitation(email, both.id, invited.id)));
    await api.admin.patch(`/admin/users/${ada.id}`, resource("users", { email }));
    expect((await org.owner.get(`/organization-memberships/${waiting.id}`)).status).toBe(404);
    const membership = data(await org.owner.get(`/organization-memberships/${ada.membershipId}`));
    expect(membership.attributes.email).toBe(email);
    expect(membership.relationships.teams.data.map((team: Json) => team.id)).toEqual([both.id, invited.id].toSorted());
    expect([await usersCount(org, both), await usersCount(org, invited)]).toEqual([1, 1]);
  });
});
