/** Finds the installed engines and builds their arguments. */
import { constants } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { JobDocument } from "./job.ts";
import { type EngineName, isEngineVersion, type Product, products } from "./products.ts";

export type Engines = Readonly<Record<Product, readonly string[]>>;

export async function findEngines(folder: string): Promise<Engines> {
  const found: Record<Product, string[]> = { terraform: [], tofu: [] };
  for (const product of products) {
    for (const version of await namesIn(join(folder, product))) {
      if (isEngineVersion(version) && (await isProgram(programOf(folder, product, version))))
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

export function compareVersions(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  for (let index = 0; index < 3; index += 1) {
    const difference = (a.numbers[index] ?? 0) - (b.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (a.rest === b.rest) return 0;
  if (a.rest === "" || b.rest === "") return a.rest === "" ? 1 : -1;
  return a.rest < b.rest ? -1 : 1;
}

/** A pre-release such as `1.10.0-beta1` counts as 1.10.0, because it has the same features. */
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

export async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface PlanFiles {
  readonly plan: string;
  readonly variables: readonly string[];
  readonly generated: string;
}

const jsonFlag = (job: Pick<JobDocument, "structured">) => (job.structured ? ["-json"] : []);
const varFiles = (files: readonly string[]) => files.map((file) => `-var-file=${file}`);

/** OpenTofu 1.8 and newer evaluate variables in module sources. */
const initTakesVariables = ({ product, version }: EngineName) => product === "tofu" && isAtLeast(version, "1.8.0");

export function initArguments(
  job: Pick<JobDocument, "phase">,
  engine: EngineName,
  variables: readonly string[],
): string[] {
  return [
    "init",
    "-input=false",
    "-no-color",
    ...(job.phase === "apply" ? ["-lockfile=readonly"] : []),
    ...(initTakesVariables(engine) ? varFiles(variables) : []),
  ];
}

export function planArguments(job: JobDocument, { plan, variables, generated }: PlanFiles): string[] {
  return [
    "plan",
    "-input=false",
    "-detailed-exitcode",
    `-out=${plan}`,
    ...jsonFlag(job),
    ...(job.refreshOnly ? ["-refresh-only"] : job.isDestroy ? ["-destroy"] : []),
    ...(job.refresh || job.refreshOnly ? [] : ["-refresh=false"]),
    ...job.targetAddrs.map((address) => `-target=${address}`),
    ...job.replaceAddrs.map((address) => `-replace=${address}`),
    ...varFiles(variables),
    ...(job.allowConfigGeneration ? [`-generate-config-out=${generated}`] : []),
    ...parallelism(job),
  ];
}

/** Engines with ephemeral variables need the variables again on apply; older ones reject them. */
export function applyArguments(
  job: JobDocument,
  engine: EngineName,
  { plan, variables }: Omit<PlanFiles, "generated">,
): string[] {
  return [
    "apply",
    "-input=false",
    ...jsonFlag(job),
    ...parallelism(job),
    ...(applyTakesVariables(engine) ? varFiles(variables) : []),
    plan,
  ];
}

const applyTakesVariables = ({ version }: EngineName): boolean => isAtLeast(version, "1.10.0");

const parallelismVariable = "TFE_PARALLELISM";

/** An invalid value is ignored, as in HCP Terraform. */
function parallelism({ variables }: Pick<JobDocument, "variables">): string[] {
  const text = variables.find(({ category, key }) => category === "env" && key === parallelismVariable)?.value ?? "";
  const number = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return number >= 1 && number <= 256 ? [`-parallelism=${number}`] : [];
}
