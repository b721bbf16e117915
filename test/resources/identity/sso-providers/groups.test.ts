/** SSO groups and teams: memberships follow the groups at every sign-in, next to manual ones. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, resource, unique } from "../../../support/builders.ts";
import {
  type FakeProvider,
  makeProvider,
  privateAddresses,
  signIn,
  startFakeProvider,
} from "../../../support/identity-provider.ts";

const api = useApi({ options: { privateAddresses } });
let idp: FakeProvider;
beforeAll(async () => {
  idp = await startFakeProvider();
});
afterAll(() => void idp.http.close());

const claim = { "groups-claim": "groups" };

/** A person at a provider, with their current groups. */
function person(providerId: string, email: string) {
  const sub = unique("sub");
  return async (groups: unknown, more: object = {}) => {
    const claims = { sub, email, email_verified: true, groups, ...more };
    const result = await signIn(api, idp, providerId, { claims });
    return { ...result, cookie: result.cookie ?? "" };
  };
}

const teamOf = (organization: string, group: string, more: object = {}) =>
  api.makeTeam(organization, { "sso-team-id": group, ...more });
const usersIn = async (teamId: string): Promise<string[]> =>
  data(await api.admin.get(`/teams/${teamId}?include=users`)).relationships.users.data.map(
    ({ id }: { id: string }) => id,
  );
const countOf = async (teamId: string) => data(await api.admin.get(`/teams/${teamId}`)).attributes["users-count"];
const verbs = async (teamId: string) => {
  const events = await api.database.reader.db
    .selectFrom("auditEvents")
    .select(["action"])
    .where("subjectId", "=", teamId)
    .where("action", "like", "%members")
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  return events.map(({ action }) => action);
};
const versionOf = async (organizationId: string) =>
  (
    await api.database.reader.db
      .selectFrom("accessVersions")
      .select("version")
      .where("organizationId", "=", organizationId)
      .executeTakeFirstOrThrow()
  ).version;

