import { describe, expect, it } from "vitest";
import { loggedUrl } from "../../../../src/http/log.ts";
import { useApi } from "../../../support/api.ts";
import { useApiWithFailureLimit } from "../../../support/rate-limits.ts";
import { cookieOf, secretInUrl } from "../../../support/browser.ts";
import { data, details, pointers, resource, unique } from "../../../support/builders.ts";
import { invite, invitationBody, invitationLinks, newEmail, password } from "../../../support/invitations.ts";

const api = useApi();
const { end, show, register, registered, membershipOf, account, actionsOf } = invitationLinks(api);
const dayMs = 86_400_000;

describe("createOrganizationMembership", () => {
  it("201: shows the link of an invitation once, to its creator", async () => {
    const org = await api.makeOrganization();
    const { membership } = await invite(org);
    expect(membership.attributes).toMatchObject({ status: "invited" });
    expect(membership.attributes["invitation-url"]).toMatch(
      new RegExp(`^${api.url}/app/invitations/cadastre-[\\w-]{43}$`),
    );
    const path = `/organizations/${org.name}/organization-memberships`;
    for (const answer of [
      await org.owner.get(`/organization-memberships/${membership.id}`),
      await org.owner.get(`${path}?filter[status]=invited`),
    ])
      expect(JSON.stringify(answer.body)).not.toContain("invitation-url");
    const auditLog = JSON.stringify((await org.owner.get(`/organizations/${org.name}/audit-events`)).body);
    expect(auditLog).toContain(membership.id);
    expect(auditLog).not.toContain("app/invitations");
  });

  it("201: an existing user gets none", async () => {
    const org = await api.makeOrganization();
    const { email } = await api.makeUser();
    const created = data(
      await org.owner.post(`/organizations/${org.name}/organization-memberships`, invitationBody(email)),
    );
    expect(created.attributes.status).toBe("active");
    expect(created.attributes).not.toHaveProperty("invitation-url");
  });

  it("stores only a hash of it, and doesn't log it", async () => {
    const { secret } = await invite(await api.makeOrganization());
    const rows = await api.database.reader.db.selectFrom("invitations").selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(secret);
    for (const path of [`/api/v2/invitations/${secret}`, `/app/invitations/${secret}`])
      expect(loggedUrl(path)).not.toContain(secret.slice(0, 20));
  });
});

describe("showInvitation", () => {
  it("200: the organization, for anyone with the link", async () => {
    const org = await api.makeOrganization();
    const { email, secret } = await invite(org);
    const shown = data(await show(secret));
    expect(shown).toMatchObject({
      type: "invitations",
      attributes: { email, username: null, "has-password": false },
      relationships: { organization: { data: { type: "organizations", id: org.name } } },
    });
    expect(shown.attributes).not.toHaveProperty("invitation-url");
    expect(Date.parse(shown.attributes["expires-at"])).toBeGreaterThan(Date.now() + 6 * dayMs);
    expect(JSON.stringify(shown)).not.toContain(secret);
  });

  it("404: the same error for an unknown, used, replaced, revoked and expired link", async () => {
    const org = await api.makeOrganization();
    const [used, replaced, withdrawn, closed, ended] = [
      await invite(org),
      await invite(org),
      await invite(org),
      await invite(await api.makeOrganization()),
      await invite(org),
    ];
    expect((await registered(used.secret)).status).toBe(201);
    data(await org.owner.post(`/organization-memberships/${replaced.membership.id}/actions/renew-invitation`));
    expect((await org.owner.delete(`/organization-memberships/${withdrawn.membership.id}`)).status).toBe(204);
    const name = closed.membership.relationships.organization.data.id;
    data(await api.admin.patch(`/admin/organizations/${name}`, resource("organizations", { "is-disabled": true })));
    const secrets = [used, replaced, withdrawn, closed].map(({ secret }) => secret);
    await end(ended.membership.id);
    for (const secret of ["none", ...secrets, ended.secret]) {
      for (const answer of [await show(secret), await registered(secret)]) {
        expect(answer.status).toBe(404);
        expect(details(answer)).toEqual(details(await show("none")));
        expect(answer.headers.get("set-cookie")).toBeFalsy();
      }
    }
  });

  it("404: after a site admin has added the user, who is then a member", async () => {
    const { email, secret } = await invite(await api.makeOrganization());
    await api.makeUser({ email });
    expect((await show(secret)).status).toBe(404);
  });
});

