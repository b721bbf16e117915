/** Signing in through an SSO provider: who is matched, created or rejected. Uses a real provider on the loopback address. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { secretInUrl, withCookie } from "../../../support/browser.ts";
import { data, details, pointers, resource, unique } from "../../../support/builders.ts";
import {
  type SignInResult,
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

const verified = (email: string, more: object = {}) => ({
  claims: { sub: unique("sub"), email, email_verified: true, ...more },
});
const account = async ({ cookie = "" }: SignInResult) => data(await api.nobody.get("/account/details", { cookie }));

/** Rejected with a page that gives the reason, without a session. */
function expectRefused(result: SignInResult, status: number, words: string): void {
  expect(result.page).toContain(words);
  expect({ status: result.status, cookie: result.cookie }).toEqual({ status, cookie: undefined });
}

describe("a site provider", () => {
  it("creates a user at the first sign-in, and then finds the user by the subject; records events", async () => {
    const { id } = await makeProvider(api, idp.url, { "create-users": true });
    const name = unique("ada");
    const overrides = verified(`${name}@acme.example`, { preferred_username: name });
    const first = await signIn(api, idp, id, overrides, "?return=/app/acme");
    expect(first.page).toBe("");
    expect({ status: first.status, location: first.location }).toEqual({ status: 302, location: "/app/acme" });
    const created = await account(first);
    expect(created.attributes).toMatchObject({ username: name, email: `${name}@acme.example`, "is-site-admin": false });
    const again = await signIn(api, idp, id, { claims: { ...overrides.claims, email: "other@acme.example" } });
    expect((await account(again)).id).toBe(created.id);
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "actorId", "after"])
      .where("subjectId", "=", created.id)
      .execute();
    expect(events.map(({ action }) => action).toSorted()).toEqual(["users.create", "users.link-identity"]);
    expect(events.every(({ actorId }) => actorId === created.id)).toBe(true);
    const sessions = data(await api.nobody.get("/sessions", { cookie: again.cookie ?? "" }));
    expect(sessions).toHaveLength(2);
  });

  it("finds a user by the verified email address, ignoring case, also a site admin; appends a number to a taken username", async () => {
    const { id } = await makeProvider(api, idp.url, { "create-users": true });
    const admin = await api.makeUser({ "is-site-admin": true });
    expect((await account(await signIn(api, idp, id, verified(admin.email.toUpperCase())))).id).toBe(admin.id);
    const same = verified(`${admin.username}@other.example`, { preferred_username: admin.username });
    expect((await account(await signIn(api, idp, id, same))).attributes.username).toBe(`${admin.username}-2`);
  });

  it("accepts invitations to the email address of a new user", async () => {
    const { id } = await makeProvider(api, idp.url, { "create-users": true });
    const org = await api.makeOrganization();
    const email = `${unique("invited")}@acme.example`;
    const path = `/organizations/${org.name}/organization-memberships`;
    data(await org.owner.post(path, resource("organization-memberships", { email })));
    const result = await signIn(api, idp, id, verified(email));
    expect((await api.nobody.get(`/organizations/${org.name}`, { cookie: result.cookie ?? "" })).status).toBe(200);
  });

  it("calls the userinfo endpoint for missing claims, and takes the address and email_verified from the same source", async () => {
    const more = await startFakeProvider({ withUserinfo: true });
    const { id } = await makeProvider(api, more.url, { "create-users": true });
    const email = `${unique("told")}@acme.example`;
    const sub = unique("sub");
    const userinfo = { sub, email, email_verified: true };
    expect((await account(await signIn(api, more, id, { claims: { sub }, userinfo }))).attributes.email).toBe(email);
    const crossed = {
      claims: { sub: unique("sub"), email: "victim@acme.example" },
      userinfo: { sub: "x", email_verified: true },
    };
    expect((await signIn(api, more, id, crossed)).cookie).toBeUndefined();
    more.http.close();
  });

  it("lets users who signed in through it set a first password", async () => {
    const { id } = await makeProvider(api, idp.url, { "create-users": true });
    const result = await signIn(api, idp, id, verified(`${unique("ada")}@acme.example`));
    const { username } = (await account(result)).attributes;
    const password = "correct horse battery staple";
    const first = { data: { type: "users", attributes: { password, password_confirmation: password } } };
    const answer = await withCookie(api, result.cookie ?? "").patch("/account/password", first);
    expect(answer.status).toBe(200);
    expect((await api.nobody.post("/sessions", resource("sessions", { username, password }))).status).toBe(201);
  });

  it("403: an email address that folds to another user's address", async () => {
    const { id } = await makeProvider(api, idp.url, { "create-users": true });
    const user = await api.makeUser({ email: `${unique("kim")}@acme.example` });
    // The Kelvin sign, whose lower case is k.
    const overrides = verified(user.email.replace("k", "\u212a"));
    expectRefused(await signIn(api, idp, id, overrides), 403, "did not send your email address");
  });

  it("ignores or rejects claims that can't be stored", async () => {
    const { id } = await makeProvider(api, idp.url, { "create-users": true, "groups-claim": "groups" });
    const [broken, email] = ["a\0b", `${unique("ada")}@acme.example`];
    expectRefused(await signIn(api, idp, id, verified(email, { sub: broken })), 403, "did not identify you");
    expectRefused(
      await signIn(api, idp, id, verified(`${broken}@acme.example`)),
      403,
      "did not send your email address",
    );
    expect((await signIn(api, idp, id, verified(email, { groups: [broken, "\ud800"] }))).status).toBe(302);
  });

  it("403: an unknown person, if the provider can't create users", async () => {
    const { id } = await makeProvider(api, idp.url);
    expectRefused(await signIn(api, idp, id, verified("nobody@acme.example")), 403, "create users");
  });

  it.each([
    ["that is not verified", { email_verified: false }],
    ["of which the provider does not say that it is verified", {}],
    ["that is verified in words alone", { email_verified: "yes" }],
  ])("403: an address %s is nobody's", async (_, claims) => {
    const { id } = await makeProvider(api, idp.url, { "create-users": true });
    const user = await api.makeUser();
    const overrides = { claims: { sub: unique("sub"), email: user.email, ...claims } };
    expectRefused(await signIn(api, idp, id, overrides), 403, "verified");
    const unknown = { claims: { ...overrides.claims, email: `${unique("new")}@acme.example` } };
    expectRefused(await signIn(api, idp, id, unknown), 403, "verified");
  });

  it("assume-email-verified applies if email_verified is missing, not if it is false", async () => {
    const { id } = await makeProvider(api, idp.url, { "assume-email-verified": true });
    const user = await api.makeUser();
    const sub = unique("sub");
    expectRefused(
      await signIn(api, idp, id, { claims: { sub, email: user.email, email_verified: false } }),
      403,
      "verified",
    );
    expect((await account(await signIn(api, idp, id, { claims: { sub, email: user.email } }))).id).toBe(user.id);
  });

  it("403: without an email address", async () => {
    const { id } = await makeProvider(api, idp.url, { "create-users": true });
    expectRefused(
      await signIn(api, idp, id, { claims: { sub: unique("sub") } }),
      403,
      "did not send your email address",
    );
  });

  it("doesn't match a subject of another issuer", async () => {
    const provider = await makeProvider(api, idp.url);
    const user = await api.makeUser();
    const overrides = verified(user.email);
    await account(await signIn(api, idp, provider.id, overrides));
    const other = await startFakeProvider();
    const self = `/admin/sso-providers/${provider.id}`;
    data(await api.admin.patch(self, resource("sso-providers", { issuer: other.url })));
    const { sub } = overrides.claims;
    expect((await signIn(api, other, provider.id, { claims: { sub } })).status).toBe(403);
    other.http.close();
  });
});

