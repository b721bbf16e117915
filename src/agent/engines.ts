/** The engines that there are: a folder of versions side by side, looked at anew each time. The folder's name is the version. */
import { constants } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Product, products } from "./settings.ts";

export type Engines = Readonly<Record<Product, readonly string[]>>;

const versionPattern = /^\d+\.\d+\.\d+([-+][\w.+-]+)?$/;

/** What can be executed, oldest first. A folder that is not there has none. */
export async function findEngines(folder: string): Promise<Engines> {
  const found: Record<Product, string[]> = { terraform: [], tofu: [] };
  for (const product of products) {
    for (const version of await namesIn(join(folder, product))) {
      if (versionPattern.test(version) && (await isProgram(programOf(folder, product, version))))
        found[product].push(version);
    }
    found[product].sort(compareVersions);
  }
  return found;
}

export const programOf = (folder: string, product: Product, version: string): string =>
  join(folder, product, version, product);

export const countEngines = (engines: Engines): number =>
  products.reduce((sum, product) => sum + engines[product].length, 0);

/** `Terraform 1.5.7, 1.13.3 and OpenTofu 1.12.6`, or `none` */
export function tellEngines(engines: Engines): string {
  const told = products
    .filter((product) => engines[product].length > 0)
    .map((product) => `${titleOf(product)} ${engines[product].join(", ")}`);
  return told.length === 0 ? "none" : told.join(" and ");
}

export const titleOf = (product: Product): string => (product === "tofu" ? "OpenTofu" : "Terraform");

/** By numbers; what is not released yet comes before the release. */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  for (let place = 0; place < 3; place += 1) {
    const difference = (a.numbers[place] ?? 0) - (b.numbers[place] ?? 0);
    if (difference !== 0) return difference;
  }
  if (a.rest === b.rest) return 0;
  if (a.rest === "" || b.rest === "") return a.rest === "" ? 1 : -1;
  return a.rest < b.rest ? -1 : 1;
}

/** Whether a version is that one or later; `1.10.0-beta1` counts as 1.10.0, because it has what 1.10.0 has. */
export function isAtLeast(version: string, least: string): boolean {
  return compareVersions(partsOf(version).numbers.join("."), least) >= 0;
}

function partsOf(version: string): { numbers: number[]; rest: string } {
  const [, core = "", rest = ""] = /^([\d.]+)(?:-(.*))?$/.exec(version.replace(/\+.*$/, "")) ?? [];
  return { numbers: core.split(".").map(Number), rest };
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
