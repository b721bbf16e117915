import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { useApiWithFailureLimit } from "../../../support/rate-limits.ts";
import { signInWithPassword } from "../../../support/browser.ts";
import { data, makeOrganization, makeTeamToken, makeUser, pointers, resource } from "../../../support/builders.ts";

const api = useApi();

const verifier = "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d.012345678";
const challengeOf = (text: string) => createHash("sha256").update(text).digest("base64url");

/** The query of the command line's authorization request. */
const authRequest = {
  client_id: "terraform-cli",
  redirect_uri: "http://localhost:10004/login",
  response_type: "code",
  code_challenge: challengeOf(verifier),
  code_challenge_method: "S256",
  state: "a state & more",
};

const attributesOf = (query: Record<string, string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(query).map(([name, value]) => [name.replaceAll("_", "-"), value]));

const answer = (by: Caller, attributes: object = {}) =>
  by.post(
    "/authorizations",
    resource("authorizations", { ...attributesOf(authRequest), approve: true, ...attributes }),
  );

async function codeOf(by: Caller, attributes: object = {}): Promise<string> {
  const created = data(await answer(by, attributes));
  return new URL(created.attributes["redirect-url"]).searchParams.get("code") ?? "";
}

interface Sent {
  readonly status: number;
  readonly body: Json;
  readonly headers: Headers;
}

