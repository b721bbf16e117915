/** A single sign-on provider on the loopback address with configurable tokens, and a browser that signs in with it. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import type { Api, Json } from "./api.ts";
import { data, resource, unique } from "./builders.ts";

export const privateAddresses = ["127.0.0.1"];
const secret = "a secret of the provider's";

/** Overrides of a valid token's claims and signature. */
export interface TokenOverrides {
  readonly claims?: Json;
  readonly signed?: "none" | "by another";
  readonly userinfo?: Json;
}

export interface FakeProvider {
  readonly url: string;
  readonly http: Server;
  /** How many codes the server exchanged here, also those of other providers. */
  readonly codesShown: number;
  codeFor(parameters: URLSearchParams, overrides: TokenOverrides): Promise<string>;
}

export interface FakeProviderOptions {
  readonly withUserinfo?: boolean;
  readonly metadata?: Json;
}

export async function startFakeProvider({
  withUserinfo = false,
  metadata = {},
}: FakeProviderOptions = {}): Promise<FakeProvider> {
  const [pair, other] = [await generateKeyPair("RS256"), await generateKeyPair("RS256")];
  const codes = new Map<string, { challenge: string; clientId: string; token: string }>();
  let userinfo: Json;
  let codesShown = 0;
  const answer = async (request: IncomingMessage): Promise<Json> => {
    const path = new URL(request.url ?? "", url).pathname;
    if (path === "/.well-known/openid-configuration")
      return description(url, { ...(withUserinfo && { userinfo_endpoint: `${url}/userinfo` }), ...metadata });
    if (path === "/keys")
      return { keys: [{ ...(await exportJWK(pair.publicKey)), kid: "1", alg: "RS256", use: "sig" }] };
    if (path === "/userinfo") return userinfo;
    const form = new URLSearchParams(await textOf(request));
    codesShown += 1;
    const issued = codes.get(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const basic = `Basic ${Buffer.from(`${issued?.clientId}:${encodeURIComponent(secret).replaceAll("%20", "+").replaceAll("'", "%27")}`).toString("base64")}`;
    if (issued === undefined || issued.challenge !== challenge || request.headers.authorization !== basic)
      return undefined;
    return { access_token: "an access token", token_type: "Bearer", expires_in: 60, id_token: issued.token };
  };
  const http = createServer((request, response) => {
    const respond = (document: Json) =>
      response
        .writeHead(document === undefined ? 400 : 200, { "content-type": "application/json" })
        .end(JSON.stringify(document ?? { error: "invalid_grant" }));
    void answer(request).then(respond);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    url,
    http,
    get codesShown() {
      return codesShown;
    },
    codeFor: async (parameters, overrides) => {
      const clientId = parameters.get("client_id") ?? "";
      const seconds = Math.floor(Date.now() / 1000);
      const usual = { iss: url, aud: clientId, nonce: parameters.get("nonce"), iat: seconds, exp: seconds + 300 };
      const claims = { ...usual, sub: "somebody", ...overrides.claims };
      const key = overrides.signed === "by another" ? other.privateKey : pair.privateKey;
      const token =
        overrides.signed === "none"
          ? new UnsecuredJWT(claims).encode()
          : await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "1" }).sign(key);
      ({ userinfo } = overrides);
      const code = unique("code");
      codes.set(code, { challenge: parameters.get("code_challenge") ?? "", clientId, token });
      return code;
    },
  };
}

const description = (url: string, more: Json) => ({
  issuer: url,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  jwks_uri: `${url}/keys`,
  response_types_supported: ["code"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
  ...more,
});

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request) text += String(piece);
  return text;
}

export async function makeProvider(api: Api, issuer: string, attributes: object = {}): Promise<Json> {
  const usual = { name: unique("sso"), issuer, "client-id": "cadastre", "client-secret": secret };
  return data(await api.admin.post("/admin/sso-providers", resource("sso-providers", { ...usual, ...attributes })));
}

/** Keeps cookies by name, and follows no redirects. */
export class Browser {
  readonly #cookies = new Map<string, string>();

  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  has(name: string): boolean {
    return this.#cookies.has(name);
  }

  async open(url: string, init: RequestInit = {}): Promise<Response> {
    const headers = { accept: "text/html", cookie: this.cookie, ...(init.headers as Record<string, string>) };
    const response = await fetch(url, { redirect: "manual", ...init, headers });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0\b/i.test(line)) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return response;
  }
}

export interface StartedSignIn {
  readonly browser: Browser;
  readonly parameters: URLSearchParams;
}

export async function beginSignIn(
  api: Api,
  providerId: string,
  query = "",
  browser = new Browser(),
): Promise<StartedSignIn> {
  const response = await browser.open(`${api.url}/app/sign-in/sso/${providerId}${query}`);
  if (response.status !== 302)
    throw new Error(`the sign-in did not begin: ${response.status} ${await response.text()}`);
  return { browser, parameters: new URL(response.headers.get("location") ?? "").searchParams };
}

export async function finishSignIn(
  { browser, parameters }: StartedSignIn,
  query: Record<string, string>,
): Promise<SignInResult> {
  const response = await browser.open(`${parameters.get("redirect_uri")}?${new URLSearchParams(query)}`);
  return {
    status: response.status,
    location: response.headers.get("location"),
    page: await response.text(),
    browser,
    cookie: browser.has("cadastre_session") ? browser.cookie : undefined,
  };
}

export interface SignInResult {
  readonly status: number;
  readonly location: string | null;
  readonly page: string;
  readonly browser: Browser;
  readonly cookie: string | undefined;
}

export async function signIn(
  api: Api,
  provider: FakeProvider,
  providerId: string,
  overrides: TokenOverrides = {},
  query = "",
): Promise<SignInResult> {
  const started = await beginSignIn(api, providerId, query);
  const { parameters } = started;
  return finishSignIn(started, {
    code: await provider.codeFor(parameters, overrides),
    state: parameters.get("state") ?? "",
  });
}
