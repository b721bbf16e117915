/** Generates docs/compatibility-cli.md from the results, deterministically. */
import { type Cli, productName } from "./cli-build.ts";
import type { Scenario } from "./cli-scenario.ts";
import type { Transport } from "./cli-site.ts";
import { table } from "./markdown.ts";
import { engineNames } from "./results.ts";
import type { Engine } from "./server.ts";

export interface Combination {
  readonly cli: Cli;
  readonly engine: Engine;
  readonly transport: Transport;
  /** Error by scenario, undefined if it passed. Scenarios that don't apply to this CLI are missing. */
  readonly failures: ReadonlyMap<Scenario, string | undefined>;
}

const placeOf = ({ engine, transport }: Pick<Combination, "engine" | "transport">) =>
  `${engineNames[engine]}, ${transport.toUpperCase()}`;
export const nameOf = ({ cli, ...place }: Pick<Combination, "cli" | "engine" | "transport">) =>
  `${productName(cli)}, ${placeOf(place)}`;

export interface Chapter {
  readonly title: string;
  readonly scenarios: readonly Scenario[];
}

export function cliDocument(chapters: readonly Chapter[], combinations: readonly Combination[]): string {
  const byCli = Map.groupBy(combinations, ({ cli }) => productName(cli));
  const parts = chapters.map(({ title, scenarios }) => `## ${title}\n\n${chapterTable(scenarios, byCli)}`);
  return `${introduction(byCli)}\n${parts.join("\n")}`;
}

type ByCli = ReadonlyMap<string, readonly Combination[]>;

function introduction(byCli: ByCli): string {
  const names = [...byCli.keys()];
  const places = [...byCli.values()][0]?.map(placeOf).join("; ");
  return `# Compatibility with the Terraform and OpenTofu CLI

For those who want to keep state here with the Terraform CLI or with OpenTofu; how to set it up is in [clients.md](clients.md).
\`npm run conformance:cli\` writes this file; don't edit it. It runs the real CLIs, ${listOf(names)}, against
this service, and after each step looks at the exit code, at what the CLI says, and at what the service's own API then shows.

- Each is built from its released source, without the code that keeps state elsewhere (\`s3\`, \`azurerm\` and their like).
- "passed" means: in each of these places. ${places}. A dash means that this CLI does not know what is done there. Logging in
  is by HTTP with a pasted token, and by HTTPS in a browser.
- The organization's \`default-execution-mode\` is \`local\`: the CLI runs on the machine where it is started, and the service keeps the state and the
  lock. Under "Runs on the service" the workspaces are in \`remote\` mode, and under "Runs by agents of a pool" in \`agent\` mode: what is planned and
  applied there is executed by the service's own workers, or by an agent of a pool, with the same version of the engine.
- Over HTTP, the CLI configuration file names the services in a \`host\` block, and the token is in a \`TF_TOKEN_…\` variable. Over HTTPS
  the CLI finds the services by itself; the service has a certificate of its own, which \`SSL_CERT_FILE\` makes the CLI trust, and the
  token is in a \`credentials\` block.
- Grace is in a team with \`maintain\` on the default project, Linus in one with \`write\`, and Ada in one with \`read\`. None of them is
  an owner or a site admin. Where no name is told, it is Grace.
- The configurations have nothing but \`terraform_data\` and \`terraform_remote_state\`, which are part of the CLI.
`;
}

/** `one, another and a third` */
const listOf = (names: readonly string[]) =>
  [names.slice(0, -1).join(", "), ...names.slice(-1)].filter((part) => part !== "").join(" and ");

function chapterTable(scenarios: readonly Scenario[], byCli: ByCli): string {
  const rows = scenarios.map((scenario) => [
    scenario.name,
    scenario.checks,
    ...[...byCli.values()].map((combinations) => cell(scenario, combinations)),
  ]);
  return table(["What is done", "What is checked", ...byCli.keys()], rows);
}

function cell(scenario: Scenario, combinations: readonly Combination[]): string {
  const tried = combinations.filter(({ failures }) => failures.has(scenario));
  const failed = tried.filter(({ failures }) => failures.get(scenario) !== undefined);
  if (tried.length === 0) return "–";
  return failed.length === 0 ? "passed" : `**failed**: ${failed.map(placeOf).join("; ")}`;
}
