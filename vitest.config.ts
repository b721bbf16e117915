import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";
import { defineConfig } from "vitest/config";
import { isDeep } from "./test/support/depth.ts";

/** Pure code is tested once; everything that touches the register is tested on both engines, over HTTP. */
const pure = [
  "test/kernel/**/*.test.ts",
  "test/statefile/**/*.test.ts",
  "test/access/**/*.test.ts",
  "test/jsonapi/**/*.test.ts",
  "test/settings.test.ts",
  "test/goldens.test.ts",
  "test/{documents,house,owners,proofs}.test.ts",
];
const onEngines = ["test/{http,resources,database,contract,jobs}/**/*.test.ts"];

/**
 * Files about what is decided before and after the statements: who may, what a document shows, what the door lets in. The
 * statements that they happen to run are run by others too, on both engines. A quick run tells them once, on SQLite; a deep one on
 * both. What is about order, case, numbers, types, locks or two callers at once is never among them.
 * See `test/support/once.ts` for parts of a file.
 */
const once = [
  "test/contract/statements.test.ts",
  "test/http/requests.test.ts",
  "test/resources/connections/oauth-clients/access.test.ts",
  "test/resources/identity/authentication-tokens/audit-trails-token.test.ts",
  "test/resources/identity/authentication-tokens/expiry.test.ts",
  "test/resources/identity/organizations/access.test.ts",
  "test/resources/identity/organizations/create-by-anyone.test.ts",
  "test/resources/identity/organizations/user-tokens.test.ts",
  "test/resources/identity/teams/escalation.test.ts",
  "test/resources/register/data-retention-policies/hosted.test.ts",
  "test/resources/register/projects/access.test.ts",
  "test/resources/register/workspaces/access.test.ts",
  "test/resources/register/workspaces/audit.test.ts",
  "test/resources/register/workspaces/editions.test.ts",
  "test/resources/register/workspaces/engine-versions.test.ts",
  "test/resources/register/workspaces/global-remote-state.test.ts",
  "test/resources/register/workspaces/include.test.ts",
  "test/resources/register/workspaces/permissions.test.ts",
  "test/resources/sharing/access-explanations/explain.test.ts",
  "test/resources/sharing/access-explanations/secret-teams.test.ts",
  "test/resources/sharing/access-explanations/statements.test.ts",
  "test/resources/site/entitlement-sets/show.test.ts",
  "test/resources/site/feature-sets/list.test.ts",
  "test/resources/site/subscriptions/subscribe.test.ts",
  "test/resources/site/terraform-versions/versions.test.ts",
  "test/resources/state/remote-state-consumers/access.test.ts",
  "test/resources/state/state-versions/permissions.test.ts",
  "test/resources/state/state-versions/upload-urls.test.ts",
  "test/resources/variables/vars/access.test.ts",
  "test/resources/variables/varsets/access.test.ts",
];
const gone = once.filter((path) => !existsSync(path));
if (gone.length > 0) throw new Error(`vitest.config.ts names files that are not there: ${gone.join(", ")}`);

/** Whoever names files or folders gets all of them. */
const isWhole = !process.argv.slice(2).some((word) => !word.startsWith("-") && word.includes("/"));

// Most code of a run is run some dozens of times: compiling it plainly at once is cheaper than interpreting it until it is hot.
setFlagsFromString("--always-sparkplug");

const shared = { testTimeout: 30_000, hookTimeout: 60_000, isolate: false, pool: "threads" as const };

export default defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    // Some files wait for processes, leases and the database more than they compute: one worker more than there are cores.
    maxWorkers: availableParallelism() + 1,
    reporters: ["minimal", "./test/support/closing-line.ts"],
    projects: [
      { extends: true, test: { ...shared, name: "pure", include: pure } },
      { extends: true, test: { ...shared, name: "sqlite", include: onEngines, provide: { engine: "sqlite" } } },
      {
        extends: true,
        test: {
          ...shared,
          name: "postgres",
          include: onEngines,
          exclude: isDeep || !isWhole ? [] : once,
          provide: { engine: "postgres" },
        },
      },
      { extends: true, test: { ...shared, name: "cli", include: ["test/cli/**/*.test.ts"] } },
    ],
  },
});
