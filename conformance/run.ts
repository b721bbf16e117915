/**
 * Runs the official Go client's own integration tests against this server, and reports which pass; tries the basic calls of the
 * generated client; and validates our responses with the official OpenAPI document.
 *
 *   npm run conformance                        both databases, both modes of the client; writes docs/reference/conformance-go-client.md
 *   npm run conformance -- --quick             SQLite and the self-hosted edition only; writes nothing
 *   npm run conformance -- --only TestTeams    only the tests whose names match, and nothing else; writes nothing
 *
 * `--engine` and `--edition` select one of each; the document is then only written with `--write`, with these results
 * alone. The exit code is 1 if a test in scope fails, or if there is no Go.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiOf } from "./api.ts";
import { alone, areas } from "./areas.ts";
import { buildClient, testEnvironment } from "./client.ts";
import { clientDocument, writeResults } from "./document.ts";
import { executing, preferEngine } from "./engines.ts";
import { exceptions } from "./exceptions.ts";
import { runTest, testsOf } from "./go.ts";
import { startListener } from "./listener.ts";
import { checkResponses } from "./openapi.ts";
import { readOptions } from "./options.ts";
import { type Combination, count } from "./results.ts";
import { script } from "./script.ts";
import { editions, engines, startServer } from "./server.ts";
import { choose, runSuite } from "./suite.ts";
import { buildBasicCalls, tryBasicCalls } from "./v2.ts";

/** The engines for the runs of the tests. */
const executed = "terraform-1.14.9";

async function main(): Promise<number> {
  const asked = readOptions({
    engine: { all: engines, quick: ["sqlite"] },
    edition: { all: editions, quick: ["self-hosted"] },
  });
  const folder = mkdtempSync(join(tmpdir(), "cadastre-client-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const client = await buildClient(folder);
  const basicCalls = asked.only === undefined ? await buildBasicCalls(folder) : undefined;
  const suite = { areas, exceptions, alone, tests: await testsOf(client) };
  const chosen = choose(suite, asked.only);
  const runs = await executing([executed]);
  const combinations: Combination[] = [];
  let differs = false;
  for (const kinds of asked.combinations) {
    const listener = await startListener();
    const server = await startServer(kinds.engine, kinds.edition, { ...runs, ...listener.settings });
    await preferEngine(apiOf(server), executed);
    const env = testEnvironment(server, kinds.edition, listener.url);
    const run = (test: string, skipped: readonly string[]) => runTest(client, { test, skipped, env });
    try {
      if (basicCalls !== undefined) differs = !(await tryBasicCalls(basicCalls, server)) || differs;
      combinations.push(await runSuite(suite, chosen, { kinds, server, run }));
    } finally {
      await server.stop();
      listener.stop();
    }
  }
  const checked = asked.only === undefined ? new Set(asked.combinations.map(({ engine }) => engine)) : [];
  for (const engine of checked) differs = (await checkResponses(engine)) > 0 || differs;
  if (asked.writesDocument) writeResults("client", clientDocument(client.version, suite, combinations));
  return differs || combinations.some(({ results }) => count(results, "failed") > 0) ? 1 : 0;
}

await script(main);
