import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";
import { defineConfig } from "vitest/config";
import { isDeep, isOnBothEngines } from "./test/support/depth.ts";
import { scaled } from "./test/support/waiting.ts";

/** Tests of pure code run once; tests of the register run on both engines, over HTTP. */
const pure = [
  "test/kernel/**/*.test.ts",
  "test/{statefile,archive,outgoing,packaging,proof}/**/*.test.ts",
  "test/access/**/*.test.ts",
  "test/jsonapi/**/*.test.ts",
  "test/{settings,setting-sources}.test.ts",
  "test/goldens.test.ts",
  "test/{architecture,dependencies,documents,exports,in-force,migrations,owners,proofs,words}.test.ts",
  "test/deploy/values.test.ts",
  "test/{paths,log-lines,log-text,drawn-plans,expiry-text,audit-text}.test.ts",
];
const onAgents = ["test/agent/**/*.test.ts"];
const onCommandLine = ["test/cli/**/*.test.ts"];
const onEngines = [
  "test/{http,resources,database,contract,jobs,moving}/**/*.test.ts",
  // These need git, which a machine may not have: `npm run test:git`.
  ...(process.env.CADASTRE_TEST_GIT === undefined ? [] : ["test/git/**/*.test.ts"]),
  // These need an S3 server, which is built with Go: `npm run test:contents`.
  ...(process.env.CADASTRE_TEST_CONTENTS === undefined ? [] : ["test/contents/**/*.test.ts"]),
];

/**
 * A quick run (`npm test`) covers SQLite without the files in `gateOnly`, and on PostgreSQL what depends on the engine: every kind of
 * statement once (`statements` calls every route), searching, case, types and cascades. `npm run test:engines`, which the gate runs after
 * a quick run, covers all of PostgreSQL and the rest of SQLite. A deep run covers everything on both. `itInGate` and `describeOnce` in
 * `test/support/engine-independent.ts` do the same for parts of a file.
 */
const countingStatements = "test/contract/{statements,write-statements}.test.ts";
const decidedByTheEngine = [
  countingStatements,
  "test/database/**/!(crowd|durable-commits|group-commit|unavailable|fence|pooler|resealing).test.ts",
  "test/resources/{register/workspaces,shared}/search.test.ts",
  "test/resources/**/integrity.test.ts",
];
/** Files or folders on the command line are run completely. */
const isWhole = !process.argv.slice(2).some((word) => !word.startsWith("-") && word.includes("/"));
const isQuick = isWhole && !isOnBothEngines;

