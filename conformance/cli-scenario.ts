/** What a scenario is, and the configurations that scenarios write. */
import type { Cli } from "./cli-build.ts";
import { organization, type Site, type Transport } from "./cli-site.ts";
import { until as become } from "../test/support/waiting.ts";

export interface Scenario {
  /** What is done, in the words of the CLI; a row of the table. */
  readonly name: string;
  /** What is checked, for docs/reference/conformance-cli.md. */
  readonly checks: string;
  /** Left out of the quick run. */
  readonly slow?: boolean;
  /** The version from which on each CLI can do this; one that is not named can't. Without it, all can. */
  readonly since?: Partial<Record<Cli["product"], string>>;
  /** Where it can be done, where that is not everywhere; a quick run does this, too. */
  readonly transport?: Transport;
  /** Fails by throwing. Every scenario has workspaces of its own, so that they don't depend on one another. */
  run(site: Site): Promise<void>;
}

export function isFor({ since, transport }: Scenario, { product, version }: Cli, place: Transport): boolean {
  if (transport !== undefined && transport !== place) return false;
  if (since === undefined) return true;
  const first = since[product];
  return first !== undefined && version.localeCompare(first, "en", { numeric: true }) >= 0;
}

type Tags = readonly string[] | Readonly<Record<string, string>>;
type Where = { readonly name: string } | { readonly tags: Tags } | { readonly prefix: string };

/** `cloud` takes a name or tags, with values or without; `remote` a name or a prefix. */
export function stored(site: Pick<Site, "hostname">, block: "cloud" | 'backend "remote"', where: Where): string {
  const [[argument, value] = []] = Object.entries(where);
  return `terraform {
  ${block} {
    hostname     = "${site.hostname}"
    organization = "${organization}"
    workspaces {
      ${argument} = ${JSON.stringify(value)}
    }
  }
}
`;
}

export const inCloud = (site: Pick<Site, "hostname">, where: Where) => stored(site, "cloud", where);
export const inRemote = (site: Pick<Site, "hostname">, where: Where) => stored(site, 'backend "remote"', where);

/** One resource, and an output with its value. */
export const greeting = (text: string) => `resource "terraform_data" "greeting" {
  input = ${JSON.stringify(text)}
}

output "greeting" {
  value = terraform_data.greeting.output
}
`;

/** A resource that takes so long to be made. */
export const slowly = (seconds: number) => `resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "exec sleep ${seconds}"
  }
}
`;

/** Raises an Error when it does not come true in time. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  await become(holds, what, seconds);
}

export const applied = ["apply", "-auto-approve", "-input=false"] as const;
