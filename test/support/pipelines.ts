/** An OIDC issuer for pipelines on the loopback address, and the exchange of its tokens for a team's token. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import type { Api } from "./api.ts";

export interface Issuer {
  readonly url: string;
  readonly http: Server;
  keyRequests(): number;
  rotate(): Promise<void>;
  token(claims?: JWTPayload, expires?: string): Promise<string>;
}

export async function startIssuer(): Promise<Issuer> {
  let [keyRequestCount, kid] = [0, 0];
  let pair = await generateKeyPair("ES256");
  const http = createServer((request, response) => {
    const answer = async () => {
      if (request.url === "/.well-known/openid-configuration") return { issuer: url, jwks_uri: `${url}/keys` };
      keyRequestCount += 1;
      return { keys: [{ ...(await exportJWK(pair.publicKey)), kid: String(kid), alg: "ES256" }] };
    };
    void answer().then((document) => response.end(JSON.stringify(document)));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    url,
    http,
    keyRequests: () => keyRequestCount,
    rotate: async () => {
      kid += 1;
      pair = await generateKeyPair("ES256");
    },
    token: (claims = {}, expires = "5m") =>
      new SignJWT({ repository: "acme/network", ref: "refs/heads/main", ...claims })
        .setProtectedHeader({ alg: "ES256", kid: String(kid) })
        .setIssuer(url)
        .setSubject("repo:acme/network")
        .setAudience((claims.aud as string | undefined) ?? "cadastre")
        .setIssuedAt()
        .setExpirationTime(expires)
        .sign(pair.privateKey),
  };
}

export async function exchangeToken(on: Api, organization: string, token: string, more: Record<string, string> = {}) {
  const form = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: token,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    organization,
    ...more,
  });
  const response = await fetch(`${on.url}/oauth/token`, { method: "POST", body: form });
  return { status: response.status, body: (await response.json()) as any };
}
