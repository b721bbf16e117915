/** Tests with a certified OpenID Connect provider (`oidc-provider`) and its own sign-in and consent pages. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import CertifiedProvider, { type Configuration } from "oidc-provider";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeTeam, unique } from "../../../support/builders.ts";
import { Browser, makeProvider, privateAddresses } from "../../../support/identity-provider.ts";

const api = useApi({ options: { privateAddresses } });
const secret = "a secret that the provider knows, too";
let http: Server;
let issuer: string;
let groups: string[] = [];

beforeAll(async () => {
  http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const configuration: Configuration = {
    clients: [
      {
        client_id: "cadastre",
        client_secret: secret,
        redirect_uris: [`${api.url}/app/sign-in/sso/callback`],
        post_logout_redirect_uris: [`${api.url}/app/sign-in`],
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username", "groups"] },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: async () => ({
        sub,
        email: `${sub}@acme.example`,
        email_verified: true,
        preferred_username: sub,
        groups,
      }),
    }),
    cookies: { keys: ["for a test"] },
    features: { devInteractions: { enabled: true } },
  };
  const provider = new CertifiedProvider(issuer, configuration);
  http.on("request", provider.callback());
});
afterAll(() => void http.close());

/** Follows the provider's redirects and submits its forms until it redirects back. */
async function signInAtProvider(browser: Browser, start: string, login: string): Promise<string> {
  let url = start;
  for (let steps = 0; steps < 12; steps += 1) {
    if (url.startsWith(api.url)) return url;
    const page = await browser.open(url);
    const location = page.headers.get("location");
    if (location !== null) {
      url = new URL(location, url).href;
      continue;
    }
    const html = await page.text();
    const [, action = ""] = /<form[^>]*action="([^"]+)"/.exec(html) ?? [];
    const [, prompt = "login"] = /name="prompt" value="([^"]+)"/.exec(html) ?? [];
    const body = new URLSearchParams({ prompt, ...(prompt === "login" && { login, password: "whatever" }) });
    const sent = await browser.open(new URL(action, url).href, { method: "POST", body });
    url = new URL(sent.headers.get("location") ?? "", url).href;
  }
  throw new Error(`never came back from ${url}`);
}

describe("a certified provider", () => {
  it("signs a user in with groups, and out again", async () => {
    const org = await makeOrganization(api);
    const provider = await makeProvider(api, issuer, {
      "client-secret": secret,
      "groups-claim": "groups",
      "create-users": true,
    });
    const team = await makeTeam(api, org.name, { "sso-team-id": provider.id });
    groups = [provider.id];
    const login = unique("ada");
    const browser = new Browser();
    const started = await browser.open(`${api.url}/app/sign-in/sso/${provider.id}?return=/app/${org.name}`);
    const callback = await signInAtProvider(browser, started.headers.get("location") ?? "", login);
    const landed = await browser.open(callback);
    expect({ status: landed.status, location: landed.headers.get("location") }).toEqual({
      status: 302,
      location: `/app/${org.name}`,
    });
    const { cookie } = browser;
    expect(data(await api.nobody.get("/account/details", { cookie })).attributes).toMatchObject({
      username: login,
      email: `${login}@acme.example`,
    });
    expect(data(await api.nobody.get(`/teams/${team.id}`, { cookie })).attributes["users-count"]).toBe(1);
    // The same callback again is rejected.
    expect((await browser.open(callback)).status).toBe(401);
    const headers = { cookie, origin: api.url, "content-type": "application/vnd.api+json" };
    const [session] = data(await api.nobody.get("/sessions", { cookie }));
    const ended = data(await api.nobody.send("DELETE", `/sessions/${session.id}`, undefined, headers));
    const signOutPage = await browser.open(ended.attributes["sign-out-url"]);
    expect(signOutPage.status).toBe(200);
    expect(await signOutPage.text()).toContain("sign-out");
  });
});
