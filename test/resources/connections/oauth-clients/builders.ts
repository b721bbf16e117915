/** Connections to version control, for the tests of clients and of tokens. */
import { incrementedVersion } from "../../../../src/resources/shared/versions.ts";
import { createVault } from "../../../../src/database/vault.ts";
import type { Api, Json } from "../../../support/api.ts";
import { data, type Org, resource } from "../../../support/builders.ts";

export const tokenString = "secret-token-string";
export const pem = "-----BEGIN RSA PRIVATE KEY-----\nsecret-pem\n-----END RSA PRIVATE KEY-----\n";

export const github = {
  "service-provider": "github",
  "api-url": "https://api.github.com",
  "http-url": "https://github.com",
  "oauth-token-string": tokenString,
};

export async function makeClient(org: Org, attributes: object = {}): Promise<Json> {
  const body = resource("oauth-clients", { ...github, "webhook-secret": "one-of-our-own-choice", ...attributes });
  return data(await org.owner.post(`/organizations/${org.name}/oauth-clients`, body));
}

export const tokenIdOf = (client: Json): string => client.relationships["oauth-tokens"].data[0].id;

/** The stored secret of an owner, decrypted with the tests' key. */
export function opened(owner: string, sealed: Uint8Array | null | undefined): string | null {
  if (sealed === null || sealed === undefined) return null;
  return Buffer.from(createVault(Buffer.alloc(32, 7)).open(owner, sealed)).toString();
}

/** A workspace that a token connects to a repository, inserted directly. */
export async function connect(api: Api, workspaceId: string, tokenId: string): Promise<void> {
  await api.database.write((tx) =>
    tx.db
      .updateTable("workspaces")
      .set({
        vcsIdentifier: "acme/network",
        vcsBranch: "main",
        vcsIngressSubmodules: 1,
        vcsTagsRegex: "v.*",
        vcsOauthTokenId: tokenId,
        ...incrementedVersion,
      })
      .where("id", "=", workspaceId)
      .execute(),
  );
}

export async function connectionOf(api: Api, workspaceId: string) {
  return api.database.reader.db
    .selectFrom("workspaces")
    .select(["vcsIdentifier", "vcsBranch", "vcsIngressSubmodules", "vcsTagsRegex", "vcsOauthTokenId", "version"])
    .where("id", "=", workspaceId)
    .executeTakeFirstOrThrow();
}

export const disconnected = {
  vcsIdentifier: null,
  vcsBranch: null,
  vcsIngressSubmodules: 0,
  vcsTagsRegex: null,
  vcsOauthTokenId: null,
};
