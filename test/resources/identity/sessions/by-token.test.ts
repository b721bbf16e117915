/** Sessions started with a token instead of a password: they give no more access than the token. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { cookieOf, signInWithToken } from "../../../support/browser.ts";
import { data, details, makeOrganization, makeTeamToken, makeUser, resource } from "../../../support/builders.ts";

const api = useApi();

const password = "correct horse battery staple";

const signIn = (attributes: object) => api.nobody.post("/sessions", resource("sessions", attributes));

/** A user with a token, and a second token for signing in. */
async function withSecondToken(attributes: object = {}) {
  const ada = await makeUser(api);
  const path = `/users/${ada.id}/authentication-tokens`;
  const token = data(
    await ada.post(path, resource("authentication-tokens", { description: "for a browser", ...attributes })),
  );
  const answer = await signIn({ token: token.attributes.token });
  const cookie = cookieOf(answer);
  const accountStatus = async () => (await api.nobody.get("/account/details", { cookie })).status;
  return { ada, token, session: data(answer), accountStatus };
}

const giveFirstPassword = async ({ id }: { readonly id: string }) =>
  data(await api.admin.patch(`/admin/users/${id}`, resource("users", { password })));

describe("a session started with a token", () => {
  it("ends immediately with the token, with its own event", async () => {
    const { ada, token, session, accountStatus } = await withSecondToken();
    expect(await accountStatus()).toBe(200);
    expect((await ada.delete(`/authentication-tokens/${token.id}`)).status).toBe(204);
    expect(await accountStatus()).toBe(401);
    expect(data(await ada.get("/sessions")).map(({ id }: { id: string }) => id)).not.toContain(session.id);
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .select("action")
      .where("subjectId", "in", [session.id, token.id])
      .execute();
    expect(events.map(({ action }) => action).toSorted()).toEqual([
      "authentication-tokens.create",
      "authentication-tokens.delete",
      "sessions.create",
      "sessions.delete",
    ]);
  });

  it("ends however the token was removed, and is not listed", async () => {
    const { ada, token, session, accountStatus } = await withSecondToken();
    await api.database.write((tx) => tx.db.deleteFrom("tokens").where("id", "=", token.id).execute());
    expect(await accountStatus()).toBe(401);
    expect(data(await ada.get("/sessions")).map(({ id }: { id: string }) => id)).not.toContain(session.id);
  });

  it("expires no later than the token", async () => {
    const expiredAt = new Date(Date.now() + 3_600_000).toISOString();
    const { session } = await withSecondToken({ "expired-at": expiredAt });
    expect(session.attributes["expires-at"]).toBe(expiredAt);
  });

  it("stays when another token is revoked, and is listed", async () => {
    const { ada, session, accountStatus } = await withSecondToken();
    const other = data(await ada.post(`/users/${ada.id}/authentication-tokens`, resource("authentication-tokens", {})));
    await ada.delete(`/authentication-tokens/${other.id}`);
    expect(await accountStatus()).toBe(200);
    expect(data(await ada.get("/sessions")).map(({ id }: { id: string }) => id)).toContain(session.id);
  });

  it("can't be started with a token that is revoked concurrently", async () => {
    const { ada, token } = await withSecondToken();
    const [started] = await Promise.all([
      signIn({ token: token.attributes.token }),
      ada.delete(`/authentication-tokens/${token.id}`),
    ]);
    if (started.status === 201)
      expect((await api.nobody.get("/account/details", { cookie: cookieOf(started) })).status).toBe(401);
    else expect(started.status).toBe(401);
  });
});

describe("a first password", () => {
  const first = { data: { type: "users", attributes: { password, password_confirmation: password } } };

  it("403: can't be set with a token or a session started with one, because it would outlive the token", async () => {
    const { ada, token } = await withSecondToken();
    const browser = await signInWithToken(api, { token: token.attributes.token });
    for (const caller of [ada, browser]) {
      const answer = await caller.patch("/account/password", first);
      expect([answer.status, details(answer)[0]]).toEqual([403, expect.stringContaining("a token can't set one")]);
    }
    expect((await signIn({ username: ada.username, password })).status).toBe(401);
  });
});

describe("organizations that refuse users' tokens", () => {
  it("accept signed-in users, unless they signed in with such a token", async () => {
    const org = await makeOrganization(api);
    const owners = await makeTeamToken(api, org.ownersTeamId);
    data(await owners.patch(`/organizations/${org.name}`, resource("organizations", { "user-tokens-enabled": false })));
    expect((await org.owner.get(`/organizations/${org.name}`)).status).toBe(401);
    const { id, attributes } = data(await org.owner.get("/account/details"));
    const { username } = attributes;
    await giveFirstPassword({ id });
    const bySecret = cookieOf(await signIn({ username, password }));
    expect((await api.nobody.get(`/organizations/${org.name}`, { cookie: bySecret })).status).toBe(200);
    const byToken = cookieOf(await signIn({ token: org.owner.token }));
    const refused = await api.nobody.get(`/organizations/${org.name}`, { cookie: byToken });
    expect([refused.status, details(refused)[0]]).toEqual([
      401,
      expect.stringContaining("user-tokens-enabled is false"),
    ]);
    // It still works elsewhere.
    expect((await api.nobody.get("/account/details", { cookie: byToken })).status).toBe(200);
  });
});
