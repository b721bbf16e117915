import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";
import { defineConfig } from "vitest/config";
import { isOnBothEngines } from "./test/support/depth.ts";

/** Pure code is tested once; everything that touches the register is tested on both engines, over HTTP. */
const pure = [
  "test/kernel/**/*.test.ts",
  "test/{statefile,archive,outgoing}/**/*.test.ts",
  "test/access/**/*.test.ts",
  "test/jsonapi/**/*.test.ts",
  "test/settings.test.ts",
  "test/goldens.test.ts",
  "test/{documents,house,in-force,owners,proofs}.test.ts",
  "test/{paths,log-lines,drawn-plans}.test.ts",
];
const onEngines = [
  "test/{http,resources,database,contract,jobs,moving}/**/*.test.ts",
  // These need git, which a machine may not have: `npm run test:git`.
  ...(process.env.CADASTRE_TEST_GIT === undefined ? [] : ["test/git/**/*.test.ts"]),
];

/**
 * A quick run tells everything on SQLite, and on PostgreSQL what the engine has a say in: every kind of statement once (`statements`
 * calls every route), the storm, and the files about order, case, types, locks, cascades, or two callers at once; not those about large
 * numbers, which take long there. Who may, what a document shows and which sentence refuses is decided before and after the
 * statements. `npm run test:engines` and a deep run tell everything on both, and the gate runs the former. See
 * `test/support/once.ts` for parts of a file.
 */
const decidedByTheEngine = [
  "test/contract/{statements,storm}.test.ts",
  "test/{database,jobs}/**/!(crowd|durable-commits|processes|unavailable).test.ts",
  "test/http/service.test.ts",
  "test/resources/**/{list,search,tagged}.test.ts",
  "test/resources/**/{races,together,lock-machine,integrity}.test.ts",
];
/** Mostly waiting for processes that are started, killed and started again: told by the gate too, and not in a quick run. */
const aboutProcesses = [
  "test/cli/{moving,kill,stopping,together,lost-database,jobs,workers,registers,backup}.test.ts",
  "test/agent/{life,kills,phases}.test.ts",
  "test/jobs/processes.test.ts",
];
/** Needs a browser, so `npm run test:console` alone asks for it. */
const browser = process.env["CADASTRE_TEST_BROWSER"];
const inBrowser = browser !== undefined;
const consoleOn = (engine: "sqlite" | "postgres") => ({
  extends: true as const,
  test: {
    ...shared,
    name: `console-${engine}`,
    include: [browser === "pictures" ? "test/console/pictures.ts" : "test/console/**/*.test.ts"],
    provide: { engine },
  },
});

/** Whoever names files or folders gets all of them. */
const isWhole = !process.argv.slice(2).some((word) => !word.startsWith("-") && word.includes("/"));
const isQuick = isWhole && !isOnBothEngines;
const exclude = isQuick ? aboutProcesses : [];
const onPostgres = isQuick ? decidedByTheEngine : onEngines;

// Most code of a run is run some dozens of times: compiling it plainly at once is cheaper than interpreting it until it is hot.
setFlagsFromString("--always-sparkplug");

// Our code runs as Node runs it anyway: rewritten for a module runner, every import is looked up again each time it is used. Nobody
// mocks a module, so Node's loader needs no part in it.
const experimental = { viteModuleRunner: false, nodeLoader: false };

// Generous, because a machine may be busy: no test is about how long something takes.
const shared = { testTimeout: 120_000, hookTimeout: 180_000, isolate: false, pool: "threads" as const, experimental };

export default defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    // Each worker loads, compiles and warms up everything for itself, and some files wait for processes, leases and the database:
    // one more than there are cores.
    maxWorkers: availableParallelism() + 1,
    reporters: ["minimal", "./test/support/closing-line.ts"],
    projects: inBrowser
      ? [consoleOn("sqlite"), consoleOn("postgres")]
      : [
          { extends: true, test: { ...shared, name: "pure", include: pure } },
          {
            extends: true,
            test: { ...shared, name: "sqlite", include: onEngines, exclude, provide: { engine: "sqlite" } },
          },
          {
            extends: true,
            test: {
              ...shared,
              name: "postgres",
              include: onPostgres,
              provide: { engine: "postgres" },
            },
          },
          {
            extends: true,
            test: { ...shared, name: "agent", include: ["test/agent/**/*.test.ts"], exclude },
          },
          {
            extends: true,
            test: { ...shared, name: "cli", include: ["test/cli/**/*.test.ts"], exclude },
          },
        ],
  },
});
