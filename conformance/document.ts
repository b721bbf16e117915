/** Generates docs/compatibility.md from the results, deterministically. Each script writes one part. */
import { readFileSync, writeFileSync } from "node:fs";
import { clientModule } from "./client.ts";
import type { Exception } from "./exceptions.ts";
import { table } from "./markdown.ts";
import { providerModule } from "./provider-tests.ts";
import { type Combination, countChecks, nameOf, type Result, tally, verdict } from "./results.ts";
import { say } from "./script.ts";
import type { Suite } from "./suite.ts";
import { skipReason } from "./verbose.ts";

const file = new URL("../docs/compatibility.md", import.meta.url);
const parts = ["client", "provider"] as const;
type Part = (typeof parts)[number];

const begins = (part: Part) => `<!-- ${part} -->\n`;
const ends = (part: Part) => `<!-- end of ${part} -->\n`;

/** Keeps the other part. */
export function writePart(part: Part, text: string): void {
  const old = readFileSync(file, "utf8");
  const texts = parts.map((name) => {
    const [, rest = ""] = old.split(begins(name));
    return `${begins(name)}\n${name === part ? text : (rest.split(ends(name))[0] ?? "").trim()}\n\n${ends(name)}`;
  });
  writeFileSync(file, [introduction, ...texts].join("\n"));
  say("\nWritten to docs/compatibility.md.");
}

const introduction = `# Compatibility

For those who want to know how far the service can be trusted to behave like the API that it follows: the official Go client and the
official Terraform provider, each with its own tests, unchanged, against this service. \`npm run conformance\` and
\`npm run conformance:provider\` write this file; don't edit it. What the CLI does is in [compatibility-cli.md](compatibility-cli.md).

Each column is one run, against a fresh service; what has no column was not run. The tests have two modes, and skip in one what they
expect only in the other, so each mode meets the edition that it was written for. Without \`ENABLE_TFE\` they expect what HCP Terraform
has (assessments, an organization's plan) and run against \`CADASTRE_EDITION=hosted\`; with \`ENABLE_TFE=1\` they expect what Terraform
Enterprise has (data retention policies) and run against \`self-hosted\`. \`ENABLE_BETA=1\` is set in both.

A test is counted once; its checks are its subtests.
`;

export function clientPart(version: string, suite: Suite, combinations: readonly Combination[]): string {
  const text = `## The Go client

\`${clientModule}\` ${version}. With the modes the other way round, \`TestWorkspacesUpdate\` and \`TestWorkspace_DataRetentionPolicy\`
could not pass.
`;
  return partOf(text, suite, combinations);
}

export function providerPart(suite: Suite, combinations: readonly Combination[]): string {
  const scope = combinations[0]?.results.length ?? 0;
  const text = `## The Terraform provider

\`${providerModule.path}\` v${providerModule.version}, over HTTPS. ${scope} of its ${suite.tests.length} tests are about what the service
has; the others are about policies, the registry, run tasks, stacks, single sign-on by SAML and their like.

The tests get what they expect to find: two users, an organization \`hashicorp\` with one of them, an organization \`xxx\` with an agent pool, names
of repositories and tokens for GitHub, which the service never asks. Self-hosted, \`CADASTRE_GLOBAL_REMOTE_STATE_DEFAULT\` is true.
`;
  return partOf(text, suite, combinations);
}

function partOf(text: string, { areas, exceptions }: Suite, combinations: readonly Combination[]): string {
  const sections = [
    text,
    "### By area\n",
    byArea(areas, combinations),
    "### Test by test\n",
    ...areas.map((area) => byTest(area.name, combinations)),
    "### Skipped by the tests themselves\n",
    "They decide this before or while they run; the reason is their own.\n",
    skipped(combinations),
    "### Out of scope\n",
    outOfScope(exceptions),
  ];
  return sections.join("\n");
}

function byArea(areas: Suite["areas"], combinations: readonly Combination[]): string {
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
  return `#### ${areaName}\n\n${table(["Test", ...combinations.map(nameOf)], rows)}`;
}

function skipped(combinations: readonly Combination[]): string {
  const where = new Map<string, { reason: string; name: string; places: Set<string> }>();
  for (const { edition, terraform, results } of combinations) {
    for (const check of results.flatMap(({ checks }) => checks).filter(({ outcome }) => outcome === "skipped")) {
      const reason = skipReason(check);
      const entry = where.get(`${reason}\n${check.name}`) ?? { reason, name: check.name, places: new Set() };
      where.set(`${reason}\n${check.name}`, entry);
      entry.places.add(placeOf({ edition, terraform }));
    }
  }
  const rows = [...where.values()].map(({ reason, name, places }) => [
    `\`${name}\``,
    [...places].sort().join("; "),
    reason,
  ]);
  return table(["Check", "Where", "The reason"], rows);
}

/** `self-hosted, Terraform 1.5.7` */
const placeOf = ({ edition, terraform }: { edition?: string | undefined; terraform?: string | undefined }) =>
  [...(edition === undefined ? [] : [edition]), ...(terraform === undefined ? [] : [`Terraform ${terraform}`])].join(
    ", ",
  );

function outOfScope(exceptions: readonly Exception[]): string {
  if (exceptions.length === 0) return "Nothing.";
  return table(
    ["Test", "Where", "Why"],
    exceptions.map((exception) => [`\`${exception.test}\``, placeOf(exception) || "everywhere", exception.reason]),
  ).trimEnd();
}
