import { describe, expect, it } from "vitest";
import { hashPassword } from "../../../../src/kernel/passwords.ts";
import { type Answer, useApi } from "../../../support/api.ts";
import { cookieOf, browserHeaders } from "../../../support/browser.ts";
import { data, details, type Person, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();

const password = "correct horse battery staple";

let hash: string | undefined;

async function withPassword(): Promise<Person> {
  const user = await api.makeUser();
  // Hashing is slow by design, so it is done once.
  hash ??= await hashPassword(password);
  const row = { userId: user.id, hash, changedAt: "", version: 1 };
  await api.database.write((tx) => tx.db.insertInto("passwords").values(row).execute());
  return user;
}

const signIn = (attributes: object, headers: Record<string, string> = {}) =>
  api.nobody.post("/sessions", resource("sessions", attributes), headers);

const inBrowser = (cookie: string, headers: Record<string, string> = {}) => ({
  ...browserHeaders(api, cookie),
  ...headers,
});

describe("createSession", () => {
  it("201: with username and password; sets an HttpOnly cookie that authenticates the user", async () => {
    const ada = await withPassword();
    const answer = await signIn({ username: ada.username, password }, { "user-agent": "Lynx" });
    expect(answer.status).toBe(201);
    const session = data(answer);
    expect(session).toMatchObject({ type: "sessions", attributes: { current: true, "user-agent": "Lynx" } });
    expect(session.relationships.user.data).toEqual({ type: "users", id: ada.id });
    expect(Date.parse(session.attributes["expires-at"])).toBeGreaterThan(Date.parse(session.attributes["created-at"]));
    expect(JSON.stringify(session)).not.toContain(password);
    const cookie = answer.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^cadastre_session=[^;]{40,}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
    const account = await api.nobody.get("/account/details", { cookie: cookieOf(answer) });
    expect(data(account).id).toBe(ada.id);
  });

  it("201: with the username in any case, or the email address", async () => {
    const ada = await withPassword();
    expect((await signIn({ username: ada.username.toUpperCase(), password })).status).toBe(201);
    expect((await signIn({ username: ada.email, password })).status).toBe(201);
  });

  it("201: with a user's token", async () => {
    const ada = await api.makeUser();
    const answer = await signIn({ token: ada.token });
    expect(answer.status).toBe(201);
    expect(data(await api.nobody.get("/account/details", { cookie: cookieOf(answer) })).id).toBe(ada.id);
  });

  it("401: the same error for a wrong password, an unknown name, a user without a password and a wrong token", async () => {
    const ada = await withPassword();
    const without = await api.makeUser();
    const answers = [
      await signIn({ username: ada.username, password: `${password}r` }),
      await signIn({ username: unique("nobody"), password }),
      await signIn({ username: without.username, password }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(details(answer)).toEqual(details(answers[0] as Answer));
      expect(answer.headers.get("set-cookie")).toBeFalsy();
    }
    expect((await signIn({ token: "cadastre-none" })).status).toBe(401);
  });

  it("422: neither a password nor a token, or both; reports all faults", async () => {
    expect(pointers(await signIn({}))).toEqual(["/data/attributes/username", "/data/attributes/password"]);
    expect(pointers(await signIn({ username: "ada" }))).toEqual(["/data/attributes/password"]);
    expect(pointers(await signIn({ username: "ada", password, token: "x" }))).toEqual(["/data/attributes/token"]);
    expect((await signIn({ username: 1, password: 2 })).status).toBe(422);
  });

  it("401: with a token of a team or an organization", async () => {
    const { name } = await api.makeOrganization();
    const { token } = await api.makeOrganizationToken(name);
    expect((await signIn({ token })).status).toBe(401);
  });

  it("415: only as JSON:API, because any page can send a form", async () => {
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await api.nobody.post("/sessions", "username=ada&password=x", form)).status).toBe(415);
    const plain = { "content-type": "text/plain" };
    expect((await api.nobody.post("/sessions", JSON.stringify(resource("sessions", {})), plain)).status).toBe(415);
  });

  it("403: not from a page of another origin", async () => {
    const ada = await withPassword();
    const answer = await signIn({ username: ada.username, password }, { origin: "https://evil.example" });
    expect(answer.status).toBe(403);
    expect(answer.headers.get("set-cookie")).toBeFalsy();
  });
});

