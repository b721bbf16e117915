import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();

const own = (attributes: object) => resource("users", attributes);

describe("showAccount", () => {
  it("200: a user's token shows the user with the email address", async () => {
    const ada = await api.makeUser();
    const answer = await ada.get("/account/details");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("etag")).toBe('"1"');
    const account = data(answer);
    expect(account).toMatchObject({
      id: ada.id,
      type: "users",
      attributes: {
        username: ada.username,
        email: ada.email,
        "unconfirmed-email": null,
        "is-site-admin": false,
        "is-service-account": false,
        permissions: {
          "can-create-organizations": false,
          "can-change-email": true,
          "can-change-username": true,
          "can-manage-user-tokens": true,
        },
      },
    });
    expect(account.relationships["authentication-tokens"].links.related).toBe(
      `/api/v2/users/${ada.id}/authentication-tokens`,
    );
  });

  it("200: the avatar is a stable data: URL", async () => {
    const [ada, grace] = [await api.makeUser(), await api.makeUser()];
    const pictureOf = async (caller: typeof ada, path = "/account/details"): Promise<string> =>
      data(await caller.get(path)).attributes["avatar-url"];
    const picture = await pictureOf(ada);
    expect(decodeURIComponent(picture)).toMatch(/^data:image\/svg\+xml,<svg [^]*<\/svg>$/);
    await ada.patch("/account/update", own({ username: unique("renamed") }));
    expect(await pictureOf(ada)).toBe(picture);
    expect(data(await api.admin.get(`/users/${ada.id}`)).attributes["avatar-url"]).toBe(picture);
    expect(await pictureOf(grace)).toMatch(/^data:image/);
    const org = await api.makeOrganization();
    const token = await api.makeOrganizationToken(org.name);
    expect(data(await token.get("/account/details")).attributes["avatar-url"]).toMatch(/^data:image/);
  });

  it("200: a site admin can create organizations", async () => {
    const { attributes } = data(await api.admin.get("/account/details"));
    expect(attributes).toMatchObject({ "is-site-admin": true, "is-admin": true });
    expect(attributes.permissions["can-create-organizations"]).toBe(true);
  });

  it("200: a team's token shows the team as a service account without an email address", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const account = data(await (await api.makeTeamToken(team.id)).get("/account/details"));
    expect(account.id).toBe(team.id);
    expect(account.type).toBe("users");
    expect(account.attributes).toMatchObject({
      username: `api-team-${team.attributes.name}`,
      "is-service-account": true,
      "is-site-admin": false,
    });
    expect(account.attributes).not.toHaveProperty("email");
    expect(Object.values(account.attributes.permissions)).not.toContain(true);
  });

  it("200: an organization's token shows the organization as a service account", async () => {
    const org = await api.makeOrganization();
    const account = data(await (await api.makeOrganizationToken(org.name)).get("/account/details"));
    expect(account.id).toBe(org.id);
    expect(account.attributes).toMatchObject({ username: `api-org-${org.name}`, "is-service-account": true });
    expect(account.attributes).not.toHaveProperty("email");
  });
});

