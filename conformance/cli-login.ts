/** Scenarios: `login` and `logout`. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { dataOf, passwordOf } from "./api.ts";
import { inCloud, type Scenario, until } from "./cli-scenario.ts";
import type { Folder, Site } from "./cli-site.ts";

/** A directory and a home without a token. */
function newcomer(site: Site, workspace: string): { readonly folder: Folder; readonly env: NodeJS.ProcessEnv } {
  const folder = site.folder({ "main.tf": inCloud(site, { name: workspace }) });
  mkdirSync(join(folder.path, ".terraform.d"));
  return { folder, env: site.newcomer(folder.path) };
}

/** Expects access after `login`, and none after `logout`. */
async function useAndLogOut(site: Site, { folder, env }: ReturnType<typeof newcomer>): Promise<void> {
  await folder.succeed(["init", "-input=false"], { env });
  await folder.succeed(["logout", site.hostname], { env });
  await folder.refuse(["init", "-input=false"], /Required token could not be found/, { env });
}

const pasted: Scenario = {
  name: "`login` with a pasted token, `logout`",
  checks:
    "with the services in the configuration file: a pasted token is verified and stored, and `init` works with it; a wrong token is refused; `logout` removes the token",
  transport: "http",
  run: async (site) => {
    const person = newcomer(site, "login");
    const { folder, env } = person;
    await folder.refuse(["login", site.hostname], /Token is invalid/, { env, answers: ["yes", "wrong"] });
    const { text } = await folder.succeed(["login", site.hostname], { env, answers: ["yes", site.tokens.grace] });
    assert.match(text, /Retrieved token for user grace/);
    await useAndLogOut(site, person);
  },
};

/** Acts as the browser of a signed-in user: opens the authorization page, answers it, and follows the redirect. */
class Browser {
  readonly #url: string;
  readonly #cookie: string;

  private constructor(url: string, cookie: string) {
    this.#url = url;
    this.#cookie = cookie;
  }

  static async signedIn(site: Site): Promise<Browser> {
    const url = `https://${site.hostname}`;
    const response = await fetch(`${url}/api/v2/sessions`, {
      method: "POST",
      headers: { "content-type": "application/vnd.api+json" },
      body: JSON.stringify({
        data: { type: "sessions", attributes: { username: "grace", password: passwordOf("grace") } },
      }),
    });
    assert.equal(response.status, 201);
    return new Browser(url, response.headers.get("set-cookie")?.split(";")[0] ?? "");
  }

  /** Returns the status that the CLI sends to the browser. */
  async answer(address: string, attributes: object): Promise<number> {
    const asked = await fetch(address, { redirect: "manual" });
    assert.equal(asked.status, 302);
    const page = new URL(asked.headers.get("location") ?? "", this.#url);
    assert.equal(page.pathname, "/app/~/authorize");
    const query = [...page.searchParams].map(([name, value]) => [name.replaceAll("_", "-"), value]);
    const response = await fetch(`${this.#url}/api/v2/authorizations`, {
      method: "POST",
      headers: { cookie: this.#cookie, origin: this.#url, "content-type": "application/vnd.api+json" },
      body: JSON.stringify({
        data: { type: "authorizations", attributes: { ...Object.fromEntries(query), ...attributes } },
      }),
    });
    const { data } = (await response.json()) as { data: { attributes: Record<string, string> } };
    return (await fetch(data.attributes["redirect-url"] ?? "")).status;
  }
}

const inBrowser: Scenario = {
  name: "`login` in a browser, `logout`",
  checks:
    "the CLI discovers the login service and waits; a denial gives it no token; after Grace's approval it has her token, with the name and expiry that she chose, and `init` works with it; `logout` removes the token",
  transport: "https",
  run: async (site) => {
    const person = newcomer(site, "login-in-browser");
    const { folder, env } = person;
    const browser = await Browser.signedIn(site);
    const running = folder.start(["login", site.hostname], { env, answers: ["yes"] });
    // Without a browser, the opener can print the URL again in quotes.
    const address = /https:\/\/[\w.:-]+\/oauth\/authorize\?[\w%&=.~-]+/;
    await until("the CLI names the address", () => address.test(running.text()), 30);
    const [asked = ""] = address.exec(running.text()) ?? [];
    // The CLI ignores a denial and keeps waiting.
    assert.equal(await browser.answer(asked, { approve: false }), 400);
    const agreed = { approve: true, name: "Grace's laptop", "expires-at": "2099-01-31T12:00:00.000Z" };
    assert.equal(await browser.answer(asked, agreed), 200);
    const { code, text } = await running.ended;
    assert.equal(code, 0, text);
    const { token } = JSON.parse(folder.read(".terraform.d/credentials.tfrc.json")).credentials[site.hostname];
    const account = await fetch(`https://${site.hostname}/api/v2/account/details`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { data } = (await account.json()) as { data: { id: string; attributes: { username: string } } };
    assert.equal(data.attributes.username, "grace");
    const tokens = dataOf(await site.api(`/users/${data.id}/authentication-tokens`));
    assert.equal(tokens[0].attributes.description, agreed.name);
    assert.equal(tokens[0].attributes["expired-at"], agreed["expires-at"]);
    await useAndLogOut(site, person);
  },
};

export const logins: readonly Scenario[] = [pasted, inBrowser];