async function send(fields: Record<string, string>, headers: Record<string, string> = {}, on = api.url): Promise<Sent> {
  const body = new URLSearchParams(fields);
  const response = await fetch(`${on}/oauth/token`, { method: "POST", body, headers });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

const redemption = (code: string) => ({
  grant_type: "authorization_code",
  client_id: authRequest.client_id,
  code,
  redirect_uri: authRequest.redirect_uri,
  code_verifier: verifier,
});
const redeem = (code: string, fields: Record<string, string> = {}) => send({ ...redemption(code), ...fields });

const signedIn = async () => {
  const ada = await makeUser(api);
  return { ada, browser: await signInWithPassword(api, ada) };
};

const authorize = (query: Record<string, string> | string) =>
  fetch(`${api.url}/oauth/authorize?${new URLSearchParams(query).toString()}`, { redirect: "manual" });

describe("discovery", () => {
  it("returns the login endpoints", async () => {
    const { body } = await api.nobody.get("/.well-known/terraform.json");
    expect(body["login.v1"]).toEqual({
      client: "terraform-cli",
      grant_types: ["authz_code"],
      authz: "/oauth/authorize",
      token: "/oauth/token",
      ports: [10_000, 10_010],
    });
  });
});

describe("GET /oauth/authorize", () => {
  it("302: redirects to the consent page with only the request's own parameters", async () => {
    const response = await authorize({ ...authRequest, scope: "everything" });
    expect(response.status).toBe(302);
    const [path, query] = (response.headers.get("location") ?? "").split("?");
    expect(path).toBe("/app/~/authorize");
    expect(Object.fromEntries(new URLSearchParams(query))).toEqual(authRequest);
  });

  it.each(["http://localhost:10000/login", "http://localhost:10010", "http://127.0.0.1:10005/login?a=b"])(
    "302: accepts the loopback address %s",
    async (uri) => {
      expect((await authorize({ ...authRequest, redirect_uri: uri })).status).toBe(302);
    },
  );

  it.each([
    "https://evil.example/login",
    "http://evil.example:10000/login",
    "http://localhost:9999/login",
    "http://localhost:10011/login",
    "http://localhost/login",
    "http://localhost:10000.evil.example/login",
    "http://localhost:10000@evil.example/login",
    "http://user:secret@localhost:10000/login",
    "http://localhost:10000/login#fragment",
    "http://localhost:10000\\@evil.example/",
    "https://localhost:10000/login",
    "//localhost:10000/login",
    "javascript:alert(1)",
    "http://127.0.0.1.evil.example:10000/",
    "http://localhost:10000/\nlogin",
  ])("400: never to %s", async (uri) => {
    const response = await authorize({ ...authRequest, redirect_uri: uri });
    expect(response.status).toBe(400);
    expect(response.headers.get("location")).toBeNull();
    const { browser } = await signedIn();
    expect(pointers(await answer(browser, { "redirect-uri": uri }))).toEqual(["/data/attributes/redirect-uri"]);
  });

  it("400: shows a page with all faults, without repeating the input", async () => {
    const markup = "<script>alert(1)</script>";
    const wrong = {
      ...authRequest,
      client_id: "",
      response_type: markup,
      code_challenge: "short",
      code_challenge_method: "plain",
    };
    const response = await authorize(wrong);
    expect(response.status).toBe(400);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    const page = await response.text();
    for (const sentence of [
      "Client id must be sent, once.",
      "Response type must be code.",
      "Code challenge must be a SHA-256",
      "Code challenge method must be S256.",
    ])
      expect(page).toContain(sentence);
    expect(page).not.toContain("<script");
    expect((await authorize("")).status).toBe(400);
    expect((await authorize(`${new URLSearchParams(authRequest).toString()}&state=another`)).status).toBe(400);
  });
});

describe("createAuthorization", () => {
  it("201: redirects to the program with a code and the unchanged state", async () => {
    const { browser } = await signedIn();
    const created = await answer(browser);
    expect(created.status).toBe(201);
    expect(data(created).type).toBe("authorizations");
    const url = new URL(data(created).attributes["redirect-url"]);
    expect(url.origin + url.pathname).toBe(authRequest.redirect_uri);
    expect(url.searchParams.get("state")).toBe(authRequest.state);
    expect(url.searchParams.get("code")).toMatch(/^[\w-]{43,}$/);
    const rows = await api.database.reader.db.selectFrom("authorizations").selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(url.searchParams.get("code"));
  });

  it("201: redirects a refusal to the program without a code", async () => {
    const { browser } = await signedIn();
    const count = async () => (await api.database.reader.db.selectFrom("authorizations").select("id").execute()).length;
    const before = await count();
    const created = data(await answer(browser, { approve: false }));
    const url = new URL(created.attributes["redirect-url"]);
    expect(Object.fromEntries(url.searchParams)).toEqual({ error: "access_denied", state: authRequest.state });
    expect(await count()).toBe(before);
  });

  it("403: a token can't authorize another token, not even the user's own", async () => {
    const { ada } = await signedIn();
    const org = await makeOrganization(api);
    for (const caller of [ada, api.admin, await makeTeamToken(api, org.ownersTeamId)])
      expect((await answer(caller)).status).toBe(403);
    expect((await answer(api.nobody)).status).toBe(401);
  });

  it("403 and 415: rejects other origins and content types that any page can send", async () => {
    const { browser } = await signedIn();
    const body = resource("authorizations", { ...attributesOf(authRequest), approve: true });
    const from = (headers: Record<string, string>) => browser.post("/authorizations", body, headers);
    expect((await from({ origin: "https://evil.example" })).status).toBe(403);
    expect((await from({ "content-type": "text/plain" })).status).toBe(415);
  });

  it("422: missing, invalid or expired attributes, each with its pointer", async () => {
    const { browser } = await signedIn();
    const at = (name: string) => `/data/attributes/${name}`;
    const wrong = { "client-id": "other", "response-type": "token", "code-challenge-method": "plain" };
    expect(pointers(await answer(browser, wrong))).toEqual(Object.keys(wrong).map(at));
    expect(pointers(await answer(browser, { state: undefined, approve: undefined }))).toEqual([
      at("state"),
      at("approve"),
    ]);
    expect(pointers(await answer(browser, { "expires-at": "2020-01-01T00:00:00Z" }))).toEqual([at("expires-at")]);
    expect(pointers(await answer(browser, { name: "" }))).toEqual([at("name")]);
  });
});

describe("POST /oauth/token with a code", () => {
  it("200: a token of the user with the agreed name and expiry", async () => {
    const { ada, browser } = await signedIn();
    const code = await codeOf(browser, { name: "my laptop", "expires-at": "2099-01-31T12:00:00Z" });
    const { status, body, headers } = await redeem(code);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toContain("no-store");
    expect(Object.keys(body).toSorted()).toEqual(["access_token", "expires_in", "token_type"]);
    expect(body.token_type).toBe("bearer");
    expect(data(await api.as(body.access_token).get("/account/details")).id).toBe(ada.id);
    const [token] = data(await ada.get(`/users/${ada.id}/authentication-tokens`));
    expect(token.attributes).toMatchObject({ description: "my laptop", "expired-at": "2099-01-31T12:00:00.000Z" });
    expect(token.relationships["created-by"].data.id).toBe(ada.id);
  });

  it("200: expires after thirty days by default, and never for null", async () => {
    const { ada, browser } = await signedIn();
    const { body } = await redeem(await codeOf(browser));
    expect(Math.abs(body.expires_in - 30 * 86_400)).toBeLessThan(120);
    const neverExpiring = await redeem(await codeOf(browser, { "expires-at": null }));
    expect(neverExpiring.body).not.toHaveProperty("expires_in");
    const tokens = data(await ada.get(`/users/${ada.id}/authentication-tokens`));
    expect(tokens.filter(({ attributes }: Json) => attributes.description === "terraform login")).toHaveLength(2);
  });

  it("200: accepts the client id in the Authorization header, as the command line sends it", async () => {
    const { browser } = await signedIn();
    const { client_id, ...fields } = redemption(await codeOf(browser));
    const named = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
    const stranger = await send(fields, named("other:"));
    expect([stranger.status, stranger.body.error]).toEqual([401, "invalid_client"]);
    expect(stranger.headers.get("www-authenticate")).toBe("Basic");
    expect((await send(fields, named(`${client_id}:a secret`))).status).toBe(401);
    expect((await send(fields, named(`${client_id}:`))).status).toBe(200);
  });

  it("400: a second use fails and revokes the token of the first", async () => {
    const { browser } = await signedIn();
    const code = await codeOf(browser);
    const { body } = await redeem(code);
    const works = async () => (await api.as(body.access_token).get("/account/details")).status === 200;
    expect(await works()).toBe(true);
    const second = await redeem(code, { code_verifier: "x".repeat(43) });
    expect([second.status, second.body.error]).toEqual([400, "invalid_grant"]);
    expect(await works()).toBe(false);
    expect((await redeem(code)).body.error).toBe("invalid_grant");
  });

  it("revokes the token if two requests send the code concurrently", async () => {
    const { ada, browser } = await signedIn();
    const code = await codeOf(browser);
    const answers = await Promise.all([redeem(code), redeem(code)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    expect(data(await ada.get(`/users/${ada.id}/authentication-tokens`))).toHaveLength(1);
  });

  it("400: another verifier, client or redirect URI, or an expired code; the same error for all, and the code stays valid", async () => {
    const { browser } = await signedIn();
    const code = await codeOf(browser);
    const sentences = new Set<string>();
    for (const [name, value] of [
      ["code", "none"],
      ["code_verifier", "x".repeat(43)],
      ["code_verifier", challengeOf(verifier)],
      ["redirect_uri", "http://localhost:10004/other"],
    ] as const) {
      const { status, body } = await redeem(code, { [name]: value });
      expect([status, body.error]).toEqual([400, "invalid_grant"]);
      sentences.add(body.error_description);
    }
    expect(sentences.size).toBe(1);
    expect((await redeem(code, { client_id: "other" })).body.error).toBe("invalid_client");
    expect((await redeem(code)).status).toBe(200);
    const late = await codeOf(browser);
    const past = new Date(Date.now() - 1).toISOString();
    await api.database.write((tx) =>
      tx.db.updateTable("authorizations").set({ expiresAt: past }).where("tokenId", "is", null).execute(),
    );
    expect((await redeem(late)).body.error).toBe("invalid_grant");
  });

  it("400: names all missing parameters", async () => {
    const { status, body } = await send({ grant_type: "authorization_code" });
    expect([status, body.error]).toEqual([400, "invalid_request"]);
    expect(body.error_description).toBe("Missing: client_id, code, redirect_uri, code_verifier.");
  });

  it("records who authorized what, and the issued token, in the audit log", async () => {
    const { ada, browser } = await signedIn();
    const { body } = await redeem(await codeOf(browser, { name: "my laptop" }));
    const [token] = data(await ada.get(`/users/${ada.id}/authentication-tokens`));
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "after", "tokenId"])
      .where("actorId", "=", ada.id)
      .where("action", "<>", "sessions.create")
      .orderBy("action")
      .execute();
    expect(events.map(({ action }) => action)).toEqual([
      "authentication-tokens.create",
      "authorizations.create",
      "authorizations.exchange",
    ]);
    expect(JSON.parse(events[1]?.after ?? "")).toMatchObject({ client: "terraform-cli", name: "my laptop" });
    expect(JSON.parse(events[2]?.after ?? "")).toEqual({
      token: token.id,
      client: "terraform-cli",
      by: "terraform login",
    });
    expect(events[2]?.tokenId).toBe(token.id);
    expect(JSON.stringify(events)).not.toContain(body.access_token);
  });

  const limited = useApiWithFailureLimit();

  it("429: limits guesses", async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 4; count += 1) statuses.push((await send(redemption("none"), {}, limited.url)).status);
    expect(statuses).toEqual([400, 400, 400, 429]);
  });
});