describe("updateAccount", () => {
  it("200: the username changes immediately, the email address doesn't", async () => {
    const ada = await api.makeUser();
    const username = unique("renamed");
    const answer = await ada.patch("/account/update", own({ username }));
    expect(data(answer).attributes).toMatchObject({ username, email: ada.email, "unconfirmed-email": null });
    expect(answer.headers.get("etag")).toBe('"2"');
    expect(data(await ada.get("/account/details")).attributes.username).toBe(username);
  });

  it("200: a new email address stays unconfirmed until a site admin sets it", async () => {
    const ada = await api.makeUser();
    const wanted = `${unique("wanted")}@example.com`;
    const requested = await ada.patch("/account/update", own({ email: wanted }));
    expect(data(requested).attributes).toMatchObject({ email: ada.email, "unconfirmed-email": wanted });
    expect(data(await api.admin.get(`/users/${ada.id}`)).attributes["unconfirmed-email"]).toBe(wanted);
    const confirmed = await api.admin.patch(`/admin/users/${ada.id}`, own({ email: wanted }));
    expect(data(confirmed).attributes).toMatchObject({ email: wanted, "unconfirmed-email": null });
  });

  it("200: sending the current email address withdraws the request", async () => {
    const ada = await api.makeUser();
    await ada.patch("/account/update", own({ email: "elsewhere@example.com" }));
    const answer = await ada.patch("/account/update", own({ email: ada.email }));
    expect(data(answer).attributes).toMatchObject({ email: ada.email, "unconfirmed-email": null });
  });

  it("200: an unconfirmed address has no effect on invitations or other users", async () => {
    const org = await api.makeOrganization();
    const email = `${unique("invited")}@example.com`;
    const invitation = data(
      await org.owner.post(
        `/organizations/${org.name}/organization-memberships`,
        resource("organization-memberships", { email }, { teams: { data: [{ type: "teams", id: org.ownersTeamId }] } }),
      ),
    );
    const mallory = await api.makeUser();
    await mallory.patch("/account/update", own({ email }));
    expect((await mallory.get(`/organizations/${org.name}`)).status).toBe(404);
    const still = data(await org.owner.get(`/organization-memberships/${invitation.id}`));
    expect(still.attributes.status).toBe("invited");

    const { email: taken } = await api.makeUser();
    expect((await mallory.patch("/account/update", own({ email: taken }))).status).toBe(200);
  });

  it("200: a site admin's own email address changes immediately", async () => {
    const root = await api.makeUser({ "is-site-admin": true });
    const email = `${unique("root")}@example.com`;
    const answer = await root.patch("/account/update", own({ email }));
    expect(data(answer).attributes).toMatchObject({ email, "unconfirmed-email": null });
    await api.admin.delete(`/admin/users/${root.id}`);
  });

  it.each(["username", "email"])("422: %s null", async (name) => {
    const ada = await api.makeUser();
    expect(pointers(await ada.patch("/account/update", own({ [name]: null })))).toEqual([`/data/attributes/${name}`]);
  });

  it("200: a new email address of a member of a deleted organization that is not empty yet", async () => {
    const org = await api.makeOrganization();
    const ada = await api.makeMember(org.name, [org.ownersTeamId]);
    await api.admin.delete(`/organizations/${org.name}`);
    const email = `${unique("ada")}@example.com`;
    const answer = await api.admin.patch(`/admin/users/${ada.id}`, own({ email }));
    expect([answer.status, answer.body.data?.attributes.email]).toEqual([200, email]);
  });

  it("422: a taken username, ignoring case", async () => {
    const [ada, grace] = [await api.makeUser(), await api.makeUser()];
    const answer = await ada.patch("/account/update", own({ username: grace.username.toUpperCase() }));
    expect(pointers(answer)).toEqual(["/data/attributes/username"]);
  });

  it("422: a username that looks like a user id", async () => {
    const [ada, grace] = [await api.makeUser(), await api.makeUser()];
    const answer = await ada.patch("/account/update", own({ username: grace.id.toLowerCase() }));
    expect(pointers(answer)).toEqual(["/data/attributes/username"]);
  });

  it("403: users can't make themselves site admins", async () => {
    const ada = await api.makeUser();
    const answer = await ada.patch("/account/update", own({ username: unique("root"), "is-site-admin": true }));
    expect(answer.status).toBe(403);
    const { attributes } = data(await ada.get("/account/details"));
    expect(attributes).toMatchObject({ "is-site-admin": false, username: ada.username });
  });

  it("403: a team's or an organization's token has no account", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    for (const caller of [await api.makeTeamToken(team.id), await api.makeOrganizationToken(org.name)]) {
      expect((await caller.patch("/account/update", own({ username: unique("v") }))).status).toBe(403);
    }
  });
});

describe("showUser", () => {
  it("200: the user and site admins see the email address", async () => {
    const ada = await api.makeUser();
    for (const caller of [ada, api.admin]) {
      const answer = await caller.get(`/users/${ada.id}`);
      expect(data(answer).attributes).toMatchObject({ username: ada.username, email: ada.email });
      expect(answer.headers.get("etag")).toBe('"1"');
    }
  });

  it("200: members of a shared organization see the username but no email address", async () => {
    const org = await api.makeOrganization();
    const ada = await api.makeMember(org.name);
    await ada.patch("/account/update", own({ email: "wanted@example.com" }));
    const team = await api.makeTeam(org.name);
    const callers = [
      org.owner,
      await api.makeMember(org.name),
      await api.makeTeamToken(team.id),
      await api.makeOrganizationToken(org.name),
    ];
    for (const caller of callers) {
      const { attributes } = data(await caller.get(`/users/${ada.id}`));
      expect(attributes.username).toBe(ada.username);
      expect(attributes).not.toHaveProperty("email");
      expect(attributes).not.toHaveProperty("unconfirmed-email");
      expect(Object.values(attributes.permissions)).not.toContain(true);
    }
  });

  it("404: users without a shared organization and tokens of other organizations", async () => {
    const [here, there] = [await api.makeOrganization(), await api.makeOrganization()];
    const ada = await api.makeMember(here.name);
    const team = await api.makeTeam(there.name);
    const callers = [
      await api.makeUser(),
      there.owner,
      await api.makeTeamToken(team.id),
      await api.makeOrganizationToken(there.name),
    ];
    for (const caller of callers) expect((await caller.get(`/users/${ada.id}`)).status).toBe(404);
    expect((await here.owner.get("/users/user-unknown")).status).toBe(404);
  });

  it("404: an invitation or a former membership doesn't make a user visible", async () => {
    const org = await api.makeOrganization();
    const ada = await api.makeMember(org.name);
    expect((await ada.get(`/users/${org.owner.id}`)).status).toBe(200);
    await org.owner.delete(`/organization-memberships/${ada.membershipId}`);
    expect((await ada.get(`/users/${org.owner.id}`)).status).toBe(404);
    expect((await org.owner.get(`/users/${ada.id}`)).status).toBe(404);
  });
});
