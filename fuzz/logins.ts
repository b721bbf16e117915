/** Fuzzes the sign-in flows: CLI login, and single sign-on with a local provider. */
import { createHash } from "node:crypto";
import type { Api, Caller } from "../test/support/api.ts";
import { signInWithToken } from "../test/support/browser.ts";
import { data, makeOrganization, resource, unique } from "../test/support/builders.ts";
import {
  beginSignIn,
  Browser,
  type FakeProvider,
  makeProvider,
  startFakeProvider,
} from "../test/support/identity-provider.ts";
import type { Answer } from "./sending.ts";

const verifier = "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d.012345678";
const asked = {
  client_id: "terraform-cli",
  redirect_uri: "http://localhost:10004/login",
  response_type: "code",
  code_challenge: createHash("sha256").update(verifier).digest("base64url"),
  code_challenge_method: "S256",
  state: "a state",
};

export type Login = (api: Api, owner: Caller) => Promise<Answer>;

let started: Promise<FakeProvider> | undefined;

/** A provider that keeps no process alive. */
function provider(): Promise<FakeProvider> {
  started ??= startFakeProvider().then((fake) => {
    fake.http.unref();
    return fake;
  });
  return started;
}

/** By operation. */
export const logins: Readonly<Record<string, Login>> = {
  askForConsent: ({ url }) => fetched(`${url}/oauth/authorize?${new URLSearchParams(asked).toString()}`),
  exchangeToken: async (api, owner) => {
    const attributes = Object.fromEntries(
      Object.entries(asked).map(([name, value]) => [name.replaceAll("_", "-"), value]),
    );
    const approval = resource("authorizations", { ...attributes, approve: true });
    const made = data(await (await signInWithToken(api, owner)).post("/authorizations", approval));
    const code = new URL(made.attributes["redirect-url"]).searchParams.get("code") ?? "";
    const { client_id, redirect_uri } = asked;
    const fields = { grant_type: "authorization_code", client_id, redirect_uri, code, code_verifier: verifier };
    return fetched(`${api.url}/oauth/token`, { method: "POST", body: new URLSearchParams(fields) });
  },
  beginSingleSignOn: async (api) => {
    const { id } = await makeProvider(api, (await provider()).url);
    return answerOf(await new Browser().open(`${api.url}/app/sign-in/sso/${id}`));
  },
  finishSingleSignOn: (api) => signInOnce(api),
  finishOwnSingleSignOn: async (api) => signInOnce(api, { organization: (await makeOrganization(api)).name }),
};

/** Signs in with a provider of the site, or of an organization. */
async function signInOnce(api: Api, attributes: object = {}): Promise<Answer> {
  const { url, codeFor } = await provider();
  const { id } = await makeProvider(api, url, { "create-users": true, ...attributes });
  const { browser, parameters } = await beginSignIn(api, id);
  const claims = { sub: unique("somebody"), email: `${unique("grace")}@example.com`, email_verified: true };
  const query = new URLSearchParams({
    code: await codeFor(parameters, { claims }),
    state: parameters.get("state") ?? "",
  });
  return answerOf(await browser.open(`${parameters.get("redirect_uri")}?${query.toString()}`));
}

const fetched = async (url: string, init: RequestInit = {}): Promise<Answer> =>
  answerOf(await fetch(url, { ...init, redirect: "manual" }));

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
}
