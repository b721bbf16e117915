/** Attacks on the sign-in by other people or other providers: each is rejected, and nobody is signed in. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { describeOnce } from "../../../support/engine-independent.ts";
import { useApi } from "../../../support/api.ts";
import { makeOrganization, makeUser, type Person, unique } from "../../../support/builders.ts";
import {
  beginSignIn,
  Browser,
  finishSignIn,
  type SignInResult,
  type FakeProvider,
  makeProvider,
  privateAddresses,
  type TokenOverrides,
  signIn,
  startFakeProvider,
} from "../../../support/identity-provider.ts";

const api = useApi({ options: { privateAddresses } });
let idp: FakeProvider;
let victim: Person;
let providerId: string;
beforeAll(async () => {
  idp = await startFakeProvider();
  victim = await makeUser(api);
  providerId = (await makeProvider(api, idp.url, { "create-users": true })).id;
});
afterAll(() => void idp.http.close());

const overrides = (claims: object = {}): TokenOverrides => ({
  claims: { sub: unique("sub"), email: victim.email, email_verified: true, ...claims },
});

function expectRefused({ status, cookie, page }: SignInResult, refusal = 401): void {
  expect(page).toContain("You are not signed in");
  expect({ status, cookie }).toEqual({ status: refusal, cookie: undefined });
}

describe("the callback", () => {
  it("works once: neither the state nor the code can be used again, with any cookie", async () => {
    const started = await beginSignIn(api, providerId);
    const { cookie } = started.browser;
    const state = started.parameters.get("state") ?? "";
    const query = { code: await idp.codeFor(started.parameters, overrides()), state };
    expect((await finishSignIn(started, query)).status).toBe(302);
    const sendCallback = (more: Record<string, string>) =>
      fetch(`${api.url}/app/sign-in/sso/callback?${new URLSearchParams({ ...query, ...more })}`, {
        headers: { cookie, accept: "text/html" },
        redirect: "manual",
      });
    expect((await sendCallback({})).status).toBe(401);
    expect((await sendCallback({ code: await idp.codeFor(started.parameters, overrides()) })).status).toBe(401);
  });

  it("needs the same browser: a victim with an attacker's code is not signed in as the attacker", async () => {
    const attacker = await beginSignIn(api, providerId);
    const query = {
      code: await idp.codeFor(attacker.parameters, overrides()),
      state: attacker.parameters.get("state") ?? "",
    };
    expectRefused(await finishSignIn({ ...attacker, browser: new Browser() }, query));
    // Nor with the state of a sign-in that the other browser started.
    const other = await beginSignIn(api, providerId);
    expectRefused(await finishSignIn(other, query));
  });

  it.each([
    ["another state", { state: "another" }],
    ["no state", { state: "" }],
    ["a cookie that we did not seal", { cookie: "cadastre_sso=AAAA" }],
  ])("is refused with %s", async (_, { state, cookie }: { state?: string; cookie?: string }) => {
    const started = await beginSignIn(api, providerId);
    const query = new URLSearchParams({
      code: await idp.codeFor(started.parameters, overrides()),
      state: state ?? started.parameters.get("state") ?? "",
    });
    const headers = { accept: "text/html", cookie: cookie ?? started.browser.cookie };
    const response = await fetch(`${api.url}/app/sign-in/sso/callback?${query}`, { headers, redirect: "manual" });
    expect(response.status).toBe(401);
    expect(response.headers.getSetCookie().join()).not.toContain("cadastre_session");
  });

  it("doesn't repeat the query, and responds with JSON to clients other than browsers", async () => {
    const started = await beginSignIn(api, providerId);
    const state = started.parameters.get("state") ?? "";
    const result = await finishSignIn(started, {
      error: "<script>alert(1)</script>",
      error_description: "call 555-1234",
      state,
    });
    expectRefused(result);
    expect(result.page).not.toMatch(/<script|555-1234/);
    const denied = await beginSignIn(api, providerId);
    const known = await finishSignIn(denied, { error: "access_denied", state: denied.parameters.get("state") ?? "" });
    expect(known.page).toContain("(access_denied)");
    const json = await fetch(`${api.url}/app/sign-in/sso/callback?state=x`);
    expect(((await json.json()) as any).errors[0].status).toBe("401");
  });
});

describe("a token", () => {
  const seconds = () => Math.floor(Date.now() / 1000);
  it.each<[string, () => TokenOverrides]>([
    ["for another sign-in (its nonce)", () => overrides({ nonce: "another" })],
    ["without a nonce", () => overrides({ nonce: undefined })],
    ["for another client (its audience)", () => overrides({ aud: "another-client" })],
    ["of another issuer", () => overrides({ iss: "https://evil.example" })],
    ["without a signature", () => ({ ...overrides(), signed: "none" })],
    ["with the signature of another key", () => ({ ...overrides(), signed: "by another" })],
    ["that has expired", () => overrides({ iat: seconds() - 900, exp: seconds() - 600 })],
    ["without a subject", () => overrides({ sub: undefined })],
  ])("%s is refused", async (_, overrides) => {
    expectRefused(await signIn(api, idp, providerId, overrides()));
  });
});

describe("two providers", () => {
  it("are not mixed up: a response of one is not accepted for the other", async () => {
    const evil = await startFakeProvider();
    const other = await makeProvider(api, evil.url, { "create-users": true });
    const started = await beginSignIn(api, providerId);
    const state = started.parameters.get("state") ?? "";
    // The other's code, and the other's issuer with an honest code.
    expectRefused(await finishSignIn(started, { code: await evil.codeFor(started.parameters, overrides()), state }));
    const again = await beginSignIn(api, providerId);
    const honest = {
      code: await idp.codeFor(again.parameters, overrides()),
      state: again.parameters.get("state") ?? "",
    };
    expectRefused(await finishSignIn(again, { ...honest, iss: evil.url }));
    // A token of the honest provider, forwarded by the other.
    const third = await beginSignIn(api, other.id);
    const forwardedCode = await evil.codeFor(third.parameters, overrides({ iss: idp.url }));
    expectRefused(await finishSignIn(third, { code: forwardedCode, state: third.parameters.get("state") ?? "" }));
    // A subject is only valid together with its provider.
    const sub = unique("sub");
    expect((await signIn(api, idp, providerId, overrides({ sub }))).status).toBe(302);
    const same = await makeProvider(api, evil.url);
    expectRefused(await signIn(api, evil, same.id, { claims: { sub } }), 403);
    evil.http.close();
  });

  it("an organization's provider can't get a code of the site's provider, because it has its own callback", async () => {
    // It forwards users to the site's provider with the attacker's parameters, and waits for the code.
    const codes: string[] = [];
    const tokenEndpoint = createServer((request, response) => {
      request.on("data", (piece) => void codes.push(new URLSearchParams(String(piece)).get("code") ?? ""));
      request.on("end", () => response.writeHead(400).end());
    });
    await new Promise<void>((resolve) => tokenEndpoint.listen(0, "127.0.0.1", resolve));
    const waiting = `http://127.0.0.1:${(tokenEndpoint.address() as AddressInfo).port}/token`;
    const evil = await startFakeProvider({ metadata: { token_endpoint: waiting } });
    const { id } = await makeProvider(api, evil.url, { organization: (await makeOrganization(api)).name });
    const [attacker, redirected] = [await beginSignIn(api, providerId), await beginSignIn(api, id)];
    const code = await idp.codeFor(attacker.parameters, overrides());
    const state = redirected.parameters.get("state") ?? "";
    // To the callback of the site's provider.
    expectRefused(
      await finishSignIn({ browser: redirected.browser, parameters: attacker.parameters }, { code, state }),
    );
    expect(codes).toEqual([]);
    // Nor does the site's provider accept a callback to another path.
    const other = { browser: attacker.browser, parameters: redirected.parameters };
    expectRefused(await finishSignIn(other, { code, state: attacker.parameters.get("state") ?? "" }));
    tokenEndpoint.close();
    evil.http.close();
  });

  it("an organization's provider with the iss parameter uses the shared callback, and gets no other provider's code there", async () => {
    const { name: organization } = await makeOrganization(api);
    const naming = await startFakeProvider({ metadata: { authorization_response_iss_parameter_supported: true } });
    const { id } = await makeProvider(api, naming.url, { organization, "create-users": true });
    const started = await beginSignIn(api, id);
    expect(started.parameters.get("redirect_uri")).toBe(`${api.url}/app/sign-in/sso/callback`);
    const address = { email: `${unique("ada")}@acme.example` };
    const query = {
      code: await naming.codeFor(started.parameters, overrides(address)),
      state: started.parameters.get("state") ?? "",
    };
    expect((await finishSignIn(started, { ...query, iss: naming.url })).status).toBe(302);
    // The site provider's response has another issuer, or none.
    for (const named of [{ iss: idp.url }, {}] as Record<string, string>[]) {
      const redirected = await beginSignIn(api, id);
      const { parameters } = await beginSignIn(api, providerId);
      const [code, shown] = [await idp.codeFor(parameters, overrides()), naming.codesShown];
      expectRefused(
        await finishSignIn(redirected, { code, state: redirected.parameters.get("state") ?? "", ...named }),
      );
      expect(naming.codesShown).toBe(shown);
    }
    naming.http.close();
  });

  it("an organization's provider without the iss parameter shows its own callback, and signs in with it", async () => {
    const org = await makeOrganization(api);
    const own = await makeProvider(api, idp.url, { organization: org.name, "create-users": true });
    expect(own.links).toMatchObject({
      callback: "/app/sign-in/sso/callback",
      "own-callback": `/app/sign-in/sso/${own.id}/callback`,
    });
    const started = await beginSignIn(api, own.id);
    expect(started.parameters.get("redirect_uri")).toBe(`${api.url}${own.links["own-callback"]}`);
    const address = { email: `${unique("ada")}@acme.example` };
    expect((await signIn(api, idp, own.id, overrides(address))).status).toBe(302);
  });

  it("a provider that announces the iss parameter has to send it", async () => {
    const announcing = await startFakeProvider({ metadata: { authorization_response_iss_parameter_supported: true } });
    const { id } = await makeProvider(api, announcing.url, { "create-users": true });
    expectRefused(await signIn(api, announcing, id, overrides()));
    const started = await beginSignIn(api, id);
    const query = {
      code: await announcing.codeFor(started.parameters, overrides()),
      state: started.parameters.get("state") ?? "",
    };
    expect((await finishSignIn(started, { ...query, iss: announcing.url })).status).toBe(302);
    announcing.http.close();
  });
});

describeOnce("a provider that says too much", () => {
  it("truncates long names, so that normalizing them doesn't block other requests", async () => {
    const email = `${unique("ada")}@acme.example`;
    const result = await signIn(
      api,
      idp,
      providerId,
      overrides({ email, preferred_username: `a${".".repeat(600_000)}x` }),
    );
    expect(result.status).toBe(302);
    const { data } = (await api.nobody.get("/account/details", { cookie: result.cookie ?? "" })).body;
    expect(data.attributes.username).toBe("a");
  });
});

describeOnce("where to go on", () => {
  it.each([
    ["/app/acme/net?tab=runs#x", "/app/acme/net?tab=runs#x"],
    ["//evil.example", "/app"],
    ["/\\evil.example", "/app"],
    ["https://evil.example", "/app"],
    ["javascript:alert(1)", "/app"],
    ["/a/../..//evil.example", "/app"],
    ["/%0d%0aSet-Cookie:x=1", "/%0d%0aSet-Cookie:x=1"],
    ["/app\r\nx", "/app"],
    ["", "/app"],
  ])("%j leads to %s", async (returnPath, location) => {
    const result = await signIn(api, idp, providerId, overrides(), `?return=${encodeURIComponent(returnPath)}`);
    expect(result.location).toBe(location);
  });
});

describeOnce("the cookies", () => {
  it("are HttpOnly and, over HTTPS, Secure; the flow cookie is limited to the callback path", async () => {
    const started = await beginSignIn(api, providerId);
    const response = await fetch(`${api.url}/app/sign-in/sso/${providerId}`, { redirect: "manual" });
    expect(response.headers.get("set-cookie")).toMatch(
      /^cadastre_sso=[\w-]+; Path=\/app\/sign-in\/sso; HttpOnly; SameSite=Lax; Max-Age=600$/,
    );
    expect(started.parameters.get("code_challenge_method")).toBe("S256");
    expect(started.parameters.get("redirect_uri")).toBe(`${api.url}/app/sign-in/sso/callback`);
    const result = await signIn(api, idp, providerId, overrides());
    expect(result.cookie).toMatch(/^cadastre_session=[\w-]+$/);
  });

  it("404: an unknown provider; 503: an unreachable one, without revealing its address", async () => {
    const browser = new Browser();
    const unknown = await browser.open(`${api.url}/app/sign-in/sso/sso-unknown`);
    expect({ status: unknown.status, type: unknown.headers.get("content-type") }).toEqual({
      status: 404,
      type: "text/html; charset=utf-8",
    });
    for (const path of ["%00", "%ff", "%00/callback?state=x"])
      expect([400, 404]).toContain((await browser.open(`${api.url}/app/sign-in/sso/${path}`)).status);
    const gone = await makeProvider(api, "http://127.0.0.1:1");
    const response = await browser.open(`${api.url}/app/sign-in/sso/${gone.id}`);
    expect(response.status).toBe(503);
    expect(await response.text()).not.toContain("127.0.0.1");
  });

  it.each([
    ["nothing that anybody understands", () => ["text/html", "<p>Welcome</p>"] as const],
    ["another issuer", () => ["application/json", JSON.stringify({ issuer: "https://elsewhere.example" })] as const],
  ])("503: where %s is found at the provider's address", async (_, found) => {
    const http = createServer((_request, response) => {
      const [type, text] = found();
      response.writeHead(200, { "content-type": type }).end(text);
    });
    onTestFinished(() => void http.close());
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const odd = await makeProvider(api, `http://127.0.0.1:${(http.address() as AddressInfo).port}`);
    const answer = await new Browser().open(`${api.url}/app/sign-in/sso/${odd.id}`);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain("Try again shortly, or ask a site admin");
  });
});

describeOnce("private addresses, and guessing", () => {
  const strict = useApi({ options: { privateAddresses: [] }, failures: { burst: 2, perSecond: 0.001 } });

  it("are not called unless the operator allows them; too many failures are delayed", async () => {
    const inside = await makeProvider(strict, idp.url);
    expect((await fetch(`${strict.url}/app/sign-in/sso/${inside.id}`, { redirect: "manual" })).status).toBe(503);
    const statuses = [];
    for (let times = 0; times < 3; times += 1)
      statuses.push((await fetch(`${strict.url}/app/sign-in/sso/callback?state=guess`)).status);
    expect(statuses).toEqual([401, 401, 429]);
  });
});
