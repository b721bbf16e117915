import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, type Person, pointers, resource } from "../../../support/builders.ts";

const api = useApi();

const path = (user: Person) => `/users/${user.id}/authentication-tokens`;
const wanted = (attributes: object) => resource("authentication-tokens", attributes);
const future = "2099-01-31T12:00:00.000Z";

describe("createUserToken", () => {
  it("201: a token that works, with its secret", async () => {
    const ada = await api.makeUser();
    const answer = await ada.post(path(ada), wanted({ description: "CI", "expired-at": "2099-01-31T13:00:00+01:00" }));
    expect(answer.status).toBe(201);
    expect(answer.headers.get("etag")).toBe('"1"');
    const token = data(answer);
    expect(token.id).toMatch(/^at-/);
    expect(token.attributes).toMatchObject({ description: "CI", "expired-at": future, "last-used-at": null });
    expect(token.attributes.token).toMatch(/^cadastre-.{40,}$/);
    expect(token.relationships.user.data).toEqual({ id: ada.id, type: "users" });
    expect(token.relationships["created-by"].data).toEqual({ id: ada.id, type: "users" });
    expect(token.relationships).not.toHaveProperty("team");
    expect(data(await api.as(token.attributes.token).get("/account/details")).id).toBe(ada.id);
  });

  it.each([
    ["no body", undefined],
    ["an empty body", ""],
    ["an empty object", {}],
    ["a bare data", { data: {} }],
    ["a type and nothing else", { data: { type: "authentication-tokens" } }],
    ["attributes without a type", { data: { attributes: { description: null } } }],
    ["nulls", wanted({ description: null, "expired-at": null })],
  ])("201: %s", async (sent, body) => {
    const ada = await api.makeUser();
    const answer = await ada.post(path(ada), body);
    expect(answer.status).toBe(201);
    const { attributes } = data(answer);
    expect(attributes.description).toBeNull();
    expect(attributes["expired-at"]).toEqual(sent === "nulls" ? null : expect.any(String));
  });

  it.each([
    ["a wrong type", { data: { type: "tokens" } }, "/data/type"],
    ["data null", { data: null }, "/data"],
    ["data that is a list", { data: [] }, "/data"],
    ["a description that is no text", wanted({ description: 7 }), "/data/attributes/description"],
    ["a long description", wanted({ description: "x".repeat(257) }), "/data/attributes/description"],
    ["an expiry that is no time", wanted({ "expired-at": "tomorrow" }), "/data/attributes/expired-at"],
    ["an expiry without a zone", wanted({ "expired-at": "2099-01-31T12:00:00" }), "/data/attributes/expired-at"],
    ["an expiry in the past", wanted({ "expired-at": "2020-01-31T12:00:00Z" }), "/data/attributes/expired-at"],
  ])("422: %s", async (_, body, pointer) => {
    const ada = await api.makeUser();
    const answer = await ada.post(path(ada), body);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([pointer]);
    expect(data(await ada.get(path(ada)))).toHaveLength(1);
  });

  it("422: an expiry in the past; 201: a description of 256 characters of any width", async () => {
    const ada = await api.makeUser();
    const answer = await ada.post(path(ada), wanted({ "expired-at": "2020-01-31T12:00:00Z" }));
    expect(details(answer)).toEqual(["Expired at must be in the future"]);
    const description = "🔑".repeat(256);
    expect(data(await ada.post(path(ada), wanted({ description }))).attributes.description).toBe(description);
  });

  it("201: a site admin can create tokens for any user", async () => {
    const ada = await api.makeUser();
    const token = data(await api.admin.post(path(ada)));
    const admin = data(await api.admin.get("/account/details"));
    expect(token.relationships["created-by"].data.id).toBe(admin.id);
    expect(data(await api.as(token.attributes.token).get("/account/details")).id).toBe(ada.id);
  });

  it("404: others can't create, list, show or revoke them", async () => {
    const org = await api.makeOrganization();
    const ada = await api.makeMember(org.name);
    const team = await api.makeTeam(org.name);
    const [token] = data(await ada.get(path(ada)));
    const callers = [
      org.owner,
      await api.makeMember(org.name),
      await api.makeUser(),
      await api.makeTeamToken(team.id),
      await api.makeTeamToken(org.ownersTeamId),
      await api.makeOrganizationToken(org.name),
    ];
    for (const caller of callers) {
      expect((await caller.post(path(ada))).status).toBe(404);
      expect((await caller.get(path(ada))).status).toBe(404);
      expect((await caller.get(`/authentication-tokens/${token.id}`)).status).toBe(404);
      expect((await caller.delete(`/authentication-tokens/${token.id}`)).status).toBe(404);
    }
    expect((await ada.get("/account/details")).status).toBe(200);
    expect((await api.admin.post("/users/user-unknown/authentication-tokens")).status).toBe(404);
  });
});

describe("listUserTokens", () => {
  it("200: newest first, in pages, without secrets", async () => {
    const ada = await api.makeUser();
    const created = [data(await ada.post(path(ada))), data(await ada.post(path(ada)))];
    const list = await ada.get(`${path(ada)}?page[size]=2`);
    expect(list.body.meta.pagination["total-count"]).toBe(3);
    const rest = await ada.get(`${path(ada)}?page[size]=2&page[number]=2`);
    const all: Json[] = [...data(list), ...data(rest)];
    expect(all).toHaveLength(3);
    expect(all.map((token) => token.attributes.token)).toEqual([null, null, null]);
    expect(all.map((token) => token.id)).toEqual(expect.arrayContaining(created.map((token) => token.id)));
    const times = all.map((token) => token.attributes["created-at"]);
    expect(times).toEqual(times.toSorted().toReversed());
  });
});

describe("showToken and deleteToken", () => {
  it("200: for the user and site admins, without the secret", async () => {
    const ada = await api.makeUser();
    const token = data(await ada.post(path(ada), wanted({ description: "CI" })));
    for (const caller of [ada, api.admin]) {
      const shown = data(await caller.get(`/authentication-tokens/${token.id}`));
      expect(shown).toEqual({ ...token, attributes: { ...token.attributes, token: null } });
    }
  });

  it("204: a revoked token gets 401 with the next request; others still work", async () => {
    const ada = await api.makeUser();
    const token = data(await ada.post(path(ada)));
    const second = api.as(token.attributes.token);
    expect((await second.get("/account/details")).status).toBe(200);
    expect((await ada.delete(`/authentication-tokens/${token.id}`)).status).toBe(204);
    expect((await second.get("/account/details")).status).toBe(401);
    expect((await ada.get("/account/details")).status).toBe(200);
    expect((await ada.delete(`/authentication-tokens/${token.id}`)).status).toBe(404);
  });

  it("204: a token can revoke itself", async () => {
    const ada = await api.makeUser();
    const [token] = data(await ada.get(path(ada)));
    expect((await ada.delete(`/authentication-tokens/${token.id}`)).status).toBe(204);
    expect((await ada.get("/account/details")).status).toBe(401);
  });
});
