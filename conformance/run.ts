/**
 * Runs the official Go client's own integration tests against this service, and tells which pass.
 *
 *   npm run conformance                        both databases, both modes of the client; writes docs/compatibility.md
 *   npm run conformance -- --quick             SQLite and the self-hosted edition only; writes nothing
 *   npm run conformance -- --only TestTeams    only the tests whose names match; writes nothing
 *
 * `--engine` and `--edition` choose one of each; then nothing is written, unless `--write` asks for a document that tells of those
 * alone. The exit code is 1 if a test in scope fails, or if there is no Go.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiOf } from "./api.ts";
import { alone, areas } from "./areas.ts";
import { buildClient, testEnvironment } from "./client.ts";
import { clientPart, writePart } from "./document.ts";
import { executing, preferEngine } from "./engines.ts";
import { exceptions } from "./exceptions.ts";
import { runTest, testsOf } from "./go.ts";
import { startListener } from "./listener.ts";
import { readOptions } from "./options.ts";
import { type Combination, count } from "./results.ts";
import { script } from "./script.ts";
import { editions, engines, startServer } from "./server.ts";
import { choose, runSuite } from "./suite.ts";

/** What executes the runs that the tests start. */
const executed = "terraform-1.13.3";

async function main(): Promise<number> {
  const asked = readOptions({
    engine: { all: engines, quick: ["sqlite"] },
    edition: { all: editions, quick: ["self-hosted"] },
  });
  const folder = mkdtempSync(join(tmpdir(), "cadastre-client-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const client = await buildClient(folder);
  const suite = { areas, exceptions, alone, tests: await testsOf(client) };
  const chosen = choose(suite, asked.only);
  const runs = await executing([executed]);
  const combinations: Combination[] = [];
  for (const kinds of asked.combinations) {
    const listener = await startListener();
    const server = await startServer(kinds.engine, kinds.edition, { ...runs, ...listener.settings });
    await preferEngine(apiOf(server), executed);
    const env = testEnvironment(server, kinds.edition, listener.url);
    const run = (test: string, skipped: readonly string[]) => runTest(client, { test, skipped, env });
    try {
      combinations.push(await runSuite(suite, chosen, { kinds, server, run }));
    } finally {
      await server.stop();
      listener.stop();
    }
  }
  if (asked.whole) writePart("client", clientPart(client.version, suite, combinations));
  return combinations.some(({ results }) => count(results, "failed") > 0) ? 1 : 0;
}

await script(main);
