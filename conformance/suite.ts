/** Runs the tests of a Go module on new servers, and prints the progress. */
import type { Area } from "./areas.ts";
import type { Exception } from "./exceptions.ts";
import { inTurn } from "./options.ts";
import { type Combination, type Kinds, nameOf, outOfScope, type Result, resultOf, tally, verdict } from "./results.ts";
import { say } from "./script.ts";
import type { Server } from "./server.ts";
import { skipReason, type TestOutput } from "./verbose.ts";
import { scaled } from "../test/support/waiting.ts";

export interface Suite {
  readonly areas: readonly Area[];
  readonly exceptions: readonly Exception[];
  /** Tests that read the whole server, or change the shared account, run alone. */
  readonly alone: readonly RegExp[];
  /** All test names in order. */
  readonly tests: readonly string[];
}

/** A new server for one combination. */
export interface SuiteTarget {
  readonly kinds: Kinds;
  readonly server: Server;
  /** Runs one test with its subtests, without those named. */
  run(test: string, skipped: readonly string[]): Promise<TestOutput>;
}

interface SelectedTest {
  readonly test: string;
  readonly area: Area;
}

/** Tests mostly wait, so several run in parallel. */
const testsAtOnce = 3;
const combinationMs = scaled(40 * 60_000);
const tooLate = {
  checks: [],
  rest: `Not run: all the tests together took longer than ${Math.round(combinationMs / 60_000)} minutes.`,
};
const failureLines = 25;
const serverErrors = 5;
const areaWidth = 46;

/** Tests in the order of their areas, without those in no area. Throws if none is left. */
export function choose({ areas, exceptions, tests }: Suite, only: RegExp | undefined): SelectedTest[] {
  const all = areas.flatMap((area) =>
    tests.filter((test) => areaOf(areas, test) === area).map((test) => ({ test, area })),
  );
  // An exception for a test that no longer exists is an error.
  const unknown = exceptions.filter(({ test }) => !all.some((one) => one.test === test.split("/")[0]));
  if (unknown.length > 0)
    throw new Error(`There are exceptions for unknown tests: ${unknown.map(({ test }) => test).join(", ")}.`);
  const chosen = all.filter(({ test }) => only?.test(test) ?? true);
  if (chosen.length === 0) throw new Error("--only matches no test in scope.");
  return chosen;
}

const areaOf = (areas: readonly Area[], test: string) =>
  areas.find(({ tests }) => tests.some((pattern) => pattern.test(test)));

/** Results are in the order of the areas. */
export async function runSuite(
  suite: Suite,
  chosen: readonly SelectedTest[],
  { kinds, server, run: runTest }: SuiteTarget,
): Promise<Combination> {
  say(`\n== ${nameOf(kinds)}\n`);
  const until = Date.now() + combinationMs;
  const exceptions = suite.exceptions.filter((exception) => applies(exception, kinds));
  const results = new Map<string, Result>();
  const run = async ({ test, area }: SelectedTest) => {
    if (exceptions.some((exception) => exception.test === test)) {
      results.set(test, outOfScope(test, area));
      return;
    }
    const skipped = exceptions.map((exception) => exception.test).filter((name) => name.startsWith(`${test}/`));
    const output = Date.now() < until ? await runTest(test, skipped) : tooLate;
    const result = resultOf(test, area, output, skipped.length);
    results.set(test, result);
    say(`${marks[result.outcome]} ${test}: ${verdict(result)}`);
  };
  const runsAlone = ({ test }: SelectedTest) => suite.alone.some((pattern) => pattern.test(test));
  await inTurn(
    testsAtOnce,
    chosen.filter((one) => !runsAlone(one)),
    run,
  );
  await inTurn(1, chosen.filter(runsAlone), run);
  const combination = { ...kinds, results: chosen.flatMap(({ test }) => results.get(test) ?? []) };
  printResults(suite.areas, exceptions, combination, server);
  return combination;
}

const marks = { passed: "✓", failed: "✗", skipped: "-", "out of scope": "-" } as const;

const applies = ({ edition, terraform }: Exception, kinds: Kinds) =>
  (edition ?? kinds.edition) === kinds.edition && (terraform ?? kinds.terraform) === kinds.terraform;

function printResults(
  areas: readonly Area[],
  exceptions: readonly Exception[],
  combination: Combination,
  server: Server,
): void {
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
  say("\nSkipped by the tests themselves:");
  for (const [reason, checks] of reasons) say(`    ${checks.length} × ${reason}`);
  say("\nOut of scope:");
  const tests = new Set(results.map(({ test }) => test));
  for (const { test, reason } of exceptions.filter((exception) => tests.has(exception.test.split("/")[0] ?? "")))
    say(`    ${test}: ${reason}`);
  say(`\n${nameOf(combination)}:`);
  for (const { name } of areas) {
    const some = results.filter(({ area }) => area.name === name);
    if (some.length > 0) say(`    ${name.padEnd(areaWidth)}${tally(some)}`);
  }
  say(`    ${"All".padEnd(areaWidth)}${tally(results)}`);
}