describe("a request with the cookie", () => {
  async function signedIn() {
    const ada = await withPassword();
    return { ada, cookie: cookieOf(await signIn({ username: ada.username, password })) };
  }
  const rename = () => resource("users", { username: unique("renamed") });

  it("200: can write from the site's own pages", async () => {
    const { cookie } = await signedIn();
    expect((await api.nobody.patch("/account/update", rename(), inBrowser(cookie))).status).toBe(200);
  });

  it("403: can't write from another or an unknown origin", async () => {
    const { cookie } = await signedIn();
    const foreign = inBrowser(cookie, { origin: "https://evil.example" });
    expect((await api.nobody.patch("/account/update", rename(), foreign)).status).toBe(403);
    expect((await api.nobody.patch("/account/update", rename(), { cookie })).status).toBe(403);
    expect((await api.nobody.patch("/account/update", rename(), inBrowser(cookie, { origin: "null" }))).status).toBe(
      403,
    );
    const other = inBrowser(cookie, { origin: api.url.replace(/\d+$/, "1") });
    expect((await api.nobody.patch("/account/update", rename(), other)).status).toBe(403);
  });

  it("415: can't write with a content type that any page can send, not even without a body", async () => {
    const { cookie, ada } = await signedIn();
    const plain = inBrowser(cookie, { "content-type": "text/plain" });
    expect((await api.nobody.patch("/account/update", rename(), plain)).status).toBe(415);
    const { "content-type": _, ...bare } = inBrowser(cookie);
    expect((await api.nobody.send("DELETE", "/sessions", undefined, bare)).status).toBe(415);
    expect(data(await api.nobody.get("/account/details", { cookie })).attributes.username).toBe(ada.username);
  });

  it("the token of the header takes precedence over the cookie", async () => {
    const { cookie } = await signedIn();
    const grace = await api.makeUser();
    expect(data(await grace.get("/account/details", { cookie })).id).toBe(grace.id);
    expect((await api.as("cadastre-none").get("/account/details", { cookie })).status).toBe(401);
    expect((await grace.patch("/account/update", rename(), { cookie })).status).toBe(200);
  });

  it("401: an invalid cookie", async () => {
    for (const cookie of ["cadastre_session=", "cadastre_session=x", "other=1", "cadastre_session=%00; a=b"])
      expect((await api.nobody.get("/account/details", { cookie })).status).toBe(401);
  });

  it("a session's secret doesn't work as a token, nor a token as a session", async () => {
    const { ada, cookie } = await signedIn();
    const secret = cookie.slice("cadastre_session=".length);
    expect((await api.as(secret).get("/account/details")).status).toBe(401);
    expect((await api.nobody.get("/account/details", { cookie: `cadastre_session=${ada.token}` })).status).toBe(401);
    const listed = await ada.get(`/users/${ada.id}/authentication-tokens`);
    expect(data(listed)).toHaveLength(1);
  });
});

describe("listSessions, deleteSession, deleteSessions", () => {
  async function twice() {
    const ada = await withPassword();
    const [first, second] = [
      await signIn({ username: ada.username, password }),
      await signIn({ username: ada.username, password }),
    ] as const;
    const ids = [data(first).id, data(second).id] as string[];
    return { ada, ids, cookies: [cookieOf(first), cookieOf(second)] as const };
  }
  const isIn = async (cookie: string) => (await api.nobody.get("/account/details", { cookie })).status === 200;

  it("200: the caller's own sessions, newest first, with the current one marked", async () => {
    const { ada, ids, cookies } = await twice();
    const answer = await api.nobody.get("/sessions", { cookie: cookies[0] });
    expect(
      data(answer)
        .map(({ id }: { id: string }) => id)
        .toSorted(),
    ).toEqual(ids.toSorted());
    const current = data(answer).filter((each: any) => each.attributes.current);
    expect(current.map(({ id }: { id: string }) => id)).toEqual([ids[0]]);
    const byToken = await ada.get("/sessions");
    expect(data(byToken).every((each: any) => each.attributes.current === false)).toBe(true);
    expect(data(await (await api.makeUser()).get("/sessions"))).toEqual([]);
  });

  it("204: ends one immediately", async () => {
    const { ids, cookies } = await twice();
    const answer = await api.nobody.send("DELETE", `/sessions/${ids[1]}`, undefined, inBrowser(cookies[0]));
    expect(answer.status).toBe(204);
    expect([await isIn(cookies[0]), await isIn(cookies[1])]).toEqual([true, false]);
  });

  it("204: signing out clears the cookie", async () => {
    const { ids, cookies } = await twice();
    const answer = await api.nobody.send("DELETE", `/sessions/${ids[0]}`, undefined, inBrowser(cookies[0]));
    expect(answer.headers.get("set-cookie")).toMatch(/^cadastre_session=; .*Max-Age=0$/);
    expect([await isIn(cookies[0]), await isIn(cookies[1])]).toEqual([false, true]);
  });

  it("204: ends all sessions", async () => {
    const { ada, cookies } = await twice();
    expect((await api.nobody.send("DELETE", "/sessions", undefined, inBrowser(cookies[0]))).status).toBe(204);
    expect([await isIn(cookies[0]), await isIn(cookies[1])]).toEqual([false, false]);
    expect((await ada.get("/account/details")).status).toBe(200);
  });

  it("404: a session of another user", async () => {
    const { ids } = await twice();
    const grace = await api.makeUser();
    expect((await grace.delete(`/sessions/${ids[0]}`)).status).toBe(404);
    expect((await grace.delete("/sessions/sess-none")).status).toBe(404);
  });
});

