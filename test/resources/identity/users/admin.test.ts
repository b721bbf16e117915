import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();

const newUser = (attributes: object = {}) => {
  const username = unique("ada");
  return resource("users", { username, email: `${username}@example.com`, ...attributes });
};

/** A user's audit events; they belong to no organization, so no route shows them. */
const auditEvents = async (id: string): Promise<Json[]> => {
  const rows = await api.database.reader.db
    .selectFrom("auditEvents")
    .selectAll()
    .where("subjectId", "=", id)
    .orderBy("createdAt")
    .execute();
  return rows.map((row) => ({
    ...row,
    before: row.before === null ? null : JSON.parse(row.before),
    after: row.after === null ? null : JSON.parse(row.after),
  }));
};

describe("createUser", () => {
  it("201: a user who is not a site admin by default", async () => {
    const body = newUser();
    const answer = await api.admin.post("/admin/users", body);
    expect(answer.status).toBe(201);
    expect(answer.headers.get("etag")).toBe('"1"');
    const user = data(answer);
    expect(user.id).toMatch(/^user-/);
    expect(user.attributes).toMatchObject({
      ...body.data.attributes,
      "unconfirmed-email": null,
      "is-site-admin": false,
      "is-admin": false,
      "is-service-account": false,
    });
    expect(user.attributes["created-at"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(data(await api.admin.get(`/users/${user.id}`)).attributes).toEqual(user.attributes);
  });

  it("201: a site admin", async () => {
    const admin = await api.makeUser({ "is-site-admin": true });
    expect((await admin.get("/admin/users")).status).toBe(200);
    await api.admin.delete(`/admin/users/${admin.id}`);
  });

  it("records an event with the caller", async () => {
    const user = data(await api.admin.post("/admin/users", newUser()));
    const self = data(await api.admin.get("/account/details"));
    const [event, ...more] = await auditEvents(user.id);
    expect(more).toEqual([]);
    expect(event).toMatchObject({ action: "users.create", actorKind: "user", actorId: self.id, actorName: "admin" });
    expect(event.before).toBeNull();
    expect(event.after).toMatchObject({ username: user.attributes.username, email: user.attributes.email });
  });

  it("422: reports both a taken username and a taken email address, ignoring case", async () => {
    const { username, email } = await api.makeUser();
    const answer = await api.admin.post(
      "/admin/users",
      newUser({ username: username.toUpperCase(), email: email.toUpperCase() }),
    );
    expect(answer.status).toBe(422);
    expect(details(answer)).toEqual(["Username has already been taken", "Email has already been taken"]);
    expect(pointers(answer)).toEqual(["/data/attributes/username", "/data/attributes/email"]);
  });

  it("422: reports only what is taken, also by two different users", async () => {
    const [first, second] = [await api.makeUser(), await api.makeUser()];
    expect(pointers(await api.admin.post("/admin/users", newUser({ email: first.email })))).toEqual([
      "/data/attributes/email",
    ]);
    const both = await api.admin.post("/admin/users", newUser({ username: first.username, email: second.email }));
    expect(pointers(both)).toEqual(["/data/attributes/username", "/data/attributes/email"]);
  });

  it("422: reports all faults of the body", async () => {
    const answer = await api.admin.post("/admin/users", resource("people", { email: 7, "is-site-admin": "yes" }));
    expect(answer.status).toBe(422);
    expect(pointers(answer).toSorted()).toEqual([
      "/data/attributes/email",
      "/data/attributes/is-site-admin",
      "/data/attributes/username",
      "/data/type",
    ]);
  });

  it.each([
    ["username", ""],
    ["username", "a b"],
    ["username", "ada@example"],
    ["username", "ünï"],
    ["username", "a".repeat(61)],
    ["username", null],
    ["email", ""],
    ["email", "nobody"],
    ["email", "a b@example.com"],
    ["email", "a@b@c"],
    ["email", `${"a".repeat(250)}@x.yz`],
    ["email", null],
    ["is-site-admin", null],
  ])("422: %s %j", async (name, value) => {
    const answer = await api.admin.post("/admin/users", newUser({ [name]: value }));
    expect(answer.status).toBe(422);
    expect(new Set(pointers(answer))).toEqual(new Set([`/data/attributes/${name}`]));
  });

  it("201: at the limits", async () => {
    const username = unique("x").padEnd(60, "x");
    const email = `${unique("y").padEnd(250, "y")}@x.y`;
    const answer = await api.admin.post("/admin/users", newUser({ username, email }));
    expect(data(answer).attributes).toMatchObject({ username, email });
  });

  it("422: a username that looks like a user id", async () => {
    const { id } = await api.makeUser();
    for (const username of [id, id.toUpperCase(), id.toLowerCase()]) {
      expect(pointers(await api.admin.post("/admin/users", newUser({ username })))).toEqual([
        "/data/attributes/username",
      ]);
    }
  });
});

describe("listUsers", () => {
  it("200: all users by name, in pages that don't overlap", async () => {
    const prefix = unique("page");
    for (const suffix of ["c", "A", "b"]) await api.makeUser({ username: `${prefix}-${suffix}` });
    const first = await api.admin.get(`/admin/users?q=${prefix}&page[size]=2`);
    const second = await api.admin.get(`/admin/users?q=${prefix}&page[size]=2&page[number]=2`);
    const names = [...data(first), ...data(second)].map((user: Json) => user.attributes.username);
    expect(names).toEqual([`${prefix}-A`, `${prefix}-b`, `${prefix}-c`]);
    expect(first.body.meta.pagination).toMatchObject({ "total-count": 3, "total-pages": 2, "next-page": 2 });
  });

  it("200: q matches part of the username or email address, ignoring case and without wildcards", async () => {
    const { username, email } = await api.makeUser({ email: `${unique("Mail")}@Example.com` });
    const found = async (q: string) =>
      data(await api.admin.get(`/admin/users?q=${encodeURIComponent(q)}`)).map((user: Json) => user.attributes.email);
    expect(await found(username.toUpperCase())).toEqual([email]);
    expect(await found(email.toLowerCase())).toEqual([email]);
    expect(await found("%")).toEqual([]);
    expect(await found(`${username}x`)).toEqual([]);
  });
});

describe("updateUser", () => {
  it.each([
    ["username", () => unique("renamed")],
    ["email", () => `${unique("moved")}@example.com`],
    ["is-site-admin", () => true],
  ])("200: %s alone is changed, and absent ones stay", async (name, value) => {
    const { id } = await api.makeUser();
    const before = data(await api.admin.get(`/users/${id}`)).attributes;
    const wanted = value();
    const answer = await api.admin.patch(`/admin/users/${id}`, resource("users", { [name]: wanted }));
    expect(answer.headers.get("etag")).toBe('"2"');
    expect(data(answer).attributes).toEqual({
      ...before,
      [name]: wanted,
      ...(name === "is-site-admin" && { "is-admin": true }),
    });
    expect(data(await api.admin.get(`/users/${id}`)).attributes).toEqual(data(answer).attributes);
    await api.admin.patch(`/admin/users/${id}`, resource("users", { "is-site-admin": false }));
  });

  it.each(["username", "email", "is-site-admin"])("422: %s null", async (name) => {
    const { id } = await api.makeUser();
    const answer = await api.admin.patch(`/admin/users/${id}`, resource("users", { [name]: null }));
    expect(pointers(answer)).toEqual([`/data/attributes/${name}`]);
  });

  it("200: an update without changes writes nothing and records no event", async () => {
    const { id, username } = await api.makeUser();
    const answer = await api.admin.patch(`/admin/users/${id}`, resource("users", { username, nonsense: 1 }));
    expect(answer.headers.get("etag")).toBe('"1"');
    expect(await auditEvents(id)).toEqual([]);
  });

  it("200: the user's own name in another case", async () => {
    const { id, username } = await api.makeUser();
    const answer = await api.admin.patch(`/admin/users/${id}`, resource("users", { username: username.toUpperCase() }));
    expect(data(answer).attributes.username).toBe(username.toUpperCase());
  });

  it("422: usernames and email addresses of others", async () => {
    const [ada, grace] = [await api.makeUser(), await api.makeUser()];
    const answer = await api.admin.patch(
      `/admin/users/${ada.id}`,
      resource("users", { username: grace.username.toUpperCase(), email: grace.email.toUpperCase() }),
    );
    expect(pointers(answer)).toEqual(["/data/attributes/username", "/data/attributes/email"]);
  });

  it("records an event with the values before and after", async () => {
    const { id, username } = await api.makeUser();
    const renamed = unique("renamed");
    await api.admin.patch(`/admin/users/${id}`, resource("users", { username: renamed }));
    const event = (await auditEvents(id)).find((one) => one.action === "users.update");
    expect([event.before.username, event.after.username]).toEqual([username, renamed]);
  });
});

describe("the administration", () => {
  it("404: for everybody but site admins", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const callers = [
      await api.makeUser(),
      org.owner,
      await api.makeTeamToken(team.id),
      await api.makeTeamToken(org.ownersTeamId),
      await api.makeOrganizationToken(org.name),
    ];
    const victim = await api.makeUser();
    for (const caller of callers) {
      expect((await caller.get("/admin/users")).status).toBe(404);
      expect((await caller.post("/admin/users", newUser())).status).toBe(404);
      const promotion = resource("users", { "is-site-admin": true });
      expect((await caller.patch(`/admin/users/${victim.id}`, promotion)).status).toBe(404);
      expect((await caller.delete(`/admin/users/${victim.id}`)).status).toBe(404);
    }
    expect((await victim.patch(`/admin/users/${victim.id}`, resource("users", {}))).status).toBe(404);
    expect((await victim.delete(`/admin/users/${victim.id}`)).status).toBe(404);
    expect(data(await victim.get("/account/details")).attributes["is-site-admin"]).toBe(false);
  });
});