describe("guessing links", () => {
  const limited = useApiWithFailureLimit();

  it("429: after too many wrong links from an address, also for a valid one", async () => {
    const { secret } = await (async () => {
      const name = unique("acme");
      data(await limited.admin.post("/organizations", resource("organizations", { name, email: "a@b.c" })));
      const created = await limited.admin.post(
        `/organizations/${name}/organization-memberships`,
        invitationBody(newEmail()),
      );
      return { secret: secretInUrl(data(created).attributes["invitation-url"]) };
    })();
    const statuses: number[] = [];
    for (let count = 0; count < 4; count += 1) statuses.push((await limited.nobody.get("/invitations/none")).status);
    expect(statuses).toEqual([404, 404, 404, 429]);
    const answer = await limited.nobody.get(`/invitations/${secret}`);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

describe("registerByInvitation", () => {
  it("201: creates the user, signs them in, and adds them to the invitation's teams", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const { membership, email, secret } = await invite(org, { teamIds: [team.id] });
    const username = unique("grace");
    const answer = await register(secret, { username, password });
    expect(answer.status).toBe(201);
    expect(data(answer)).toMatchObject({ type: "sessions", attributes: { current: true } });
    const user = await account(answer);
    expect(user.attributes).toMatchObject({ username, email, "is-site-admin": false });
    const member = await membershipOf(membership.id);
    expect(member.attributes.status).toBe("active");
    expect(member.relationships.user.data.id).toBe(user.id);
    expect(member.relationships.teams.data).toEqual([{ type: "teams", id: team.id }]);
    expect(data(await org.owner.get(`/teams/${team.id}`)).attributes["users-count"]).toBe(1);
    const again = await api.nobody.post("/sessions", resource("sessions", { username, password }));
    expect(again.status).toBe(201);
  });

  it("records events with the user and the link", async () => {
    const { membership, secret } = await invite(await api.makeOrganization());
    const link = data(await show(secret)).id;
    const answer = await registered(secret);
    const { id } = await account(answer);
    expect(await actionsOf(answer)).toEqual([
      "organization-memberships.accept-invitation",
      "sessions.create",
      "users.create",
      "users.set-password",
    ]);
    const rows = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["actorId", "tokenId"])
      .where("subjectId", "=", membership.id)
      .where("action", "=", "organization-memberships.accept-invitation")
      .execute();
    expect(rows).toEqual([{ actorId: id, tokenId: link }]);
  });

  it("422: a missing, taken or invalid username, or a weak password; the link stays valid", async () => {
    const { secret } = await invite(await api.makeOrganization());
    const { username } = await api.makeUser();
    const [name, secretly] = ["/data/attributes/username", "/data/attributes/password"];
    expect(pointers(await register(secret, { password }))).toEqual([name]);
    expect(pointers(await register(secret, { username: unique("grace") }))).toEqual([secretly]);
    expect(pointers(await register(secret, { username: "not a name", password: "" }))).toEqual([name, secretly]);
    expect(pointers(await register(secret, { username, password: "short" }))).toEqual([name, secretly]);
    expect(pointers(await register(secret, { username: unique("grace"), password: "password12" }))).toEqual([secretly]);
    expect((await registered(secret)).status).toBe(201);
  });

  it("works for only one of two concurrent requests", async () => {
    const { secret } = await invite(await api.makeOrganization());
    const answers = await Promise.all([registered(secret), registered(secret)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 404]);
  });

  it("403: not from a page of another origin", async () => {
    const { secret } = await invite(await api.makeOrganization());
    const answer = await register(secret, { username: unique("g"), password }, { origin: "https://evil.example" });
    expect(answer.status).toBe(403);
    expect((await show(secret)).status).toBe(200);
  });
});

describe("the verification of the email address", () => {
  it("an organization's link doesn't verify the address for others: their invitations stay open", async () => {
    const [first, second, third] = [
      await api.makeOrganization(),
      await api.makeOrganization(),
      await api.makeOrganization(),
    ];
    const email = newEmail();
    const theirs = await invite(second, { email });
    const answer = await registered((await invite(first, { email })).secret);
    const user = await account(answer);
    expect((await membershipOf(theirs.membership.id)).attributes.status).toBe("invited");
    const later = await third.owner.post(
      `/organizations/${third.name}/organization-memberships`,
      invitationBody(email),
    );
    expect(later.status).toBe(422);
    expect(pointers(later)).toEqual(["/data/attributes/email"]);
    expect(data(await show(theirs.secret)).attributes).toMatchObject({ "has-password": true, username: null });
    const refused = await registered(theirs.secret);
    expect(refused.status).toBe(409);
    expect(details(refused)).toEqual([expect.stringContaining("Sign in as that user")]);
    // The user can't change that.
    const cookie = cookieOf(answer);
    const own = { cookie, origin: api.url };
    data(await api.nobody.patch("/account/update", resource("users", { email }), own));
    expect((await membershipOf(theirs.membership.id)).attributes.status).toBe("invited");
    // A site admin can, by setting the address.
    data(await api.admin.patch(`/admin/users/${user.id}`, resource("users", { email })));
    expect((await membershipOf(theirs.membership.id)).relationships.user.data.id).toBe(user.id);
  });

  it("a site admin's link verifies the address: all invitations to it become memberships", async () => {
    const [first, second] = [await api.makeOrganization(), await api.makeOrganization()];
    const email = newEmail();
    const theirs = await invite(second, { email });
    expect((await registered((await invite(first, { email, by: api.admin })).secret)).status).toBe(201);
    expect((await membershipOf(theirs.membership.id)).attributes.status).toBe("active");
    expect((await show(theirs.secret)).status).toBe(404);
  });
});
