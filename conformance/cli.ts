/**
 * Runs the real Terraform CLI against this service, and tells what works.
 *
 *   npm run conformance:cli                      both databases, HTTP and HTTPS; writes docs/compatibility-cli.md
 *   npm run conformance:cli -- --quick           SQLite and HTTP only, without the slow scenarios; writes nothing
 *   npm run conformance:cli -- --only '`init`'   only the scenarios whose names match; writes nothing
 *
 * `--engine` and `--transport` choose one of each. `--terraform PATH`, or CADASTRE_TERRAFORM, names the CLI; without it Go builds
 * it, once. `--if-go` ends without a failure where there is neither. HTTPS needs openssl, which makes the certificate. The exit code
 * is 1 if a scenario fails.
 */
import { writeFileSync } from "node:fs";
import { basics } from "./cli-basics.ts";
import { type Chapter, cliDocument, type Combination, nameOf } from "./cli-document.ts";
import { locks } from "./cli-locks.ts";
import { moves } from "./cli-moves.ts";
import type { Scenario } from "./cli-scenario.ts";
import { openSite, type Transport, transports } from "./cli-site.ts";
import { state } from "./cli-state.ts";
import { findTerraform, type Terraform } from "./cli-terraform.ts";
import { workspaces } from "./cli-workspaces.ts";
import { inTurn, readOptions } from "./options.ts";
import type { Engine } from "./server.ts";

const chapters: readonly Chapter[] = [
  { title: "From `init` to `destroy`", scenarios: basics },
  { title: "Workspaces, and the `remote` backend", scenarios: workspaces },
  { title: "State", scenarios: state },
  { title: "Locks, and who may do what", scenarios: locks },
  { title: "Moving state", scenarios: moves },
];

/** They wait for the service and for one another more than they compute. */
const scenariosAtOnce = 2;

const say = (line: string) => process.stdout.write(`${line}\n`);

/** Raises an Error where nothing is left. */
function chosen({ only, quick }: { only: RegExp | undefined; quick: boolean }): Scenario[] {
  const scenarios = chapters
    .flatMap((chapter) => chapter.scenarios)
    .filter(({ name, slow }) => (only?.test(name) ?? true) && !(slow && quick));
  if (scenarios.length === 0) throw new Error("--only matches no scenario.");
  return scenarios;
}

async function runCombination(
  terraform: Terraform,
  { engine, transport }: { engine: Engine; transport: Transport },
  scenarios: readonly Scenario[],
): Promise<Combination> {
  say(`\n== ${nameOf({ engine, transport })}\n`);
  const site = await openSite(terraform, engine, transport);
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
  return { engine, transport, failures };
}

function reasonOf(error: unknown): string {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const [where = ""] = /conformance\/cli-\S+:\d+/.exec(stack ?? "") ?? [];
  return `${message} (${where})`.replaceAll("\n", "\n    ");
}

function tell(scenarios: readonly Scenario[], combinations: readonly Combination[]): void {
  const names = combinations.map(nameOf);
  const width = Math.max(...scenarios.map(({ name }) => name.length));
  say(`\n${"".padEnd(width)}  ${names.join("  ")}`);
  for (const scenario of scenarios) {
    const cells = combinations.map(({ failures }, index) =>
      (failures.get(scenario) === undefined ? "passed" : "FAILED").padEnd(names[index]?.length ?? 0),
    );
    say(`${scenario.name.padEnd(width)}  ${cells.join("  ")}`.trimEnd());
  }
  const all = combinations.flatMap(({ failures }) => [...failures.values()]);
  const failed = all.filter((failure) => failure !== undefined).length;
  say(`\n${all.length - failed} passed, ${failed} failed.`);
}

async function main(): Promise<number> {
  const asked = readOptions("transport", transports, "http", ["terraform"]);
  const scenarios = chosen(asked);
  const terraform = await findTerraform(asked.value("terraform") ?? process.env["CADASTRE_TERRAFORM"], say);
  if (terraform === undefined) {
    say("There is neither Go nor a Terraform CLI (--terraform PATH) on this machine: the scenarios were not run.");
    return asked.ifGo ? 0 : 1;
  }
  say(`Terraform ${terraform.version}`);
  const combinations: Combination[] = [];
  for (const [engine, transport] of asked.combinations)
    combinations.push(await runCombination(terraform, { engine, transport }, scenarios));
  tell(scenarios, combinations);
  if (asked.whole) {
    const file = new URL("../docs/compatibility-cli.md", import.meta.url);
    writeFileSync(file, cliDocument(terraform.version, chapters, combinations));
    say("\nWritten to docs/compatibility-cli.md.");
  }
  return combinations.some(({ failures }) => [...failures.values()].some((failure) => failure !== undefined)) ? 1 : 0;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.exitCode = await main().catch((error: unknown) => {
  say(error instanceof Error ? error.message : String(error));
  return 1;
});
