/** What a scenario is, and the configurations that scenarios write. */
import { setTimeout as sleep } from "node:timers/promises";
import { organization, type Site } from "./cli-site.ts";

export interface Scenario {
  /** What is done, in the words of the CLI; a row of the table. */
  readonly name: string;
  /** What is checked, for those who read docs/compatibility-cli.md. */
  readonly checks: string;
  /** Left out of the quick run. */
  readonly slow?: boolean;
  /** Fails by throwing. Every scenario has workspaces of its own, so that they don't depend on one another. */
  run(site: Site): Promise<void>;
}

type Where = { readonly name: string } | { readonly tags: readonly string[] } | { readonly prefix: string };

/** `cloud` takes a name or tags, `remote` a name or a prefix. */
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

/** Raises an Error when it does not come true within ten seconds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let left = 100; left > 0; left -= 1) {
    if (await holds()) return;
    await sleep(100);
  }
  throw new Error(`Waited in vain: ${what}`);
}

export const applied = ["apply", "-auto-approve", "-input=false"] as const;
