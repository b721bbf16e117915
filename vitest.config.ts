import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";
import { defineConfig } from "vitest/config";
import { isDeep, isOnBothEngines } from "./test/support/depth.ts";
import { scaled } from "./test/support/waiting.ts";

/** Pure code is tested once; everything that touches the register is tested on both engines, over HTTP. */
const pure = [
  "test/kernel/**/*.test.ts",
  "test/{statefile,archive,outgoing,packaging,proof}/**/*.test.ts",
  "test/access/**/*.test.ts",
  "test/jsonapi/**/*.test.ts",
  "test/settings.test.ts",
  "test/goldens.test.ts",
  "test/{dependencies,documents,exports,house,in-force,migrations,owners,proofs}.test.ts",
  "test/deploy/values.test.ts",
  "test/{paths,log-lines,log-text,drawn-plans,expiry-text,audit-text}.test.ts",
];
const onAgents = ["test/agent/**/*.test.ts"];
const onCommandLine = ["test/cli/**/*.test.ts"];
const onEngines = [
  "test/{http,resources,database,contract,jobs,moving}/**/*.test.ts",
  // These need git, which a machine may not have: `npm run test:git`.
  ...(process.env.CADASTRE_TEST_GIT === undefined ? [] : ["test/git/**/*.test.ts"]),
];

/**
 * A quick run tells everything on SQLite, and on PostgreSQL what the engine has a say in: every kind of statement once (`statements`
 * calls every route), and the files about searching, case, types, cascades and leases; not those about two callers at once or large
 * numbers, which take long there and which the gate tells. Who may, what a document shows and which sentence refuses is decided before and after the
 * statements. `npm run test:engines` and a deep run tell everything on both, and the gate runs the former. See
 * `test/support/once.ts` for parts of a file.
 */
const decidedByTheEngine = [
  "test/contract/statements.test.ts",
  "test/{database,jobs}/**/!(crowd|durable-commits|lease|processes|unavailable|fence|pooler|resealing|backup).test.ts",
  "test/resources/**/{search,tagged,integrity}.test.ts",
];
/** Whoever names files or folders gets all of them. */
const isWhole = !process.argv.slice(2).some((word) => !word.startsWith("-") && word.includes("/"));
const isQuick = isWhole && !isOnBothEngines;

/** Told by the gate too, and not in a quick run: mostly waiting for processes that are started, killed and started again; crowds; and chance. */
const toldByTheGate = [
  "test/cli/{damage,moving,pasted-blocks,kill,stopping,together,lost-database,jobs,workers,registers,backup,backup-load,old-backups,rolling-upgrade,serve,keys,reload,clocks,terminal}.test.ts",
  "test/agent/{isolation,life,kills,phases,log}.test.ts",
  "test/jobs/{processes,backup}.test.ts",
  "test/database/{crowd,fence,pooler,resealing,unavailable}.test.ts",
  // Slow readers, limits and access that ends while something is open.
  "test/resources/runs/run-streams/{stream,access}.test.ts",
  "test/resources/{shared/audit-events/export,identity/sessions/guessing}.test.ts",
  "test/moving/import.test.ts",
  "test/contract/{storm,random-bodies,growth}.test.ts",
  // By chance, against an oracle, or with thousands of rows; each has neighbours that tell the same by example.
  "test/resources/sharing/{access-previews/together,access-explanations/properties}.test.ts",
  "test/resources/register/workspaces/{search-oracle,large-organization,large-filters,lock-machine}.test.ts",
  "test/resources/register/workspace-moves/together.test.ts",
  "test/resources/runs/{agent-jobs/crowd,plan-outputs/masking}.test.ts",
  "test/resources/{state/state-versions,runs/configuration-versions}/large.test.ts",
];
/** What SQLite tells: everything in a quick or deep run, and in the gate, which has had the quick one, the rest. */
const isTheRest = isWhole && process.env.CADASTRE_TEST_ENGINES === "both" && !isDeep;
const onSqlite = isTheRest ? toldByTheGate.filter((path) => !/\/(cli|agent)\//.test(path)) : onEngines;
/** Needs a browser, so `npm run test:console` alone asks for it. */
const browser = process.env["CADASTRE_TEST_BROWSER"];
const inBrowser = browser !== undefined;
/** Journeys through pages that show what the engine searches, sorts, counts or dates. A deep run has all of them on PostgreSQL too. */
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
    // A browser, a server and a database share the machine: what passes only at its second try is named at the end.
    retry: 1,
    provide: { engine },
  },
});

const exclude = isQuick ? toldByTheGate : [];
const onPostgres = isQuick ? decidedByTheEngine : onEngines;

// Most code of a run is run some dozens of times: compiling it plainly at once is cheaper than interpreting it until it is hot.
setFlagsFromString("--always-sparkplug");
// There are more workers than cores: threads that help one to collect its garbage take the cores from another.
setFlagsFromString("--single-threaded-gc");

// Our code runs as Node runs it anyway: rewritten for a module runner, every import is looked up again each time it is used. Nobody
// mocks a module, so Node's loader needs no part in it.
const experimental = { viteModuleRunner: false, nodeLoader: false };

const shared = {
  testTimeout: scaled(240_000),
  hookTimeout: scaled(240_000),
  expect: { poll: { timeout: scaled(60_000) } },
  isolate: false,
  pool: "threads" as const,
  // Whoever watches has files loaded anew.
  ...(process.argv.includes("run") && { runner: "test/support/runner.ts" }),
  experimental,
};

const project = (name: string, include: readonly string[], provide: { engine?: "sqlite" | "postgres" } = {}) => ({
  extends: true as const,
  test: { ...shared, name, include: [...include], exclude, provide },
});
/** In a quick run its part is small and the database works beside it: one worker fewer has to warm up. Others have had their turn. */
const inTurn = isQuick ? { maxWorkers: availableParallelism(), sequence: { groupOrder: 1 } } : {};
const onPostgreSQL = project("postgres", onPostgres, { engine: "postgres" });

/** Each project has workers of its own, which load and warm up everything: whoever asks for none of them by name gets fewer. */
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
    // Each worker loads, compiles and warms up everything for itself, and some files wait for processes, leases and the database:
    // one more than there are cores. Whoever has a browser beside them has no core to spare.
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
          ...(process.env["CADASTRE_TEST_HELM"] === undefined ? [] : [project("helm", ["test/deploy/helm.test.ts"])]),
        ],
  },
});
