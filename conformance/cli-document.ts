/** Builds docs/reference/conformance-cli.md. The same results give the same bytes. */
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
  return `# Conformance: Terraform and OpenTofu CLI

\`npm run conformance:cli\` writes this file; don't edit it. It runs ${listOf(names)} against this service and, after each step, checks the
exit code, the CLI's output, and what the service's API shows. How to set up a CLI is in [clients.md](../clients.md).

- Each CLI is built from its released source, without the code for other state backends (\`s3\`, \`azurerm\` and so on).
- "passed" means with each of: ${places}. A dash means that this CLI doesn't have the feature. Login uses a pasted token over HTTP, and a browser
  over HTTPS.
- The organization's \`default-execution-mode\` is \`local\`: the CLI runs on the machine where it is started, and the service stores the state and the
  lock. Under "Runs on the service" workspaces are in \`remote\` mode, and under "Runs by agents" in \`agent\` mode.
- Over HTTP, a \`host\` block in the CLI configuration file names the services, and the token is in a \`TF_TOKEN_…\` variable. Over HTTPS the CLI
  discovers the services, \`SSL_CERT_FILE\` makes it trust the service's certificate, and the token is in a \`credentials\` block.
- Grace is in a team with \`maintain\` on the default project, Linus in one with \`write\`, and Ada in one with \`read\`. None of them is an owner or a
  site admin. Steps without a name are Grace's.
- The configurations use only \`terraform_data\` and \`terraform_remote_state\`, which are part of the CLI.
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
  return table(["Scenario", "Checks", ...byCli.keys()], rows);
}

function cell(scenario: Scenario, combinations: readonly Combination[]): string {
  const tried = combinations.filter(({ failures }) => failures.has(scenario));
  const failed = tried.filter(({ failures }) => failures.get(scenario) !== undefined);
  if (tried.length === 0) return "–";
  return failed.length === 0 ? "passed" : `**failed**: ${failed.map(placeOf).join("; ")}`;
}
