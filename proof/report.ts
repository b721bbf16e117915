/** Formats the results of proofs for the tables in docs/reference/reliability-results.md. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Scenario } from "./scenarios.ts";
import type { ProofResult } from "./attempt.ts";
import { type Sample, quartersOf } from "./samples.ts";
import type { SoakResult } from "./soak-run.ts";
import type { Figures } from "./checker.ts";

interface ScenarioResult {
  readonly scenario: Scenario;
  readonly figures: Figures;
  readonly faults: readonly string[];
  readonly found: number;
  readonly summary: string;
}

export type Line = { readonly scenario: Scenario; readonly obstacle: string } | ScenarioResult;

const inSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

export function lineOf(scenario: Scenario, figures: Figures, faults: readonly string[], found: number): ScenarioResult {
  const { asked, refused, unknown, unavailableMs, slowestMs } = figures;
  const summary = `${asked} requests, ${refused} refused, ${unknown} with unknown outcome; no write for ${inSeconds(unavailableMs)} at most; slowest response ${inSeconds(slowestMs)}; ${found} acknowledged writes checked; ${faults.length} violations`;
  return { scenario, figures, faults, found, summary };
}

const document = fileURLToPath(new URL("../docs/reference/reliability-results.md", import.meta.url));

const head = [
  "| Scenario | Requests | Refused (503) | Outcome unknown | Longest time without a write | Slowest response | Acknowledged writes checked | Violations |",
  "| --- | --- | --- | --- | --- | --- | --- | --- |",
];

function rowOf(line: Line): string {
  const { title, name } = line.scenario;
  const cells =
    "obstacle" in line
      ? [`not run: ${line.obstacle}`, "", "", "", "", "", ""]
      : [
          line.figures.asked,
          line.figures.refused,
          line.figures.unknown,
          inSeconds(line.figures.unavailableMs),
          inSeconds(line.figures.slowestMs),
          line.found,
          line.faults.length,
        ];
  return `| **${name}**: ${title} | ${cells.join(" | ")} |`;
}

/** Replaces the text between the markers of this name. */
export function writeBetween(mark: string, lines: readonly string[]): void {
  const text = readFileSync(document, "utf8");
  const [begin, end] = [`<!-- ${mark}: begin -->`, `<!-- ${mark}: end -->`];
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`docs/reference/reliability-results.md has no markers for ${mark}`);
  writeFileSync(document, `${before}${begin}\n\n${lines.join("\n")}\n\n${end}${after}`);
}

export function writeTable(lines: readonly Line[]): void {
  const day = new Date().toISOString().slice(0, 10);
  writeBetween("cluster", [`Last complete run: ${day}.`, "", ...head, ...lines.map(rowOf)]);
}

const nameOf = { sqlite: "SQLite", postgres: "PostgreSQL" } as const;

export function soakLines(result: SoakResult, isKilled: boolean): string[] {
  const { engine, minutes, asked, missed, kills, found, faults } = result;
  const day = new Date().toISOString().slice(0, 10);
  const killed = isKilled ? `; killed ${kills} times` : "";
  const summary = `${nameOf[engine]}, ${minutes} minutes on ${day}${killed}: ${asked} requests, ${missed} refused or unanswered, ${found} acknowledged writes checked, **${faults.length} violations**.`;
  // Memory and latency of a process that was just started are not meaningful.
  return isKilled ? [summary] : [summary, "", ...sampleLines(result)];
}

const sampleHead = [
  "| Minutes | Requests | Memory | Median latency | 99th percentile | Bare server's median |",
  "| --- | --- | --- | --- | --- | --- |",
];

function sampleLines({ samples, minutes }: SoakResult): string[] {
  const length = minutes / samples.length;
  const until = (index: number) => Number(((index + 1) * length).toFixed(1));
  const row = ({ requests, memoryMb, medianMs, highMs, bareMs }: Sample, when: string) =>
    `| ${when} | ${requests} | ${memoryMb.toFixed(0)} MB | ${medianMs.toFixed(1)} ms | ${highMs.toFixed(0)} ms | ${bareMs.toFixed(1)} ms |`;
  const [memory, latency, bare] = [
    quartersOf(samples, "memoryMb"),
    quartersOf(samples, "medianMs"),
    quartersOf(samples, "bareMs"),
  ];
  const arrow = ([early, late]: readonly [number, number], digits: number) =>
    `${early.toFixed(digits)} → ${late.toFixed(digits)}`;
  return [
    ...sampleHead,
    ...samples.map((sample, index) => row(sample, `up to ${until(index)}`)),
    `| second quarter → last | | ${arrow(memory, 0)} MB | ${arrow(latency, 1)} ms | | ${arrow(bare, 1)} ms |`,
  ];
}

const faultHead = [
  "| Scenario | Database | Result | Acknowledged writes checked | Violations |",
  "| --- | --- | --- | --- | --- |",
];

export interface FaultLine {
  readonly title: string;
  readonly engine: SoakResult["engine"];
  /** The result, or why it was not run. */
  readonly proven: ProofResult | string;
}

export function faultLines(lines: readonly FaultLine[]): string[] {
  const day = new Date().toISOString().slice(0, 10);
  const row = ({ title, engine, proven }: FaultLine) =>
    typeof proven === "string"
      ? `| ${title} | ${nameOf[engine]} | not run: ${proven} | | |`
      : `| ${title} | ${nameOf[engine]} | ${proven.summary} | ${proven.found} | ${proven.faults.length} |`;
  return [`Last complete run: ${day}.`, "", ...faultHead, ...lines.map(row)];
}
