/**
 * Builds the engines for the server's workers, and a mirror with the providers that the fixtures of the official client and provider use. Built
 * once with Go; runs download nothing.
 */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Api } from "./api.ts";
import { builtCli, type Cli, type Release, versionOf } from "./cli-build.ts";
import { build, cache, go } from "./go.ts";

/** Their releases are not in the module proxy: these are main branches, versioned as a release that the fixtures accept. */
const providers = [
  { name: "null", version: "1.0.1-0.20260824155049-3827b35ad520", release: "3.2.4" },
  { name: "random", version: "1.3.2-0.20260824155315-e1092b0cfc07", release: "3.1.0" },
] as const;
const registries = ["registry.terraform.io", "registry.opentofu.org"];

/** The server's settings for its workers. */
export async function executing(releases: readonly Release[], workers = 2): Promise<Record<string, string>> {
  const folder = join(cache, "engines");
  for (const release of releases) placeEngine(folder, await builtCli(release));
  return {
    CADASTRE_WORKERS: String(workers),
    CADASTRE_ENGINES: folder,
    CADASTRE_ENGINE_MIRROR: "off",
    CADASTRE_PROVIDER_MIRROR: await builtMirror(),
  };
}

/** `terraform/1.5.7/terraform`, `tofu/1.12.6/tofu` */
export function placeEngine(folder: string, { binary, product, version }: Cli): void {
  const name = product === "Terraform" ? "terraform" : "tofu";
  place(binary, join(folder, name, version, name));
}

/** Disables newer versions, like an admin whose site doesn't have them. */
export async function preferEngine(api: Api, release: Release): Promise<void> {
  const version = versionOf(release);
  const isNewer = (other: string) => other.localeCompare(version, "en", { numeric: true }) > 0;
  for (let page = 1; ; page += 1) {
    const { body } = await api(`/admin/terraform-versions?page[size]=100&page[number]=${page}`);
    for (const { id, attributes } of body.data) {
      if (!attributes.enabled || !isNewer(attributes.version)) continue;
      const data = { type: "terraform-versions", id, attributes: { enabled: false } };
      assert.equal((await api(`/admin/terraform-versions/${id}`, { data }, "PATCH")).status, 200);
    }
    if (body.meta.pagination["next-page"] === null) return;
  }
}

async function builtMirror(): Promise<string> {
  const mirror = join(cache, "providers");
  const platform = `linux_${process.arch === "x64" ? "amd64" : process.arch}`;
  for (const { name, version, release } of providers) {
    const path = `github.com/hashicorp/terraform-provider-${name}`;
    const { binary } = await build({ path, version }, ({ source, binary: made }) =>
      go(["build", "-o", made, "."], source),
    );
    const file = `terraform-provider-${name}_v${release}`;
    for (const registry of registries)
      place(binary, join(mirror, registry, "hashicorp", name, release, platform, file));
  }
  return mirror;
}

function place(binary: string, path: string): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(binary, path);
}
