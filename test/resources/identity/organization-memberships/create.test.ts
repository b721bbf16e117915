/** Adding members, invitations, and the placeholder for an invited person. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();

describe("create", () => {
  const path = (org: Org) => `/organizations/${org.name}/organization-memberships`;
  const invitation = (email: unknown, ...teamIds: string[]) =>
    resource(
      "organization-memberships",
      { email },
      teamIds.length === 0 ? undefined : { teams: { data: teamIds.map((id) => ({ type: "teams", id })) } },
    );
  const newAddress = () => `${unique("someone")}@example.com`;
  const auditEvents = async (org: Org, id: string): Promise<Json[]> =>
    data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${id}`)).map(
      (event: Json) => event.attributes,
    );
  const usersCount = async (org: Org, team: Json): Promise<number> =>
    data(await org.owner.get(`/teams/${team.id}`)).attributes["users-count"];

  describe("createOrganizationMembership", () => {
    it("201: an existing user becomes a member immediately, ignoring the case of the address", async () => {
      const org = await api.makeOrganization();
      const ada = await api.makeUser();
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
      const org = await api.makeOrganization();
      const email = newAddress();
      const membership = data(await org.owner.post(path(org), invitation(email)));
      expect(membership.attributes).toMatchObject({ email, status: "invited" });
      expect(membership.relationships.user).toEqual({
        data: { id: membership.id.replace("ou-", "user-"), type: "users" },
      });
    });

    it("201: with teams, without duplicates, and the person is counted in each", async () => {
      const org = await api.makeOrganization();
      const ada = await api.makeUser();
      const [one, two] = [await api.makeTeam(org.name), await api.makeTeam(org.name, { visibility: "secret" })];
      const membership = data(await org.owner.post(path(org), invitation(ada.email, one.id, two.id, one.id)));
      expect(membership.relationships.teams.data.map((team: Json) => team.id)).toEqual([one.id, two.id].toSorted());
      expect([await usersCount(org, one), await usersCount(org, two)]).toEqual([1, 1]);
      expect(data(await org.owner.get(`/organization-memberships/${membership.id}`))).toEqual(membership);
    });

    it("records an event with the person and the teams", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const email = newAddress();
      const membership = data(await org.owner.post(path(org), invitation(email, team.id)));
      expect(await auditEvents(org, membership.id)).toMatchObject([
        {
          action: "organization-memberships.create",
          "actor-id": org.owner.id,
          before: null,
          after: { email, status: "invited", teams: [team.id] },
        },
      ]);
    });

    it("422: a second membership or invitation for the address, ignoring case", async () => {
      const org = await api.makeOrganization();
      const [ada, email] = [await api.makeMember(org.name), newAddress()];
      await org.owner.post(path(org), invitation(email));
      for (const taken of [ada.email, ada.email.toUpperCase(), email.toUpperCase()]) {
        const answer = await org.owner.post(path(org), invitation(taken));
        expect(answer.status).toBe(422);
        expect(pointers(answer)).toEqual(["/data/attributes/email"]);
        expect(details(answer)[0]).toMatch(/^Email has already been taken/);
      }
      const otherOrg = await api.makeOrganization();
      expect((await otherOrg.owner.post(path(otherOrg), invitation(ada.email))).status).toBe(201);
    });

    it("422: unknown teams, teams of others and hidden secret teams, together with a taken address", async () => {
      const [org, otherOrg] = [await api.makeOrganization(), await api.makeOrganization()];
      const ada = await api.makeMember(org.name);
      const holder = await api.makeHolder(org.name, "manage-membership");
      const secret = await api.makeTeam(org.name, { visibility: "secret" });
      const foreign = await api.makeTeam(otherOrg.name);
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

    it.each([[undefined], [null], [""], ["nobody"], [7], [`${"a".repeat(250)}@x.yz`]])(
      "422: email %j",
      async (email) => {
        const org = await api.makeOrganization();
        const answer = await org.owner.post(path(org), invitation(email));
        expect(answer.status).toBe(422);
        expect(new Set(pointers(answer))).toEqual(new Set(["/data/attributes/email"]));
      },
    );

    it("422: reports a wrong type and an invalid list of teams together", async () => {
      const org = await api.makeOrganization();
      const body = resource("memberships", { email: newAddress() }, { teams: { data: [{ type: "users", id: "x" }] } });
      expect(pointers(await org.owner.post(path(org), body))).toEqual([
        "/data/type",
        "/data/relationships/teams/data/0",
      ]);
    });

    it("422 for all but one of concurrent requests for the same person", async () => {
      const org = await api.makeOrganization();
      const { email } = await api.makeUser();
      const answers = await Promise.all([1, 2, 3].map(() => org.owner.post(path(org), invitation(email))));
      expect(answers.map((answer) => answer.status).toSorted()).toEqual([201, 422, 422]);
    });

    it("201: owners, site admins, the organization's token, holders of manage-membership", async () => {
      const org = await api.makeOrganization();
      const holder = await api.makeHolder(org.name, "manage-membership");
      const callers = [api.admin, await api.makeOrganizationToken(org.name), holder];
      for (const caller of [...callers, await api.makeTeamToken(holder.teamId)])
        expect((await caller.post(path(org), invitation(newAddress()))).status).toBe(201);
    });

    it("403: other members; 404: strangers", async () => {
      const org = await api.makeOrganization();
      const callers = [await api.makeMember(org.name), await api.makeHolder(org.name, "manage-teams")];
      for (const caller of callers) {
        const answer = await caller.post(path(org), invitation(newAddress()));
        expect(answer.status).toBe(403);
        expect(details(answer)[0]).toContain("manage-membership");
      }
      expect((await (await api.makeUser()).post(path(org), invitation(newAddress()))).status).toBe(404);
      expect((await api.nobody.post(path(org), invitation(newAddress()))).status).toBe(401);
    });

    it("403: the owners team, for everybody but owners", async () => {
      const org = await api.makeOrganization();
      const callers = [
        await api.makeHolder(org.name, "manage-membership", "manage-teams"),
        await api.makeOrganizationToken(org.name),
      ];
      for (const caller of callers)
        expect((await caller.post(path(org), invitation(newAddress(), org.ownersTeamId))).status).toBe(403);
      expect((await org.owner.post(path(org), invitation(newAddress(), org.ownersTeamId))).status).toBe(201);
    });
  });

  describe("an invitation", () => {
    it("becomes a membership, with its teams, when a user with the address is created, ignoring case", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name, { "organization-access": { "read-projects": true } });
      const email = newAddress();
      const { id } = data(await org.owner.post(path(org), invitation(email, team.id)));
      expect(await usersCount(org, team)).toBe(0);

      const ada = await api.makeUser({ email: email.toUpperCase() });

      const membership = data(await org.owner.get(`/organization-memberships/${id}`));
      expect(membership.attributes.status).toBe("active");
      expect(membership.relationships.user.data).toEqual({ id: ada.id, type: "users" });
      expect(membership.relationships.teams.data).toEqual([{ id: team.id, type: "teams" }]);
      expect(await usersCount(org, team)).toBe(1);
      expect((await ada.get(`/projects/${org.defaultProjectId}`)).status).toBe(200);
      const updates = (await auditEvents(org, id)).filter(
        (event) => event.action === "organization-memberships.update",
      );
      expect(updates).toMatchObject([
        { "actor-name": "admin", before: { status: "invited" }, after: { status: "active", teams: [team.id] } },
      ]);
    });

    it("becomes a membership in every organization that invited the address", async () => {
      const [one, two] = [await api.makeOrganization(), await api.makeOrganization()];
      const email = newAddress();
      for (const org of [one, two]) await org.owner.post(path(org), invitation(email));
      const ada = await api.makeUser({ email });
      expect(data(await ada.get("/organization-memberships"))).toHaveLength(2);
    });

    it("becomes a membership when a site admin sets the address on a user", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const email = newAddress();
      await org.owner.post(path(org), invitation(email, team.id));
      const ada = await api.makeUser();
      await api.admin.patch(`/admin/users/${ada.id}`, resource("users", { email }));
      expect((await ada.get(`/organizations/${org.name}`)).status).toBe(200);
      expect(await usersCount(org, team)).toBe(1);
    });

    it("is revoked by deleting it", async () => {
      const org = await api.makeOrganization();
      const email = newAddress();
      const { id } = data(await org.owner.post(path(org), invitation(email)));
      expect((await org.owner.delete(`/organization-memberships/${id}`)).status).toBe(204);
      const ada = await api.makeUser({ email });
      expect((await ada.get(`/organizations/${org.name}`)).status).toBe(404);
    });
  });

  describe("a member whose address changes", () => {
    it("keeps the membership with the new address, and the old address is free again", async () => {
      const org = await api.makeOrganization();
      const ada = await api.makeMember(org.name);
      const email = newAddress();
      await api.admin.patch(`/admin/users/${ada.id}`, resource("users", { email }));
      const membership = data(await org.owner.get(`/organization-memberships/${ada.membershipId}`));
      expect(membership.attributes).toMatchObject({ email, status: "active" });
      const updates = (await auditEvents(org, ada.membershipId)).filter((event) => event.action.endsWith(".update"));
      expect(updates).toMatchObject([{ "actor-name": "admin", before: { email: ada.email }, after: { email } }]);
      const newcomer = await api.makeUser({ email: ada.email });
      expect((await newcomer.get(`/organizations/${org.name}`)).status).toBe(404);
      expect((await org.owner.post(path(org), invitation(newcomer.email))).status).toBe(201);
      expect((await org.owner.post(path(org), invitation(email))).status).toBe(422);
    });

    it("merges an invitation to the new address, with its teams", async () => {
      const org = await api.makeOrganization();
      const [both, invited] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
      const ada = await api.makeMember(org.name, [both.id]);
      const email = newAddress();
      const waiting = data(await org.owner.post(path(org), invitation(email, both.id, invited.id)));
      await api.admin.patch(`/admin/users/${ada.id}`, resource("users", { email }));
      expect((await org.owner.get(`/organization-memberships/${waiting.id}`)).status).toBe(404);
      const membership = data(await org.owner.get(`/organization-memberships/${ada.membershipId}`));
      expect(membership.attributes.email).toBe(email);
      expect(membership.relationships.teams.data.map((team: Json) => team.id)).toEqual(
        [both.id, invited.id].toSorted(),
      );
      expect([await usersCount(org, both), await usersCount(org, invited)]).toEqual([1, 1]);
    });
  });
});

describe("the placeholder user of an invitation", () => {
  let org: Org;
  let email: string;
  beforeEach(async () => {
    org = await api.makeOrganization();
    email = `${unique("someone")}@example.com`;
  });
  const path = () => `/organizations/${org.name}/organization-memberships`;
  const invite = (address = email) => org.owner.post(path(), resource("organization-memberships", { email: address }));

  it("is included in the creation, and the same in every response", async () => {
    const answer = await invite();
    const membership = data(answer);
    // Shown only once.
    delete membership.attributes["invitation-url"];
    const { id } = membership.relationships.user.data;
    expect(id).toBe(membership.id.replace("ou-", "user-"));
    const user = {
      id,
      type: "users",
      attributes: expect.objectContaining({
        username: "",
        email,
        "is-service-account": false,
        "is-site-admin": false,
        "avatar-url": expect.stringMatching(/^data:/),
        permissions: {
          "can-create-organizations": false,
          "can-change-email": false,
          "can-change-username": false,
          "can-manage-user-tokens": false,
        },
      }),
      relationships: {},
    };
    expect(answer.body.included).toEqual([user]);
    for (const caller of [org.owner, await api.makeMember(org.name), api.admin]) {
      const shown = await caller.get(`/organization-memberships/${membership.id}?include=user`);
      expect(shown.body).toEqual({ data: membership, included: answer.body.included });
      const list = await caller.get(`${path()}?include=user&filter[status]=invited`);
      expect([list.body.data, list.body.included]).toEqual([[membership], answer.body.included]);
    }
    expect(data(await org.owner.get(`/organization-memberships/${membership.id}`))).toEqual(membership);
  });

  it("is listed with real users", async () => {
    const member = await api.makeMember(org.name);
    const invited = data(await invite());
    const list = await org.owner.get(`${path()}?include=user`);
    const ids = list.body.included.map((user: Json) => user.id);
    expect(ids).toEqual(expect.arrayContaining([member.id, org.owner.id, invited.relationships.user.data.id]));
    const named = list.body.data.map((one: Json) => one.relationships.user.data.id);
    expect(ids.toSorted()).toEqual(named.toSorted());
  });

  it("is the real user if there is one", async () => {
    const ada = await api.makeUser();
    const answer = await invite(ada.email);
    expect(data(answer).relationships.user.data).toEqual({ id: ada.id, type: "users" });
    expect(answer.body.included).toEqual([data(await org.owner.get(`/users/${ada.id}`))]);
    expect(answer.body.included[0].attributes).not.toHaveProperty("email");
  });

  it("is replaced by the user who registers", async () => {
    const membership = data(await invite());
    const user = data(
      await api.admin.post(
        "/admin/users",
        resource("users", { username: unique("grace"), email: email.toUpperCase() }),
      ),
    );
    const shown = await org.owner.get(`/organization-memberships/${membership.id}?include=user`);
    expect(data(shown).relationships.user).toEqual({
      data: { id: user.id, type: "users" },
      links: { related: `/api/v2/users/${user.id}` },
    });
    expect(shown.body.included.map(({ id }: Json) => id)).toEqual([user.id]);
  });

  it("can't be shown, changed, given tokens or added to teams", async () => {
    const { id } = data(await invite()).relationships.user.data;
    expect((await api.admin.get(`/users/${id}`)).status).toBe(404);
    expect((await api.admin.post(`/users/${id}/authentication-tokens`)).status).toBe(404);
    expect((await api.admin.patch(`/admin/users/${id}`, resource("users", { "is-site-admin": true }))).status).toBe(
      404,
    );
    expect((await api.admin.delete(`/admin/users/${id}`)).status).toBe(404);
    const team = await api.makeTeam(org.name);
    for (const name of [id, email, ""]) {
      const body = { data: [{ type: "users", id: name }] };
      expect((await org.owner.post(`/teams/${team.id}/relationships/users`, body)).status).toBe(422);
    }
    expect(data(await api.admin.get(`/admin/users?q=${email}`))).toEqual([]);
  });

  it.each(["", "an address"])("has a name that no user can have: %s is rejected", async (name) => {
    const answer = await api.admin.post(
      "/admin/users",
      resource("users", { username: name === "" ? "" : email, email: `${unique("x")}@example.com` }),
    );
    expect(answer.status).toBe(422);
  });
});
