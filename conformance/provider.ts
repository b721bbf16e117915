/**
 * Runs the official Terraform provider's own acceptance tests against this server, and reports which pass.
 *
 *   npm run conformance:provider                        both databases, both editions, two versions of Terraform; writes
 *                                                       docs/reference/conformance-provider.md
 *   npm run conformance:provider -- --quick             some tests, on SQLite in the self-hosted edition with the newer Terraform;
 *                                                       writes nothing
 *   npm run conformance:provider -- --only TeamAccess   only the tests whose names match; writes nothing
 *
 * `--engine`, `--edition` and `--cli` select one of each; the document is then only written with `--write`. The provider requires
 * HTTPS, so openssl creates a certificate. The exit code is 1
 * if a test in scope fails, or if there is no Go.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiOf } from "./api.ts";
import { makeCertificate, servedWith } from "./certificate.ts";
import { builtCli } from "./cli-build.ts";
import { providerDocument, writeResults } from "./document.ts";
import { executing, preferEngine } from "./engines.ts";
import { runTest, testsOf } from "./go.ts";
import { startListener } from "./listener.ts";
import { readOptions } from "./options.ts";
import { alone, providerAreas, quickTests } from "./provider-areas.ts";
import { providerExceptions } from "./provider-exceptions.ts";
import { buildProvider, providerEnvironment, serverSettings, settle } from "./provider-tests.ts";
import { type Combination, count } from "./results.ts";
import { script } from "./script.ts";
import { editions, engines, startServer } from "./server.ts";
import { choose, runSuite } from "./suite.ts";

/** The engines for the runs of the tests. */
const executed = "terraform-1.14.9";

async function main(): Promise<number> {
  const asked = readOptions({
    engine: { all: engines, quick: ["sqlite"] },
    edition: { all: editions, quick: ["self-hosted"] },
    cli: { all: ["terraform-1.5.7", "terraform-1.14.9"] as const, quick: ["terraform-1.14.9"] },
  });
  const provider = await buildProvider();
  const suite = { areas: providerAreas, exceptions: providerExceptions, alone, tests: await testsOf(provider) };
  const chosen = choose(suite, asked.only ?? (asked.quick ? quickTests : undefined));
  const folder = mkdtempSync(join(tmpdir(), "cadastre-provider-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const certificate = makeCertificate(folder);
  const runs = await executing([executed]);
  const combinations: Combination[] = [];
  for (const { engine, edition, cli } of asked.combinations) {
    const terraform = await builtCli(cli);
    const listener = await startListener();
    const server = await startServer(engine, edition, {
      ...runs,
      ...listener.settings,
      ...servedWith(certificate),
      ...serverSettings(edition),
    });
    try {
      await settle(server);
      await preferEngine(apiOf(server), executed);
      const home = mkdtempSync(join(folder, "home-"));
      const around = {
        server,
        edition,
        listenerUrl: listener.url,
        terraform: terraform.binary,
        cert: certificate.cert,
        home,
      };
      const envOf = providerEnvironment(provider, around);
      const run = (test: string, skipped: readonly string[]) => runTest(provider, { test, skipped, env: envOf(test) });
      const kinds = { engine, edition, terraform: terraform.version };
      combinations.push(await runSuite(suite, chosen, { kinds, server, run }));
    } finally {
      await server.stop();
      listener.stop();
    }
  }
  if (asked.writesDocument) writeResults("provider", providerDocument(suite, combinations));
  return combinations.some(({ results }) => count(results, "failed") > 0) ? 1 : 0;
}

await script(main);
