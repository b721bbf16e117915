/** Writes the results of the official clients' tests to docs/reference/. The same results give the same bytes. */
import { writeFileSync } from "node:fs";
import { clientModule } from "./client.ts";
import type { Exception } from "./exceptions.ts";
import { table } from "./markdown.ts";
import { providerModule } from "./provider-tests.ts";
import { type Combination, countChecks, nameOf, type Result, tally, verdict } from "./results.ts";
import { say } from "./script.ts";
import type { Suite } from "./suite.ts";
import { skipReason } from "./verbose.ts";

const files = { client: "conformance-go-client.md", provider: "conformance-provider.md" } as const;

export function writeResults(suite: keyof typeof files, text: string): void {
  const path = `docs/reference/${files[suite]}`;
  writeFileSync(new URL(`../${path}`, import.meta.url), text);
  say(`\nWritten to ${path}.`);
}

const howToRead = `Each column is one run against a fresh service. The tests have two modes and skip in one mode what they expect only in the other, so each mode
runs against the edition that it was written for: without \`ENABLE_TFE\` (HCP Terraform) against \`CADASTRE_EDITION=hosted\`, with \`ENABLE_TFE=1\`
(Terraform Enterprise) against \`self-hosted\`. \`ENABLE_BETA=1\` is set in both. A test counts once; its checks are its subtests.

What the results mean is in [compatibility.md](../compatibility.md).
`;

export function clientDocument(version: string, suite: Suite, combinations: readonly Combination[]): string {
  const text = `# Conformance: Go client

The tests of \`${clientModule}\` ${version}, unchanged, against this service. \`npm run conformance\` writes this file; don't edit it.

${howToRead}`;
  return documentOf(text, suite, combinations);
}

export function providerDocument(suite: Suite, combinations: readonly Combination[]): string {
  const scope = combinations[0]?.results.length ?? 0;
  const text = `# Conformance: Terraform provider

The acceptance tests of \`${providerModule.path}\` v${providerModule.version}, unchanged, over HTTPS. \`npm run conformance:provider\` writes this file;
don't edit it. ${scope} of the ${suite.tests.length} tests concern features of this service; the others concern policies, the registry, run tasks, stacks, SAML and so on.

The tests find what they expect: two users, an organization \`hashicorp\` with one of them, an organization \`xxx\` with an agent pool, and names of
repositories and tokens for GitHub, which the service never contacts. Self-hosted, \`CADASTRE_GLOBAL_REMOTE_STATE_DEFAULT\` is true.

${howToRead}`;
  return documentOf(text, suite, combinations);
}

function documentOf(text: string, { areas, exceptions }: Suite, combinations: readonly Combination[]): string {
  const sections = [
    text,
    "## By area\n",
    byArea(areas, combinations),
    "## Test by test\n",
    ...areas.map((area) => byTest(area.name, combinations)),
    "## Skipped by the tests themselves\n",
    "The tests decide this; the reason is their own.\n",
    skipped(combinations),
    "## Out of scope\n",
    outOfScope(exceptions),
  ];
  return `${sections.join("\n")}\n`;
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
  return `### ${areaName}\n\n${table(["Test", ...combinations.map(nameOf)], rows)}`;
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
