/** The result of a test in one combination of database, edition and CLI, and how results are counted and printed. */
import type { Area } from "./areas.ts";
import type { Edition, Engine } from "./server.ts";
import { type Check, housekeeping, leaves, type Outcome, type TestOutput } from "./verbose.ts";

export interface Result {
  readonly test: string;
  readonly area: Area;
  readonly outcome: Outcome | "out of scope";
  readonly checks: readonly Check[];
  /** Number of subtests that are exceptions. */
  readonly leftOut: number;
  /** Output of a failed test. */
  readonly failure: string;
}

export interface Kinds {
  readonly engine: Engine;
  readonly edition: Edition;
  /** The CLI's version, for tests that run one. */
  readonly terraform?: string;
}

export interface Combination extends Kinds {
  readonly results: readonly Result[];
}

export const engineNames = { sqlite: "SQLite", postgres: "PostgreSQL" } as const;

export const nameOf = ({ engine, edition, terraform }: Kinds) =>
  [engineNames[engine], edition, ...(terraform === undefined ? [] : [`Terraform ${terraform}`])].join(", ");

export function outOfScope(test: string, area: Area): Result {
  return { test, area, outcome: "out of scope", checks: [], leftOut: 0, failure: "" };
}

export function resultOf(test: string, area: Area, { checks, rest }: TestOutput, leftOut: number): Result {
  // A test that panicked or hung has no result.
  const outcome = checks.find(({ name }) => name === test)?.outcome ?? "failed";
  const failedChecks = checks
    .filter((check) => check.outcome === "failed" && essential(check.output) !== "")
    .map(({ name, output }) => `${name}\n${essential(output)}`);
  const failure = outcome === "failed" ? [...failedChecks, rest].filter((text) => text !== "").join("\n") : "";
  return { test, area, outcome, checks: leaves(checks), leftOut, failure };
}

/** Without paths of the module cache, logs and cleanup output. */
function essential(output: string): string {
  const noise = /^\s*(Error Trace|Test):|^[\d/]+ [\d:]+ \[[A-Z]+\] /;
  return output
    .split("\n")
    .filter((line) => line.trim() !== "" && !noise.test(line) && !housekeeping.test(line))
    .join("\n");
}

export function count(results: readonly Result[], outcome: Result["outcome"]): number {
  return results.filter((result) => result.outcome === outcome).length;
}

export function countChecks(results: readonly Result[], outcome: Outcome): number {
  return results.flatMap(({ checks }) => checks).filter((check) => check.outcome === outcome).length;
}

/** `12 passed, 1 failed`, without zero counts. */
export function tally(results: readonly Result[]): string {
  const kinds = ["passed", "failed", "skipped", "out of scope"] as const;
  const parts = kinds.map((kind) => ({ kind, number: count(results, kind) })).filter(({ number }) => number > 0);
  return parts.map(({ kind, number }) => `${number} ${kind}`).join(", ");
}

/** `passed (7 checks, 1 skipped)`; without the count for a test without subtests. */
export function verdict({ test, outcome, checks, leftOut }: Result): string {
  const whole = checks.length === 1 && checks[0]?.name === test;
  if (outcome === "out of scope" || outcome === "skipped" || (whole && leftOut === 0)) return outcome;
  const number = (kind: Outcome) => checks.filter((check) => check.outcome === kind).length;
  const failed =
    number("failed") > 0 ? `${number("failed")} of ${plural(checks.length, "check")}` : "outside its checks";
  const parts = [
    outcome === "failed" ? failed : plural(number("passed"), "check"),
    number("skipped") > 0 ? `${number("skipped")} skipped` : "",
    leftOut > 0 ? `${leftOut} out of scope` : "",
  ];
  return `${outcome} (${parts.filter((part) => part !== "").join(", ")})`;
}

const plural = (number: number, word: string) => `${number} ${word}${number === 1 ? "" : "s"}`;
