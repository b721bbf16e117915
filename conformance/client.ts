/** Builds and configures the official Go client's tests. */
import { join } from "node:path";
import { go, type GoTests } from "./go.ts";
import { type Edition, type Server, without } from "./server.ts";

export const clientModule = "github.com/hashicorp/go-tfe";

export interface Client extends GoTests {
  readonly version: string;
}

/** Builds the tests into the folder; the module and what its tests need come from the module proxy. */
export async function buildClient(folder: string): Promise<Client> {
  const binary = join(folder, "client.test");
  await go(["test", "-c", "-o", binary, clientModule]);
  const [home = "", version = ""] = (await go(["list", "-m", "-f", "{{.Dir}}\n{{.Version}}", clientModule])).split(
    "\n",
  );
  return { binary, home, version };
}

/** Variables that would influence the tests. */
const testVariables = /^(TF|TFE|TFC|ENABLE|HYOK|GITHUB|OAUTH|CADASTRE|RUN_TASKS)_/;

/**
 * The client has two modes, like the service's two editions, because HCP Terraform and Terraform Enterprise have different features.
 * Tests that only need the name of a repository get one; none of them calls GitHub.
 */
export function testEnvironment(server: Server, edition: Edition, listenerUrl: string): NodeJS.ProcessEnv {
  return {
    ...without(process.env, testVariables),
    TFE_ADDRESS: server.url,
    TFE_TOKEN: server.token,
    TFE_ADMIN_PROVISION_LICENSES_TOKEN: server.token,
    ENABLE_BETA: "1",
    ...(edition === "self-hosted" ? { ENABLE_TFE: "1" } : {}),
    OAUTH_CLIENT_GITHUB_TOKEN: "not-a-token",
    GITHUB_POLICY_SET_IDENTIFIER: "organization/repository",
    GITHUB_APP_INSTALLATION_ID: "ghain-conformance0",
    // The receiver of notifications; the client and the provider use different names.
    TFC_RUN_TASK_URL: listenerUrl,
    RUN_TASKS_URL: listenerUrl,
  };
}
