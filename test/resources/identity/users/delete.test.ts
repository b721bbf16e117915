import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, type Person, resource, unique } from "../../../support/builders.ts";

const api = useApi();

const promote = (user: Person, isAdmin: boolean) =>
  api.admin.patch(`/admin/users/${user.id}`, resource("users", { "is-site-admin": isAdmin }));
const demotion = resource("users", { "is-site-admin": false });

describe("deleteUser", () => {
  it("204: deletes the user, the tokens and all memberships", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const ada = await api.makeMember(org.name, [team.id]);
    const second = api.as(data(await ada.post(`/users/${ada.id}/authentication-tokens`)).attributes.token);
    expect((await second.get("/account/details")).status).toBe(200);

    expect((await api.admin.delete(`/admin/users/${ada.id}`)).status).toBe(204);

    for (const token of [ada, second]) expect((await token.get("/account/details")).status).toBe(401);
    expect((await api.admin.get(`/users/${ada.id}`)).status).toBe(404);
    expect((await org.owner.get(`/organization-memberships/${ada.membershipId}`)).status).toBe(404);
    const after = data(await org.owner.get(`/teams/${team.id}?include=users,organization-memberships`));
    expect(after.attributes["users-count"]).toBe(0);
    expect(after.relationships.users.data).toEqual([]);
    expect(after.relationships["organization-memberships"].data).toEqual([]);
    expect((await api.admin.delete(`/admin/users/${ada.id}`)).status).toBe(404);
  });

  it("204: the username and email address can be used again", async () => {
    const { id, username, email } = await api.makeUser();
    await api.admin.delete(`/admin/users/${id}`);
    expect((await api.admin.post("/admin/users", resource("users", { username, email }))).status).toBe(201);
  });

  it("records an event, also in each organization that loses a member", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const ada = await api.makeMember(org.name, [team.id]);
    await api.admin.delete(`/admin/users/${ada.id}`);
    const [event] = await api.database.reader.db
      .selectFrom("auditEvents")
      .selectAll()
      .where("subjectId", "=", ada.id)
      .where("action", "=", "users.delete")
      .execute();
    expect(event).toMatchObject({ actorName: "admin", after: null });
    expect(JSON.parse(event?.before ?? "{}")).toMatchObject({ username: ada.username, email: ada.email });
    const events = data(
      await org.owner.get(
        `/organizations/${org.name}/audit-events?filter[subject][id]=${ada.membershipId}&filter[action]=organization-memberships.delete`,
      ),
    );
    expect(events.map((one: Json) => one.attributes)).toMatchObject([
      { "actor-name": "admin", before: { email: ada.email, teams: [team.id] }, after: null },
    ]);
  });
});

