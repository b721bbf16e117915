/** docs/compatibility-cli.md, made from results alone: the same results give the same bytes. */
import type { Scenario } from "./cli-scenario.ts";
import type { Transport } from "./cli-site.ts";
import { engineNames } from "./results.ts";
import type { Engine } from "./server.ts";

export interface Combination {
  readonly engine: Engine;
  readonly transport: Transport;
  /** By scenario: undefined where it passed, and else what went wrong. */
  readonly failures: ReadonlyMap<Scenario, string | undefined>;
}

export const nameOf = ({ engine, transport }: Pick<Combination, "engine" | "transport">) =>
  `${engineNames[engine]}, ${transport.toUpperCase()}`;

export interface Chapter {
  readonly title: string;
  readonly scenarios: readonly Scenario[];
}

export function cliDocument(
  version: string,
  chapters: readonly Chapter[],
  combinations: readonly Combination[],
): string {
  const parts = chapters.map(({ title, scenarios }) => `## ${title}\n\n${table(scenarios, combinations)}`);
  return `${introduction(version)}\n${parts.join("\n")}`;
}

function introduction(version: string): string {
  return `# Compatibility with the Terraform CLI

For those who want to keep state here with the Terraform CLI; how to set it up is in [clients.md](clients.md).
\`npm run conformance:cli\` writes this file; don't edit it. It runs the real Terraform CLI (${version}), unchanged, against this
service, and after each step looks at its exit code, at what it says, and at what the service's own API then shows.

- The CLI runs on the machine where it is started, and the service keeps the state and the lock. The service has no runs and says so
  (\`operations\` is false in the organization's entitlement set), so the CLI works there whatever the execution mode is. The script sets
  the organization's \`default-execution-mode\` to \`local\` before anything else, so that documents say what happens.
- Over HTTP, the CLI configuration file names the services in a \`host\` block, and the token is in a \`TF_TOKEN_…\` variable. Over HTTPS
  the CLI finds the services by itself; the service has a certificate of its own, which \`SSL_CERT_FILE\` makes the CLI trust, and the
  token is in a \`credentials\` block.
- Grace is in a team with \`maintain\` on the default project, Linus in one with \`write\`, and Ada in one with \`read\`. None of them is
  an owner or a site admin. Where no name is told, it is Grace.
- The configurations have nothing but \`terraform_data\` and \`terraform_remote_state\`, which are part of the CLI.
`;
}

const row = (cells: readonly string[]) =>
  `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`;

function table(scenarios: readonly Scenario[], combinations: readonly Combination[]): string {
  const head = ["What is done", "What is checked", ...combinations.map(nameOf)];
  const rows = scenarios.map((scenario) => [
    scenario.name,
    scenario.checks,
    ...combinations.map(({ failures }) => (failures.get(scenario) === undefined ? "passed" : "**failed**")),
  ]);
  return `${[row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n")}\n`;
}
