/**
 * Runs the official Go client's own integration tests against this service, and tells which pass.
 *
 *   npm run conformance                        both databases, both modes of the client; writes docs/compatibility.md
 *   npm run conformance -- --quick             SQLite and the self-hosted edition only; writes nothing
 *   npm run conformance -- --only TestTeams    only the tests whose names match; writes nothing
 *
 * `--engine` and `--edition` choose one of each. `--if-go` ends without a failure where there is no Go. The exit code is 1 if
 * a test in scope fails.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alone, areas } from "./areas.ts";
import { buildClient, type Client, hasGo } from "./client.ts";
import { compatibilityDocument } from "./document.ts";
import { exceptions } from "./exceptions.ts";
import { inTurn, readOptions } from "./options.ts";
import {
  type Combination,
  count,
  exceptionsOf,
  inScope,
  nameOf,
  outOfScope,
  type Result,
  resultOf,
  tally,
  verdict,
} from "./results.ts";
import { type Edition, editions, type Engine, type Server, startServer } from "./server.ts";
import { skipReason } from "./verbose.ts";

/** The tests wait for the service, and some of them for a clock, more than they compute. */
const testsAtOnce = 3;
const combinationMs = 40 * 60_000;
const tooLate = {
  checks: [],
  rest: `Not run: all the tests together took longer than ${combinationMs / 60_000} minutes.`,
};
const failureLines = 25;
const serverErrors = 5;

const say = (line: string) => process.stdout.write(`${line}\n`);

/** Runs what is in scope on one fresh server; results come in the order of the areas, whatever ended first. */
async function runCombination(client: Client, engine: Engine, edition: Edition, only?: RegExp): Promise<Combination> {
  say(`\n== ${nameOf({ engine, edition })}\n`);
  const server = await startServer(engine, edition);
  const until = Date.now() + combinationMs;
  try {
    const chosen = inScope(client.tests).filter(({ test }) => only === undefined || only.test(test));
    const results = new Map<string, Result>();
    const run = async ({ test, area }: (typeof chosen)[number]) => {
      if (exceptions.some((exception) => exception.test === test)) {
        results.set(test, outOfScope(test, area));
        return;
      }
      const skipped = exceptionsOf(exceptions, test);
      const output = Date.now() < until ? await client.run(test, skipped, server, edition) : tooLate;
      const result = resultOf(test, area, output, skipped.length);
      results.set(test, result);
      say(
        `${result.outcome === "failed" ? "✗" : result.outcome === "skipped" ? "-" : "✓"} ${test}: ${verdict(result)}`,
      );
    };
    const lonely = (test: string) => alone.some((pattern) => pattern.test(test));
    await inTurn(
      testsAtOnce,
      chosen.filter(({ test }) => !lonely(test)),
      run,
    );
    await inTurn(
      1,
      chosen.filter(({ test }) => lonely(test)),
      run,
    );
    const combination = { engine, edition, results: chosen.flatMap(({ test }) => results.get(test) ?? []) };
    tell(combination, server);
    return combination;
  } finally {
    await server.stop();
  }
}

function tell(combination: Combination, server: Server): void {
  const { results } = combination;
  for (const { test, failure } of results.filter(({ outcome }) => outcome === "failed")) {
    const lines = failure.split("\n");
    const more = lines.length > failureLines ? [`… and ${lines.length - failureLines} lines more`] : [];
    say([`\n✗ ${test}`, ...lines.slice(0, failureLines), ...more].join("\n    "));
  }
  const errors = server.errors();
  if (errors.length > 0) say(`\nThe server logged ${errors.length} errors; the first:`);
  for (const line of errors.slice(0, serverErrors)) say(`    ${line}`);
  const reasons = Map.groupBy(
    results.flatMap(({ checks }) => checks).filter(({ outcome }) => outcome === "skipped"),
    skipReason,
  );
  say("\nSkipped by the client itself:");
  for (const [reason, checks] of reasons) say(`    ${checks.length} × ${reason}`);
  say("\nOut of scope:");
  const tests = new Set(results.map(({ test }) => test));
  for (const { test, reason } of exceptions.filter((exception) => tests.has(exception.test.split("/")[0] ?? "")))
    say(`    ${test}: ${reason}`);
  say(`\n${nameOf(combination)}:`);
  for (const { name } of areas) {
    const some = results.filter(({ area }) => area.name === name);
    if (some.length > 0) say(`    ${name.padEnd(28)}${tally(some)}`);
  }
  say(`    ${"All".padEnd(28)}${tally(results)}`);
}

/** An exception for a test that is gone would hide nothing and mislead. */
function refuseUnknownExceptions({ tests }: Client): void {
  const known = new Set(inScope(tests).map(({ test }) => test));
  const unknown = exceptions.filter(({ test }) => !known.has(test.split("/")[0] ?? ""));
  if (unknown.length > 0)
    throw new Error(`conformance/exceptions.ts names unknown tests: ${unknown.map(({ test }) => test).join(", ")}.`);
}

async function main(): Promise<number> {
  const { combinations: wanted, only, whole, ifGo } = readOptions("edition", editions, "self-hosted");
  if (!hasGo()) {
    say("There is no Go on this machine, and the client's tests need it: they were not run.");
    return ifGo ? 0 : 1;
  }
  const folder = mkdtempSync(join(tmpdir(), "cadastre-client-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const client = await buildClient(join(folder, "client.test"));
  refuseUnknownExceptions(client);
  if (!inScope(client.tests).some(({ test }) => only?.test(test) ?? true))
    throw new Error("--only matches no test in scope.");
  const combinations: Combination[] = [];
  for (const [engine, edition] of wanted) combinations.push(await runCombination(client, engine, edition, only));
  if (whole) {
    const file = new URL("../docs/compatibility.md", import.meta.url);
    writeFileSync(file, compatibilityDocument(client.version, combinations, exceptions));
    say("\nWritten to docs/compatibility.md.");
  }
  return combinations.some(({ results }) => count(results, "failed") > 0) ? 1 : 0;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.exitCode = await main().catch((error: unknown) => {
  say(error instanceof Error ? error.message : String(error));
  return 1;
});
