/** docs/compatibility.md, made from results alone: the same results give the same bytes. */
import { areas } from "./areas.ts";
import { clientModule } from "./client.ts";
import type { Exception } from "./exceptions.ts";
import { type Combination, countChecks, nameOf, type Result, tally, verdict } from "./results.ts";
import { skipReason } from "./verbose.ts";

export function compatibilityDocument(
  version: string,
  combinations: readonly Combination[],
  exceptions: readonly Exception[],
): string {
  const sections = [
    introduction(version),
    "## By area\n",
    byArea(combinations),
    "## Test by test\n",
    ...areas.map((area) => byTest(area.name, combinations)),
    "## Skipped by the client itself\n",
    "The client decides these before or while it runs them; the reason is its own.\n",
    skipped(combinations),
    "## Out of scope\n",
    outOfScope(exceptions),
  ];
  return `${sections.join("\n")}\n`;
}

function introduction(version: string): string {
  return `# Compatibility

For those who want to know how far the service can be trusted to behave like the API that it follows. \`npm run conformance\`
writes this file; don't edit it. It takes the official Go client (\`${clientModule}\` ${version}) with its own integration
tests, unchanged, and runs them against this service.

They run on both databases and in both of the client's modes. The client skips in one mode what it expects only in the other, so
each mode meets the edition that it was written for. Without \`ENABLE_TFE\` it expects what HCP Terraform has (assessments, an
organization's plan) and runs against \`CADASTRE_EDITION=hosted\`; with \`ENABLE_TFE=1\` it expects what Terraform Enterprise has
(data retention policies) and runs against \`self-hosted\`. The other way round, \`TestWorkspacesUpdate\` and
\`TestWorkspace_DataRetentionPolicy\` could not pass. \`ENABLE_BETA=1\` is set in both.

A test is counted once; its checks are its subtests.
`;
}

const row = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return `${[row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n")}\n`;
}

function byArea(combinations: readonly Combination[]): string {
  const cells = (keep: (result: Result) => boolean) =>
    combinations.map(({ results }) => tally(results.filter(keep)) || "–");
  const rows = areas.map(({ name }) => [name, ...cells(({ area }) => area.name === name)]);
  const checks = combinations.map(({ results }) =>
    (["passed", "failed", "skipped"] as const).map((kind) => `${countChecks(results, kind)} ${kind}`).join(", "),
  );
  return table(
    ["Area", ...combinations.map(nameOf)],
    [...rows, ["**All tests**", ...cells(() => true)], ["**All checks**", ...checks]],
  );
}

function byTest(areaName: string, combinations: readonly Combination[]): string {
  const tests = combinations[0]?.results.filter(({ area }) => area.name === areaName) ?? [];
  const rows = tests.map(({ test }) => {
    const verdicts = combinations.map(({ results }) => results.find((result) => result.test === test));
    return [`\`${test}\``, ...verdicts.map((result) => (result === undefined ? "–" : verdict(result)))];
  });
  return `### ${areaName}\n\n${table(["Test", ...combinations.map(nameOf)], rows)}`;
}

function skipped(combinations: readonly Combination[]): string {
  const where = new Map<string, { reason: string; name: string; editions: Set<string> }>();
  for (const { edition, results } of combinations) {
    for (const check of results.flatMap(({ checks }) => checks).filter(({ outcome }) => outcome === "skipped")) {
      const reason = skipReason(check);
      const entry = where.get(`${reason}\n${check.name}`) ?? { reason, name: check.name, editions: new Set() };
      where.set(`${reason}\n${check.name}`, entry);
      entry.editions.add(edition);
    }
  }
  const rows = [...where.values()].map(({ reason, name, editions }) => [
    `\`${name}\``,
    [...editions].sort().join(", "),
    reason,
  ]);
  return table(["Check", "Edition", "The client's reason"], rows);
}

function outOfScope(exceptions: readonly Exception[]): string {
  if (exceptions.length === 0) return "Nothing.";
  return table(
    ["Test", "Why"],
    exceptions.map(({ test, reason }) => [`\`${test}\``, reason]),
  ).trimEnd();
}
