import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

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

const shared = { testTimeout: 30_000, hookTimeout: 60_000, isolate: false, pool: "threads" as const };

export default defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    // Some files wait for processes, leases and the database more than they compute: one worker more than there are cores.
    maxWorkers: availableParallelism() + 1,
    reporters: ["default", "./test/support/closing-line.ts"],
    projects: [
      { extends: true, test: { ...shared, name: "pure", include: pure } },
      { extends: true, test: { ...shared, name: "sqlite", include: onEngines, provide: { engine: "sqlite" } } },
      { extends: true, test: { ...shared, name: "postgres", include: onEngines, provide: { engine: "postgres" } } },
      { extends: true, test: { ...shared, name: "cli", include: ["test/cli/**/*.test.ts"] } },
    ],
  },
});