describe("groups of a provider of the site", () => {
  it("add and remove members of mapped teams in every organization, with memberships and audit events", async () => {
    const { id } = await makeProvider(api, idp.url, claim);
    const [one, two] = [await api.makeOrganization(), await api.makeOrganization()];
    const [first, second] = [await teamOf(one.name, id), await teamOf(two.name, `${id}-ops`)];
    const user = await api.makeUser();
    const as = person(id, user.email);
    const before = await versionOf(one.id);
    await as([id, `${id}-ops`, "another"]);
    expect([await usersIn(first.id), await usersIn(second.id)]).toEqual([[user.id], [user.id]]);
    expect(await versionOf(one.id)).toBeGreaterThan(before);
    await as([`${id}-ops`]);
    expect([await usersIn(first.id), await usersIn(second.id)]).toEqual([[], [user.id]]);
    expect([await countOf(first.id), await countOf(second.id)]).toEqual([0, 1]);
    expect(await verbs(first.id)).toEqual(["teams.add-members", "teams.remove-members"]);
    // A single group that is not a list, and no groups.
    await as(id);
    expect([await usersIn(first.id), await usersIn(second.id)]).toEqual([[user.id], []]);
    await as(undefined);
    expect(await usersIn(first.id)).toEqual([]);
    const memberships = await user.get("/organization-memberships");
    expect(data(memberships)).toHaveLength(2);
  });

  it("appear in access explanations, in reach and on the membership", async () => {
    const provider = await makeProvider(api, idp.url, { ...claim, name: unique("Acme SSO") });
    const org = await api.makeOrganization();
    const team = await teamOf(org.name, provider.id);
    await api.grantProject(org.defaultProjectId, team.id, "write");
    const user = await api.makeUser();
    await person(provider.id, user.email)([provider.id]);
    const words = `by the group ${provider.id} of ${provider.attributes.name}`;
    const { permissions } = data(await user.get(`/projects/${org.defaultProjectId}/access`)).attributes;
    expect(permissions.runs["given-by"][0]).toMatchObject({ kind: "team-project", membership: words, reason: words });
    const reach = await org.owner.get(`/users/${user.id}/reach?filter[organization][name]=${org.name}`);
    expect(JSON.stringify(reach.body)).toContain(`"membership":"${words}"`);
    const [membership] = data(await user.get("/organization-memberships"));
    expect(membership.relationships.teams.data[0].meta).toMatchObject({ reason: words });
    const byHand = await api.makeMember(org.name, [team.id]);
    const explained = data(await byHand.get(`/projects/${org.defaultProjectId}/access`)).attributes.permissions;
    expect(explained.runs["given-by"][0]).not.toHaveProperty("membership");
  });

  it("leave manual memberships alone, and those of another provider", async () => {
    const [provider, other] = [await makeProvider(api, idp.url, claim), await makeProvider(api, idp.url, claim)];
    const org = await api.makeOrganization();
    const [team, own] = [await teamOf(org.name, provider.id), await api.makeTeam(org.name)];
    const member = await api.makeMember(org.name, [team.id, own.id]);
    const as = person(provider.id, member.email);
    await as([provider.id]);
    await as([]);
    expect([await usersIn(team.id), await usersIn(own.id)]).toEqual([[member.id], [member.id]]);
    const [late, atOtherProvider] = [await api.makeMember(org.name), person(other.id, member.email)];
    const signInLate = person(provider.id, late.email);
    await signInLate([provider.id]);
    const users = { data: [{ type: "users", id: late.username }] };
    expect((await org.owner.post(`/teams/${team.id}/relationships/users`, users)).status).toBe(204);
    await signInLate([]);
    await atOtherProvider([]);
    expect((await usersIn(team.id)).toSorted()).toEqual([member.id, late.id].toSorted());
    expect(await countOf(team.id)).toBe(2);
    const third = await api.makeMember(org.name);
    await person(provider.id, third.email)([provider.id]);
    await person(other.id, third.email)([]);
    expect(await usersIn(team.id)).toContain(third.id);
  });

  it("replace an ended membership", async () => {
    const provider = await makeProvider(api, idp.url, claim);
    const org = await api.makeOrganization();
    const team = await teamOf(org.name, provider.id);
    const member = await api.makeMember(org.name, [team.id]);
    const expiresAt = new Date(Date.now() - 1000).toISOString();
    await api.database.write((tx) =>
      tx.db.updateTable("teamMembers").set({ expiresAt }).where("teamId", "=", team.id).execute(),
    );
    expect(await usersIn(team.id)).toEqual([]);
    await person(provider.id, member.email)([provider.id]);
    expect([await usersIn(team.id), await countOf(team.id)]).toEqual([[member.id], 1]);
  });

  it("never remove the last permanent owner", async () => {
    const provider = await makeProvider(api, idp.url, claim);
    const org = await api.makeOrganization();
    const self = `/teams/${org.ownersTeamId}`;
    data(await org.owner.patch(self, resource("teams", { "sso-team-id": provider.id })));
    const user = await api.makeUser();
    const as = person(provider.id, user.email);
    await as([provider.id]);
    const users = { data: [org.owner.username, "admin"].map((name) => ({ type: "users", id: name })) };
    expect((await api.admin.delete(`${self}/relationships/users`, users)).status).toBe(204);
    await as([]);
    expect(await usersIn(org.ownersTeamId)).toEqual([user.id]);
  });

  it("need a constant number of statements", async () => {
    const provider = await makeProvider(api, idp.url, claim);
    const org = await api.makeOrganization();
    const names = Array.from({ length: 12 }, (_, index) => `${provider.id}-${index}`);
    for (const name of names) await teamOf(org.name, name);
    const member = await api.makeMember(org.name);
    const as = person(provider.id, member.email);
    await as([]);
    const count = async (groups: string[]) => {
      const before = api.database.statementCount();
      await as(groups);
      return api.database.statementCount() - before;
    };
    const [joining, joiningMany] = [await count(names.slice(0, 1)), await count(names)];
    expect(joiningMany).toBe(joining);
    const [leaving, leavingMany] = [await count(names.slice(1)), await count(names.slice(11))];
    expect(leavingMany).toBe(leaving);
    expect(Math.max(joiningMany, leavingMany)).toBeLessThanOrEqual(20);
  });

  it("403: if the provider omits some; a nested claim is found by its path", async () => {
    const provider = await makeProvider(api, idp.url, { "groups-claim": "realm_access.roles" });
    const org = await api.makeOrganization();
    const team = await teamOf(org.name, provider.id);
    const user = await api.makeUser();
    const as = person(provider.id, user.email);
    await as(undefined, { realm_access: { roles: [provider.id, 7, null] } });
    expect(await usersIn(team.id)).toEqual([user.id]);
    const entra = await makeProvider(api, idp.url, claim);
    const refused = await person(entra.id, user.email)(undefined, { _claim_names: { groups: "src1" } });
    expect({ status: refused.status, page: refused.page.includes("all of your groups") }).toEqual({
      status: 403,
      page: true,
    });
    expect(await usersIn(team.id)).toEqual([user.id]);
  });
});

