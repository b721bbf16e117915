/** Builds and configures the official provider's acceptance tests. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { addMember, addUser, apiOf, dataOf, emailOf } from "./api.ts";
import { testEnvironment } from "./client.ts";
import { build, go, type GoTests } from "./go.ts";
import type { Edition, Server } from "./server.ts";

export const providerModule = { path: "github.com/hashicorp/terraform-provider-tfe", version: "0.79.0" } as const;

export interface Provider extends GoTests {
  /** Directory with the built provider. */
  readonly installed: string;
}

/** Throws on failure. */
export async function buildProvider(): Promise<Provider> {
  const { source, binary } = await build(providerModule, async (built) => {
    await go(["build", "-o", join(built.source, "installed/"), "."], built.source);
    await go(["test", "-c", "-o", built.binary, "./internal/provider"], built.source);
  });
  return { binary, home: join(source, "internal/provider"), installed: join(source, "installed") };
}

/** The tests expect two users, and two organizations: one with the first user, one with an agent pool. */
const users = ["ada", "grace"] as const;
const withUser = "hashicorp";
const withPool = "xxx";

/** Created before the first test. */
export async function settle(server: Server): Promise<void> {
  const api = apiOf(server);
  for (const user of users) await addUser(api, user);
  for (const name of [withUser, withPool]) {
    const attributes = { name, email: emailOf("platform") };
    dataOf(await api("/organizations", { data: { type: "organizations", attributes } }));
  }
  await addMember(api, withUser, emailOf(users[0]), []);
  const pool = { type: "agent-pools", attributes: { name: withPool } };
  dataOf(await api(`/organizations/${withPool}/agent-pools`, { data: pool }));
}

/** The server's settings, like those of the installation that the provider's authors test against. */
export const serverSettings = (edition: Edition): Record<string, string> =>
  edition === "self-hosted" ? { CADASTRE_GLOBAL_REMOTE_STATE_DEFAULT: "true" } : {};

export interface Surroundings {
  readonly server: Server;
  readonly edition: Edition;
  /** The receiver of notifications. */
  readonly listenerUrl: string;
  /** The path of the CLI that the tests run. */
  readonly terraform: string;
  /** The certificate to trust. */
  readonly cert: string;
  /** A private directory. */
  readonly home: string;
}

export function providerEnvironment(
  provider: Provider,
  { server, edition, listenerUrl, terraform, cert, home }: Surroundings,
): (test: string) => NodeJS.ProcessEnv {
  const shared = {
    ...testEnvironment(server, edition, listenerUrl),
    HOME: home,
    TMPDIR: home,
    TF_ACC: "1",
    TF_ACC_TERRAFORM_PATH: terraform,
    CHECKPOINT_DISABLE: "1",
    SSL_CERT_FILE: cert,
    TFE_HOSTNAME: `localhost:${new URL(server.url).port}`,
    TFE_USER1: users[0],
    TFE_USER2: users[1],
    GITHUB_TOKEN: "not-a-token",
    GITHUB_TOKEN2: "not-a-token-either",
    GITHUB_WORKSPACE_IDENTIFIER: "organization/repository",
    GITHUB_WORKSPACE_BRANCH: "main",
  };
  const file = installation(provider, home);
  return (test) => {
    // Most tests pass the provider to the CLI; some expect it to be installed.
    if (test.startsWith("TestAccTeamTokenEphemeralResource_")) return { ...shared, TF_CLI_CONFIG_FILE: file };
    // All other tests expect no default.
    if (test === "TestAccTFETeamAccess_updateAdminToCustomWithSamePermissions")
      return { ...shared, TFE_ORGANIZATION: withUser };
    return shared;
  };
}

/** A CLI configuration file that uses the built provider. */
export function installation({ installed }: Provider, home: string): string {
  const file = join(home, "cli.tfrc");
  const overrides = `dev_overrides {\n    "hashicorp/tfe" = ${JSON.stringify(installed)}\n  }`;
  writeFileSync(file, `provider_installation {\n  ${overrides}\n  direct {}\n}\n`);
  return file;
}
