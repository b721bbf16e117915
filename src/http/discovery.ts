/** Service discovery for clients: where the API is, and whether the server responds. */
import type { FastifyInstance } from "fastify";
import type { Database } from "../database/database.ts";
import type { Vault } from "../database/vault.ts";
import { claimNames } from "../resources/runs/identity-keys/rules.ts";
import { publishedKeys } from "../resources/runs/identity-keys/writes.ts";
import { loginClient } from "../resources/identity/authorizations/reads.ts";
import { authorizePath, tokenPath } from "./oauth.ts";
import { basePath } from "./respond.ts";

const services = ["tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"];

const login = {
  client: loginClient.id,
  grant_types: ["authz_code"],
  authz: authorizePath,
  token: tokenPath,
  ports: loginClient.ports,
};

export function mountDiscovery(server: FastifyInstance): void {
  const document = { ...Object.fromEntries(services.map((service) => [service, `${basePath}/`])), "login.v1": login };
  server.get("/.well-known/terraform.json", async () => document);
  server.get(`${basePath}/ping`, async (_request, reply) => reply.code(204).send());
}

export const identityPaths = { discovery: "/.well-known/openid-configuration", keys: "/.well-known/jwks" } as const;

export function mountIdentity(
  server: FastifyInstance,
  { database, vault, publicUrl }: { database: Database; vault: Vault; publicUrl: () => string },
): void {
  server.get(identityPaths.discovery, async () => ({
    issuer: publicUrl(),
    jwks_uri: `${publicUrl()}${identityPaths.keys}`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    scopes_supported: ["openid"],
    claims_supported: claimNames,
  }));
  server.get(identityPaths.keys, async () => ({ keys: await publishedKeys(database, vault) }));
}