describe("passwords", () => {
  const change = (attributes: object) => resource("users", attributes);

  it("200: changes the caller's own password with the current one; ends all sessions and starts a new one", async () => {
    const ada = await withPassword();
    const other = cookieOf(await signIn({ username: ada.username, password }));
    const cookie = cookieOf(await signIn({ username: ada.username, password }));
    const next = "another long enough passphrase";
    const body = change({ current_password: password, password: next, password_confirmation: next });
    const answer = await api.nobody.patch("/account/password", body, inBrowser(cookie));
    expect(answer.status).toBe(200);
    expect(data(answer).id).toBe(ada.id);
    expect(JSON.stringify(answer.body)).not.toContain(next);
    for (const old of [cookie, other])
      expect((await api.nobody.get("/account/details", { cookie: old })).status).toBe(401);
    expect((await api.nobody.get("/account/details", { cookie: cookieOf(answer) })).status).toBe(200);
    expect((await signIn({ username: ada.username, password })).status).toBe(401);
    expect((await signIn({ username: ada.username, password: next })).status).toBe(201);
    expect((await ada.get("/account/details")).status).toBe(200);
  });

  it("422: a wrong current password, a different confirmation, a weak password, each with its pointer", async () => {
    const ada = await withPassword();
    const long = "another long enough passphrase";
    const send = async (current: string, next: string, confirmation = next) =>
      pointers(
        await ada.patch(
          "/account/password",
          change({ current_password: current, password: next, password_confirmation: confirmation }),
        ),
      );
    expect(await send("wrong", long)).toEqual(["/data/attributes/current_password"]);
    expect(await send(password, long, "different")).toEqual(["/data/attributes/password_confirmation"]);
    expect(await send(password, "short")).toEqual(["/data/attributes/password"]);
    expect((await signIn({ username: ada.username, password })).status).toBe(201);
  });

  it("422: updateAccount can't set a password", async () => {
    const ada = await withPassword();
    const answer = await ada.patch("/account/update", change({ password: "another long enough passphrase" }));
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/password"]);
  });

  it("200: a site admin sets a user's password; this ends the user's sessions, and the password is never shown", async () => {
    const ada = await withPassword();
    const cookie = cookieOf(await signIn({ username: ada.username, password }));
    const next = "chosen by the administrator";
    const answer = await api.admin.patch(`/admin/users/${ada.id}`, change({ password: next }));
    expect(answer.status).toBe(200);
    expect(data(answer).attributes).not.toHaveProperty("password");
    expect((await api.nobody.get("/account/details", { cookie })).status).toBe(401);
    expect((await signIn({ username: ada.username, password: next })).status).toBe(201);
  });

  it("201: createUser sets a password", async () => {
    const username = unique("with-password");
    const attributes = { username, email: `${username}@acme.example`, password };
    expect((await api.admin.post("/admin/users", resource("users", attributes))).status).toBe(201);
    expect((await signIn({ username, password })).status).toBe(201);
  });

  it.each([
    ["too short", "Tr0ub4dor"],
    ["one letter again and again", "aaaaaaaaaaaaaaaa"],
    ["one that everybody knows", "password1234"],
    ["a row of the keyboard", "1234567890"],
  ])("422: %s", async (_, weak) => {
    const ada = await api.makeUser();
    const answer = await api.admin.patch(`/admin/users/${ada.id}`, change({ password: weak }));
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/password"]);
  });

  it("422: the username", async () => {
    const username = unique("a-rather-long-name");
    const ada = await api.makeUser({ username });
    const answer = await api.admin.patch(`/admin/users/${ada.id}`, change({ password: username }));
    expect(pointers(answer)).toEqual(["/data/attributes/password"]);
  });

  it("deleting a user ends their sessions", async () => {
    const ada = await withPassword();
    const cookie = cookieOf(await signIn({ username: ada.username, password }));
    expect((await api.admin.delete(`/admin/users/${ada.id}`)).status).toBe(204);
    expect((await api.nobody.get("/account/details", { cookie })).status).toBe(401);
  });
});

describe("the end of a session", () => {
  it("happens at its expiry", async () => {
    const ada = await withPassword();
    const answer = await signIn({ username: ada.username, password });
    const cookie = cookieOf(answer);
    expect((await api.nobody.get("/account/details", { cookie })).status).toBe(200);
    const expiredAt = new Date(Date.now() - 1000).toISOString();
    await api.database.write((tx) =>
      tx.db.updateTable("tokens").set({ expiredAt }).where("id", "=", data(answer).id).execute(),
    );
    expect((await api.nobody.get("/account/details", { cookie })).status).toBe(401);
  });

  it("records an event, as does its start", async () => {
    const ada = await withPassword();
    const answer = await signIn({ username: ada.username, password });
    const { id } = data(answer);
    await api.nobody.send("DELETE", `/sessions/${id}`, undefined, inBrowser(cookieOf(answer)));
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "actorId"])
      .where("subjectId", "=", id)
      .orderBy("createdAt")
      .orderBy("id")
      .execute();
    expect(events.map(({ action }) => action).toSorted()).toEqual(["sessions.create", "sessions.delete"]);
    expect(events.every(({ actorId }) => actorId === ada.id)).toBe(true);
  });
});