/** Not in a quick run: tests that restart processes, run many clients, or use random input. */
const gateOnly = [
  "test/cli/{damage,moving,pasted-blocks,kill,killed-delivery,stopping,together,lost-database,jobs,workers,registers,backup,backup-load,old-backups,rolling-upgrade,serve,keys,reload,clocks,terminal,remote,engine-fetching}.test.ts",
  "test/agent/{isolation,life,kills,once,scheduler,phases,log,state,downloads}.test.ts",
  "test/agent/fetching/{cache,release}.test.ts",
  "test/jobs/{processes,backup,lease}.test.ts",
  "test/database/{crowd,fence,group-commit,migration-waits,online-steps,pooler,resealing,unavailable}.test.ts",
  // Slow readers, limits, and access that ends while a stream is open.
  "test/resources/runs/run-streams/{stream,access}.test.ts",
  "test/resources/{shared/audit-events/export,identity/sessions/guessing,identity/organizations/closed,identity/sso-providers/attacks}.test.ts",
  "test/moving/import.test.ts",
  "test/contract/{stress,random-bodies,growth,etags}.test.ts",
  // Random input, an oracle, or thousands of rows; other files test the same by example.
  "test/resources/sharing/{access-previews/together,access-explanations/properties,access-explanations/matrix}.test.ts",
  "test/resources/governance/access-rules/sequences.test.ts",
  "test/resources/governance/access-requests/beneficiaries.test.ts",
  "test/resources/register/workspaces/{access,search-oracle,large-organization,large-filters,lock-machine}.test.ts",
  "test/resources/register/workspace-moves/together.test.ts",
  "test/resources/runs/{agent-jobs/crowd,plan-outputs/masking}.test.ts",
  "test/resources/{state/state-versions,runs/configuration-versions}/large.test.ts",
  "test/resources/{state/state-versions,runs/runs}/races.test.ts",
];
/** In a quick run on PostgreSQL only, where the counts are the same and the order of locks is checked too. */
const quickOnPostgresOnly = [countingStatements];
/** Everything in a quick or deep run; in the gate, which has run the quick one before, the rest. */
const isTheRest = isWhole && process.env.CADASTRE_TEST_ENGINES === "both" && !isDeep;
const withTestsForGate = () => globSync(onEngines).filter((path) => readFileSync(path, "utf8").includes("itInGate"));
const onSqlite = isTheRest
  ? [...gateOnly.filter((path) => !/\/(cli|agent)\//.test(path)), ...quickOnPostgresOnly, ...withTestsForGate()]
  : onEngines;
/** Needs a browser: `npm run test:console`. */
const browser = process.env["CADASTRE_TEST_BROWSER"];
const inBrowser = browser !== undefined;
/** Journeys through pages whose content the engine searches, sorts, counts or dates. A deep run has all of them on PostgreSQL too. */
const shownByTheEngine =
  "{access,audit-log,expiry,moving,reach,rolling-back,run-stream,runs,runs-list,search,workspaces}.test";
const journeysOn = (engine: "sqlite" | "postgres") =>
  engine === "postgres" && isWhole && !isDeep ? shownByTheEngine : "**/*.test";
const consoleOn = (engine: "sqlite" | "postgres") => ({
  extends: true as const,
  test: {
    ...shared,
    name: `console-${engine}`,
    include: [`test/console/${browser === "yes" ? journeysOn(engine) : browser}.ts`],
    // A browser, a server and a database share the machine; tests that pass on retry are listed at the end.
    retry: 1,
    provide: { engine },
  },
});

const exclude = isQuick ? gateOnly : [];
const onPostgres = isQuick ? decidedByTheEngine : onEngines;

// Most code runs some dozens of times: baseline compilation is cheaper than interpreting it until it is hot.
setFlagsFromString("--always-sparkplug");
// Every core has a worker, from which GC helper threads would take it.
setFlagsFromString("--single-threaded-gc");
// A quick run is over before the optimizing compiler's threads have saved what they cost.
if (isQuick && !inBrowser) setFlagsFromString("--no-turbofan");

// Node runs our code without a transform, and a module runner would look every import up on each use. No test mocks a module, so
// the loader is not needed either.
const experimental = { viteModuleRunner: false, nodeLoader: false };

const shared = {
  testTimeout: scaled(240_000),
  hookTimeout: scaled(240_000),
  expect: { poll: { timeout: scaled(60_000) } },
  isolate: false,
  pool: "threads" as const,
  // In watch mode files are reloaded.
  ...(process.argv.includes("run") && { runner: "test/support/runner.ts" }),
  experimental,
};

const project = (name: string, include: readonly string[], provide: { engine?: "sqlite" | "postgres" } = {}) => ({
  extends: true as const,
  test: {
    ...shared,
    name,
    include: [...include],
    exclude: isQuick && provide.engine !== "postgres" ? [...exclude, ...quickOnPostgresOnly] : exclude,
    provide: { ...provide, isWhole },
  },
});
/** In a quick run this project is small: it runs after the others. */
const inTurn = isQuick ? { sequence: { groupOrder: 1 } } : {};
const onPostgreSQL = project("postgres", onPostgres, { engine: "postgres" });

/** Each project has its own workers, which load everything: a run without `--project` uses fewer projects. */
const isTogether = isQuick && !process.argv.some((word) => word.startsWith("--project"));
const oneByOne = [
  project("pure", pure),
  project("sqlite", onSqlite, { engine: "sqlite" }),
  project("agent", onAgents),
  project("cli", onCommandLine),
];
const together = [project("once", [...pure, ...onSqlite, ...onAgents, ...onCommandLine], { engine: "sqlite" })];

export default defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    // One more than there are cores where files wait for processes, leases and the database. A browser needs a core of its own.
    maxWorkers: availableParallelism() + (inBrowser ? 0 : 1),
    reporters: ["minimal", "./test/support/closing-line.ts"],
    projects: inBrowser
      ? [consoleOn("sqlite"), consoleOn("postgres")]
      : [
          ...(isTogether ? together : oneByOne),
          { ...onPostgreSQL, test: { ...onPostgreSQL.test, ...inTurn } },
          // Needs what `npm run build` makes: `npm run test:package`.
          ...(process.env["CADASTRE_TEST_PACKAGE"] === undefined
            ? []
            : [project("package", ["test/package/**/*.test.ts"])]),
          // Needs helm: `npm run test:helm`.
          ...(process.env["CADASTRE_TEST_HELM"] === undefined ? [] : [project("helm", ["test/deploy/helm*.test.ts"])]),
        ],
  },
});
