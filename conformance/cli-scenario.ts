/** The scenario type, and the configurations that scenarios use. */
import type { Cli } from "./cli-build.ts";
import { organization, type Site, type Transport } from "./cli-site.ts";
import { until as become } from "../test/support/waiting.ts";

export interface Scenario {
  /** The commands; a row of the table. */
  readonly name: string;
  /** What is checked, for docs/reference/conformance-cli.md. */
  readonly checks: string;
  /** Not in a quick run. */
  readonly slow?: boolean;
  /** Minimum version per CLI; a CLI that isn't listed doesn't support it. */
  readonly since?: Partial<Record<Cli["product"], string>>;
  /** The only transport that supports it; a quick run uses it too. */
  readonly transport?: Transport;
  /** Throws on failure. Every scenario has its own workspaces. */
  run(site: Site): Promise<void>;
}

export function isFor({ since, transport }: Scenario, { product, version }: Cli, place: Transport): boolean {
  if (transport !== undefined && transport !== place) return false;
  if (since === undefined) return true;
  const first = since[product];
  return first !== undefined && version.localeCompare(first, "en", { numeric: true }) >= 0;
}

type Tags = readonly string[] | Readonly<Record<string, string>>;
type WorkspaceSelector = { readonly name: string } | { readonly tags: Tags } | { readonly prefix: string };

/** `cloud` takes a name or tags, with values or without; `remote` a name or a prefix. */
export function backendBlock(
  site: Pick<Site, "hostname">,
  block: "cloud" | 'backend "remote"',
  where: WorkspaceSelector,
): string {
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

export const inCloud = (site: Pick<Site, "hostname">, where: WorkspaceSelector) => backendBlock(site, "cloud", where);
export const inRemote = (site: Pick<Site, "hostname">, where: WorkspaceSelector) =>
  backendBlock(site, 'backend "remote"', where);

/** One resource, and an output with its value. */
export const greeting = (text: string) => `resource "terraform_data" "greeting" {
  input = ${JSON.stringify(text)}
}

output "greeting" {
  value = terraform_data.greeting.output
}
`;

/** A resource that takes this long to create. */
export const slowly = (seconds: number) => `resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "exec sleep ${seconds}"
  }
}
`;

/** Throws after the timeout. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  await become(holds, what, seconds);
}

export const applied = ["apply", "-auto-approve", "-input=false"] as const;