describe("the last owner of an organization", () => {
  const removeAdmin = async (org: Org) => {
    const admin = data(await api.admin.get("/account/details"));
    const people = { data: [{ type: "users", id: admin.id }] };
    expect((await org.owner.delete(`/teams/${org.ownersTeamId}/relationships/users`, people)).status).toBe(204);
  };

  it("409: can't be deleted; the error names the organization and what to do", async () => {
    const org = await api.makeOrganization();
    await removeAdmin(org);
    const answer = await api.admin.delete(`/admin/users/${org.owner.id}`);
    expect(answer.status).toBe(409);
    expect(details(answer)[0]).toBe(
      `The user is the last owner of ${org.name}. First add another person to that owners team without an expiry, or delete the organization.`,
    );
    expect((await org.owner.get(`/organizations/${org.name}`)).status).toBe(200);
    const team = data(await org.owner.get(`/teams/${org.ownersTeamId}`));
    expect(team.attributes["users-count"]).toBe(1);
    const auditLog = await org.owner.get(
      `/organizations/${org.name}/audit-events?filter[action]=organization-memberships.delete`,
    );
    expect(data(auditLog)).toEqual([]);
  });

  it("409: an invited person doesn't count as an owner", async () => {
    const org = await api.makeOrganization();
    await removeAdmin(org);
    const invitation = resource(
      "organization-memberships",
      { email: `${unique("someone")}@example.com` },
      { teams: { data: [{ type: "teams", id: org.ownersTeamId }] } },
    );
    data(await org.owner.post(`/organizations/${org.name}/organization-memberships`, invitation));
    expect((await api.admin.delete(`/admin/users/${org.owner.id}`)).status).toBe(409);
  });

  it("204: can be deleted if there is another owner, or the organization is deleted", async () => {
    const [kept, gone] = [await api.makeOrganization(), await api.makeOrganization()];
    for (const org of [kept, gone]) await removeAdmin(org);
    const second = await api.makeMember(kept.name, [kept.ownersTeamId]);
    expect((await api.admin.delete(`/admin/users/${kept.owner.id}`)).status).toBe(204);
    expect(data(await second.get(`/teams/${kept.ownersTeamId}`)).attributes["users-count"]).toBe(1);
    expect((await gone.owner.delete(`/organizations/${gone.name}`)).status).toBe(204);
    expect((await api.admin.delete(`/admin/users/${gone.owner.id}`)).status).toBe(204);
  });

  it("409: one of two concurrent deletions fails", async () => {
    const org = await api.makeOrganization();
    const second = await api.makeMember(org.name, [org.ownersTeamId]);
    await removeAdmin(org);
    const answers = await Promise.all([org.owner, second].map(({ id }) => api.admin.delete(`/admin/users/${id}`)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 409]);
    expect(data(await api.admin.get(`/teams/${org.ownersTeamId}`)).attributes["users-count"]).toBe(1);
  });

  it("409: names only a few of many organizations", async () => {
    const user = await api.makeUser();
    const names: string[] = [];
    for (let count = 0; count < 7; count += 1) {
      const org = await api.makeOrganization();
      const email = resource(
        "organization-memberships",
        { email: user.email },
        { teams: { data: [{ type: "teams", id: org.ownersTeamId }] } },
      );
      data(await org.owner.post(`/organizations/${org.name}/organization-memberships`, email));
      await removeAdmin(org);
      const people = { data: [{ type: "users", id: org.owner.id }] };
      expect((await user.delete(`/teams/${org.ownersTeamId}/relationships/users`, people)).status).toBe(204);
      names.push(org.name);
    }
    const [detail] = details(await api.admin.delete(`/admin/users/${user.id}`));
    expect(detail).toContain(`${names.toSorted().slice(0, 5).join(", ")} and 2 more`);
  });
});

describe("the last site admin", () => {
  it("409: can't be deleted or demoted until there is another one", async () => {
    const root = data(await api.admin.get("/account/details"));
    expect((await api.admin.delete(`/admin/users/${root.id}`)).status).toBe(409);
    expect((await api.admin.patch(`/admin/users/${root.id}`, demotion)).status).toBe(409);
    expect((await api.admin.patch("/account/update", demotion)).status).toBe(409);

    const other = await api.makeUser({ "is-site-admin": true });
    expect((await api.admin.patch(`/admin/users/${root.id}`, demotion)).status).toBe(200);
    expect((await api.admin.get("/admin/users")).status).toBe(404);
    expect((await other.delete(`/admin/users/${other.id}`)).status).toBe(409);
    expect((await other.patch(`/admin/users/${root.id}`, resource("users", { "is-site-admin": true }))).status).toBe(
      200,
    );
    expect((await other.delete(`/admin/users/${other.id}`)).status).toBe(204);
    expect((await api.admin.get("/admin/users")).status).toBe(200);
  });

  it("409: a rejected demotion changes nothing", async () => {
    const root = data(await api.admin.get("/account/details"));
    const answer = await api.admin.patch(
      `/admin/users/${root.id}`,
      resource("users", { username: unique("changed"), "is-site-admin": false }),
    );
    expect(answer.status).toBe(409);
    expect(data(await api.admin.get("/account/details")).attributes.username).toBe("admin");
  });

  it("409: also when the last two demote each other concurrently", async () => {
    const root = data(await api.admin.get("/account/details"));
    const other = await api.makeUser({ "is-site-admin": true });
    const answers = await Promise.all([
      api.admin.patch(`/admin/users/${other.id}`, demotion),
      other.patch(`/admin/users/${root.id}`, demotion),
    ]);
    const left = await api.database.reader.db.selectFrom("users").select("id").where("isSiteAdmin", "=", 1).execute();
    expect(left).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    if (left[0]?.id !== root.id)
      await other.patch(`/admin/users/${root.id}`, resource("users", { "is-site-admin": true }));
    await promote(other, false);
  });
});