describe("groups of an organization's provider", () => {
  it("affect only that organization's teams", async () => {
    const [org, other] = [await api.makeOrganization(), await api.makeOrganization()];
    const provider = await makeProvider(api, idp.url, { ...claim, organization: org.name, "create-users": true });
    const [mine, theirs] = [await teamOf(org.name, provider.id), await teamOf(other.name, provider.id)];
    const result = await person(provider.id, `${unique("new")}@acme.example`)([provider.id]);
    expect([(await usersIn(mine.id)).length, await usersIn(theirs.id)]).toEqual([1, []]);
    expect((await api.nobody.get(`/organizations/${other.name}`, { cookie: result.cookie })).status).toBe(404);
  });
});

describe("deleteSsoProvider", () => {
  it("204: ends its sessions and the memberships from its groups; users and manual memberships stay", async () => {
    const provider = await makeProvider(api, idp.url, claim);
    const org = await api.makeOrganization();
    const [team, own] = [await teamOf(org.name, provider.id), await api.makeTeam(org.name)];
    const member = await api.makeMember(org.name, [own.id]);
    const { cookie } = await person(provider.id, member.email)([provider.id]);
    expect((await api.nobody.get("/account/details", { cookie })).status).toBe(200);
    expect((await api.admin.delete(`/admin/sso-providers/${provider.id}`)).status).toBe(204);
    expect((await api.nobody.get("/account/details", { cookie })).status).toBe(401);
    expect([await usersIn(team.id), await countOf(team.id), await usersIn(own.id)]).toEqual([[], 0, [member.id]]);
    expect(await verbs(team.id)).toEqual(["teams.add-members", "teams.remove-members"]);
    expect((await member.get("/account/details")).status).toBe(200);
  });
});

describe("updateTeam", () => {
  it("403: mapping a group requires the permission to add members, and the team's access", async () => {
    const org = await api.makeOrganization();
    const names = resource("teams", { "sso-team-id": "everybody" });
    const manager = await api.makeHolder(org.name, "manage-teams");
    const strong = await api.makeTeam(org.name, { "organization-access": { "manage-workspaces": true } });
    expect((await manager.patch(`/teams/${strong.id}`, names)).status).toBe(403);
    const both = await api.makeHolder(org.name, "manage-teams", "manage-membership");
    expect((await both.patch(`/teams/${strong.id}`, names)).status).toBe(403);
    const weak = await api.makeTeam(org.name);
    expect((await both.patch(`/teams/${weak.id}`, names)).status).toBe(200);
    const path = `/organizations/${org.name}/teams`;
    const body = resource("teams", { name: unique("team"), "sso-team-id": "everybody" });
    expect([(await manager.post(path, body)).status, (await both.post(path, body)).status]).toEqual([403, 201]);
  });
});

describe("access rules", () => {
  it("a rule keeps a user out of one team, with an audit event; the sign-in and the other teams go on", async () => {
    const { id } = await makeProvider(api, idp.url, claim);
    const org = await api.makeOrganization();
    const [forbidden, allowed] = [await teamOf(org.name, id), await teamOf(org.name, `${id}-ops`)];
    const policy = `@message("By hand only.") forbid (principal == Organization::"${org.name}", action == Action::"addMember", resource == Team::"${forbidden.id}");`;
    const body = resource("access-rules", { name: "by hand", policy, enforcement: "approval" });
    const rule = data(await org.owner.post(`/organizations/${org.name}/access-rules`, body));
    const user = await api.makeUser();
    const as = person(id, user.email);
    await as([id, `${id}-ops`]);
    expect([await usersIn(forbidden.id), await usersIn(allowed.id)]).toEqual([[], [user.id]]);
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "after"])
      .where("subjectId", "=", forbidden.id)
      .where("action", "=", "teams.refuse-member")
      .execute();
    expect(events).toHaveLength(1);
    expect(JSON.parse(events[0]?.after ?? "")).toEqual({
      username: user.username,
      group: id,
      rule: rule.id,
      "rule-name": "by hand",
      message: "By hand only.",
    });
    data(await org.owner.delete(`/access-rules/${rule.id}`));
    await as([id, `${id}-ops`]);
    expect(await usersIn(forbidden.id)).toEqual([user.id]);
  });

  it("a rule doesn't keep anybody in a team whose group they left", async () => {
    const { id } = await makeProvider(api, idp.url, claim);
    const org = await api.makeOrganization();
    const team = await teamOf(org.name, id);
    const user = await api.makeUser();
    const as = person(id, user.email);
    await as([id]);
    const policy = "forbid (principal, action, resource);";
    const body = resource("access-rules", { name: "nothing", policy, enforcement: "forbid" });
    data(await org.owner.post(`/organizations/${org.name}/access-rules`, body));
    await as([]);
    expect(await usersIn(team.id)).toEqual([]);
  });
});
