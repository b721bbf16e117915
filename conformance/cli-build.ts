/**
 * Builds released versions of Terraform and OpenTofu from their modules. The only change: other remote backends (s3, azurerm, …) are removed,
 * because they are most of the build, and some of their modules are missing.
 */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { build, type Built, go } from "./go.ts";

export interface Cli {
  readonly binary: string;
  readonly product: "Terraform" | "OpenTofu";
  readonly version: string;
}

const sources = {
  Terraform: { path: "github.com/hashicorp/terraform", command: "." },
  OpenTofu: { path: "github.com/opentofu/opentofu", command: "./cmd/tofu" },
} as const;

/** By option name. The first is the last version under an open-source licence, which many still use. */
const releases = {
  "terraform-1.5.7": { product: "Terraform", version: "1.5.7" },
  "terraform-1.14.9": { product: "Terraform", version: "1.14.9" },
  "terraform-1.16.4": { product: "Terraform", version: "1.16.4" },
  "opentofu-1.12.6": { product: "OpenTofu", version: "1.12.6" },
} as const;

export type Release = keyof typeof releases;
export const clis = Object.keys(releases) as Release[];

export const productName = ({ product, version }: Pick<Cli, "product" | "version">) => `${product} ${version}`;

/** Built once. Throws on failure. */
export async function builtCli(release: Release): Promise<Cli> {
  const { product, version } = releases[release];
  const { path, command } = sources[product];
  const { binary } = await build({ path, version }, async (built) => {
    await removeOtherBackends(built);
    await go(["build", "-o", built.binary, command], built.source);
  });
  return { binary, product, version };
}

export const versionOf = (release: Release): string => releases[release].version;

export const releaseOf = ({ product, version }: Pick<Cli, "product" | "version">): Release =>
  clis.find((name) => releases[name].product === product && releases[name].version === version) ?? "terraform-1.14.9";

/** An existing CLI. */
export async function namedCli(name: string): Promise<Cli> {
  // Absolute, because it is started in other directories.
  const binary = name.includes("/") ? resolve(name) : name;
  const { stdout } = await promisify(execFile)(binary, ["version"], { env: { CHECKPOINT_DISABLE: "1" } });
  const [, product, version] = /^(Terraform|OpenTofu) v(\S+)/.exec(stdout) ?? [];
  if (product === undefined || version === undefined) throw new Error(`${name} is neither Terraform nor OpenTofu.`);
  return { binary, product: product as Cli["product"], version };
}

async function removeOtherBackends({ source }: Built): Promise<void> {
  const file = join(source, "internal/backend/init/init.go");
  const lines = readFileSync(file, "utf8").split("\n");
  const imported = lines.flatMap((line) => /^\t(\w+) ".*\/backend\/remote-state\/\w+"$/.exec(line)?.[1] ?? []);
  const names = new RegExp(`^\t(${imported.join("|")}) "|return (${imported.join("|")})\\.New`);
  writeFileSync(file, lines.filter((line) => !names.test(line)).join("\n"));
  const { Replace } = JSON.parse(await go(["mod", "edit", "-json"], source)) as { Replace: Replacement[] | null };
  const missing = (Replace ?? []).filter(({ New }) => New.Path.startsWith("./")).map(({ Old }) => Old.Path);
  const words = missing.flatMap((path) => [`-droprequire=${path}`, `-dropreplace=${path}`]);
  if (words.length > 0) await go(["mod", "edit", ...words], source);
}

interface Replacement {
  readonly Old: { readonly Path: string };
  readonly New: { readonly Path: string };
}
