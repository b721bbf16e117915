/**
 * Runs real CLIs, Terraform and OpenTofu, against this server, and reports what works.
 *
 *   npm run conformance:cli                      every CLI, both databases, HTTP and HTTPS; writes docs/reference/conformance-cli.md
 *   npm run conformance:cli -- --quick           SQLite only, Terraform only, without the slow scenarios, HTTPS only where required; writes nothing
 *   npm run conformance:cli -- --only '`init`'   only the scenarios whose names, or whose chapters' titles, match; writes nothing
 *
 * `--cli`, `--engine` and `--transport` select one of each; the document is then only written with `--write`. Go builds the CLIs once;
 * `--terraform PATH`, or CADASTRE_TERRAFORM, uses an existing one instead. HTTPS needs openssl. The exit code is 1 if a
 * scenario fails, or if there is no Go.
 */
import { writeFileSync } from "node:fs";
import { basics } from "./cli-basics.ts";
import { builtCli, type Cli, clis, namedCli } from "./cli-build.ts";
import { type Chapter, cliDocument, type Combination, nameOf } from "./cli-document.ts";
import { encryption } from "./cli-encryption.ts";
import { locks } from "./cli-locks.ts";
import { logins } from "./cli-login.ts";
import { moves } from "./cli-moves.ts";
import { isFor, type Scenario } from "./cli-scenario.ts";
import { openSite, type Transport, transports } from "./cli-site.ts";
import { runCases } from "./cli-run-cases.ts";
import { agentRuns, remoteRuns } from "./cli-runs.ts";
import { state } from "./cli-state.ts";
import { workspaces } from "./cli-workspaces.ts";
import { inTurn, readOptions } from "./options.ts";
import { say, script } from "./script.ts";
import { type Engine, engines } from "./server.ts";

const chapters: readonly Chapter[] = [
  { title: "From `init` to `destroy`", scenarios: basics },
  { title: "Logging in", scenarios: logins },
  { title: "Workspaces and the `remote` backend", scenarios: workspaces },
  { title: "State", scenarios: state },
  { title: "Encrypted state", scenarios: encryption },
  { title: "Locks and permissions", scenarios: locks },
  { title: "Moving state", scenarios: moves },
  { title: "Runs on the service", scenarios: [...remoteRuns, ...runCases] },
  { title: "Runs by agents", scenarios: agentRuns },
];

/** Scenarios mostly wait, so several run in parallel. */
const scenariosAtOnce = 2;

interface Choice {
  readonly only: RegExp | undefined;
  readonly quick: boolean;
  /** The CLI that runs all scenarios of a quick run; others only run the first ones and their new features. */
  readonly first: boolean;
}

function chosen(cli: Cli, place: Transport, { only, quick, first }: Choice): Scenario[] {
  const isQuick = ({ slow, since, transport }: Scenario, chapter: Chapter) =>
    !slow &&
    (first || since !== undefined || chapter.scenarios === basics || chapter.scenarios === logins) &&
    (place === "http" || transport === place);
  return chapters.flatMap((chapter) =>
    chapter.scenarios
      .filter(
        (scenario) =>
          isFor(scenario, cli, place) &&
          (only === undefined || [scenario.name, chapter.title].some((text) => only.test(text))),
      )
      .filter((scenario) => !quick || isQuick(scenario, chapter)),
  );
}

async function runCombination(
  cli: Cli,
  { engine, transport }: { engine: Engine; transport: Transport },
  scenarios: readonly Scenario[],
): Promise<Combination> {
  say(`\n== ${nameOf({ cli, engine, transport })}\n`);
  const site = await openSite(cli, engine, transport);
  const failures = new Map<Scenario, string | undefined>();
  try {
    await inTurn(scenariosAtOnce, scenarios, async (scenario) => {
      const failure = await scenario.run(site).then(() => undefined, reasonOf);
      failures.set(scenario, failure);
      say(`${failure === undefined ? "✓" : "✗"} ${scenario.name}${failure === undefined ? "" : `\n    ${failure}`}`);
    });
    const errors = site.errors();
    if (errors.length > 0) say(`\nThe server logged ${errors.length} errors; the first: ${errors[0]}`);
  } finally {
    await site.stop();
  }
  return { cli, engine, transport, failures };
}

function reasonOf(error: unknown): string {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const [where = ""] = /conformance\/cli-\S+:\d+/.exec(stack ?? "") ?? [];
  return `${message} (${where})`.replaceAll("\n", "\n    ");
}

function printResults(combinations: readonly Combination[]): void {
  say("");
  for (const combination of combinations) {
    const all = [...combination.failures];
    const failed = all.filter(([, failure]) => failure !== undefined);
    say(`${nameOf(combination)}: ${all.length - failed.length} passed, ${failed.length} failed`);
    for (const [scenario] of failed) say(`    ✗ ${scenario.name}`);
  }
}

async function main(): Promise<number> {
  const asked = readOptions(
    {
      cli: { all: clis, quick: ["terraform-1.5.7", "terraform-1.14.9"] },
      engine: { all: engines, quick: ["sqlite"] },
      transport: { all: transports, quick: transports },
    },
    ["terraform"],
  );
  const named = asked.value("terraform") ?? process.env["CADASTRE_TERRAFORM"];
  const combinations: Combination[] = [];
  for (const { cli: release, ...place } of asked.combinations) {
    const first = release === asked.combinations[0]?.cli;
    // The given CLI replaces the first one.
    if (named !== undefined && !first) continue;
    const cli = named === undefined ? await builtCli(release) : await namedCli(named);
    const scenarios = chosen(cli, place.transport, { ...asked, first });
    if (scenarios.length > 0) combinations.push(await runCombination(cli, place, scenarios));
  }
  if (combinations.length === 0) throw new Error("--only matches no scenario.");
  printResults(combinations);
  if (asked.writesDocument && named === undefined) {
    const file = new URL("../docs/reference/conformance-cli.md", import.meta.url);
    writeFileSync(file, cliDocument(chapters, combinations));
    say("\nWritten to docs/reference/conformance-cli.md.");
  }
  return combinations.some(({ failures }) => [...failures.values()].some((failure) => failure !== undefined)) ? 1 : 0;
}

await script(main);