describe("an organization's provider", () => {
  const makeOrganizationProvider = async () => {
    const [org, other] = [await api.makeOrganization(), await api.makeOrganization()];
    const provider = await makeProvider(api, idp.url, { organization: org.name, "create-users": true });
    return { org, other, provider };
  };
  const member = (name: string, email: string) =>
    [`/organizations/${name}/organization-memberships`, resource("organization-memberships", { email })] as const;

  it("adds members to its organization, and signs in existing ones", async () => {
    const { org, provider } = await makeOrganizationProvider();
    const result = await signIn(api, idp, provider.id, verified(`${unique("new")}@acme.example`));
    const cookie = result.cookie ?? "";
    const organizations = data(await api.nobody.get("/organizations", { cookie }));
    expect(organizations.map(({ id }: { id: string }) => id)).toEqual([org.name]);
    const colleague = await api.makeMember(org.name);
    expect((await account(await signIn(api, idp, provider.id, verified(colleague.email)))).id).toBe(colleague.id);
  });

  it("403: a site admin, a member of another organization or of none, whatever the email address", async () => {
    const { org, other, provider } = await makeOrganizationProvider();
    const admin = await api.makeUser({ "is-site-admin": true });
    const [stranger, loner] = [await api.makeMember(other.name), await api.makeUser()];
    for (const victim of [admin, stranger, loner])
      expectRefused(await signIn(api, idp, provider.id, verified(victim.email)), 403, "sign in as that user");
    const both = await api.makeMember(org.name);
    const invitation = data(await other.owner.post(...member(other.name, both.email)));
    const secret = secretInUrl(invitation.attributes["invitation-url"]);
    data(await both.post(`/invitations/${secret}/actions/accept`));
    expectRefused(await signIn(api, idp, provider.id, verified(both.email)), 403, "access beyond it");
  });

  it("still signs in a user whom another organization invites, until the user accepts", async () => {
    const { org, other, provider } = await makeOrganizationProvider();
    // Before and after the first sign-in, and after a site admin has confirmed the address.
    const [early, confirmed] = [await api.makeMember(org.name), await api.makeMember(org.name)];
    const overrides = [verified(early.email), verified(confirmed.email)] as const;
    expect((await signIn(api, idp, provider.id, overrides[1])).status).toBe(302);
    data(await api.admin.patch(`/admin/users/${confirmed.id}`, resource("users", { email: confirmed.email })));
    for (const [at, victim] of [early, confirmed].entries()) {
      const added = data(await other.owner.post(...member(other.name, victim.email)));
      expect(added.attributes.status).toBe("invited");
      expect((await victim.get(`/organizations/${other.name}`)).status).toBe(404);
      const result = await signIn(api, idp, provider.id, overrides[at] ?? {});
      expect(result.page).toBe("");
      expect((await account(result)).id).toBe(victim.id);
      // The link doesn't let anyone else become that user.
      const register = resource("invitations", { username: unique("mallory"), password: "correct horse battery" });
      const secret = secretInUrl(added.attributes["invitation-url"]);
      expect((await api.nobody.post(`/invitations/${secret}/actions/register`, register)).status).toBe(409);
    }
    const direct = await api.makeUser();
    expect(data(await other.owner.post(...member(other.name, direct.email))).attributes.status).toBe("active");
    const bySite = await api.makeMember(org.name);
    expect(data(await api.admin.post(...member(other.name, bySite.email))).attributes.status).toBe("active");
  });

  it("403: a user who has gained access beyond the organization since", async () => {
    const { org, provider } = await makeOrganizationProvider();
    const colleague = await api.makeMember(org.name);
    const overrides = verified(colleague.email);
    expect((await signIn(api, idp, provider.id, overrides)).status).toBe(302);
    data(await api.admin.patch(`/admin/users/${colleague.id}`, resource("users", { "is-site-admin": true })));
    expectRefused(await signIn(api, idp, provider.id, overrides), 403, "access beyond it");
  });

  it("doesn't add users to another organization: an invitation there waits until a site admin confirms the address", async () => {
    const { other, provider } = await makeOrganizationProvider();
    const [early, late] = [`${unique("early")}@acme.example`, `${unique("late")}@acme.example`];
    data(await other.owner.post(...member(other.name, early)));
    const first = await signIn(api, idp, provider.id, verified(early));
    expect((await api.nobody.get(`/organizations/${other.name}`, { cookie: first.cookie ?? "" })).status).toBe(404);
    const second = await account(await signIn(api, idp, provider.id, verified(late)));
    const refused = await other.owner.post(...member(other.name, late));
    expect({ status: refused.status, pointers: pointers(refused) }).toEqual({
      status: 422,
      pointers: ["/data/attributes/email"],
    });
    expect(details(refused)[0]).toContain("site admin");
    data(await api.admin.patch(`/admin/users/${second.id}`, resource("users", { email: late })));
    expect((await other.owner.post(...member(other.name, late))).status).toBe(201);
    const { id } = await account(first);
    data(await api.admin.patch(`/admin/users/${id}`, resource("users", { email: early })));
    expect((await api.nobody.get(`/organizations/${other.name}`, { cookie: first.cookie ?? "" })).status).toBe(200);
    // A site provider can't sign in as a user whom the organization manages either.
    const third = `${unique("third")}@acme.example`;
    await account(await signIn(api, idp, provider.id, verified(third)));
    const site = await makeProvider(api, idp.url);
    expectRefused(await signIn(api, idp, site.id, verified(third)), 403, "sign in as that user");
  });

  it("403: a removed member, unless the provider can create users; 404: a disabled organization", async () => {
    const { org, provider } = await makeOrganizationProvider();
    const colleague = await api.makeMember(org.name);
    const overrides = verified(colleague.email);
    expect((await signIn(api, idp, provider.id, overrides)).status).toBe(302);
    data(await org.owner.delete(`/organization-memberships/${colleague.membershipId}`));
    data(
      await api.admin.patch(
        `/admin/sso-providers/${provider.id}`,
        resource("sso-providers", { "create-users": false }),
      ),
    );
    expectRefused(await signIn(api, idp, provider.id, overrides), 403, "no longer a member");
    data(await api.admin.patch(`/admin/organizations/${org.name}`, resource("organizations", { "is-disabled": true })));
    const closed = await fetch(`${api.url}/app/sign-in/sso/${provider.id}`, { redirect: "manual" });
    expect(closed.status).toBe(404);
  });
});
