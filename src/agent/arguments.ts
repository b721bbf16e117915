/** The words that engines are started with. Addresses come from users: each is one word, and no shell ever sees it. */
import { isAtLeast } from "./engines.ts";
import type { Job } from "./job.ts";
import type { Product } from "./settings.ts";

export interface EngineName {
  readonly product: Product;
  readonly version: string;
}

export interface PlanFiles {
  readonly plan: string;
  readonly variables: readonly string[];
  readonly generated: string;
}

const colorless = (job: Pick<Job, "structured">) => (job.structured ? ["-json"] : []);
const varFiles = (files: readonly string[]) => files.map((file) => `-var-file=${file}`);

/** OpenTofu evaluates variables in module sources, from 1.8 on. */
const initTakesVariables = ({ product, version }: EngineName) => product === "tofu" && isAtLeast(version, "1.8.0");

export function initArguments(job: Pick<Job, "phase">, engine: EngineName, variables: readonly string[]): string[] {
  return [
    "init",
    "-input=false",
    "-no-color",
    ...(job.phase === "apply" ? ["-lockfile=readonly"] : []),
    ...(initTakesVariables(engine) ? varFiles(variables) : []),
  ];
}

export function planArguments(job: Job, { plan, variables, generated }: PlanFiles): string[] {
  return [
    "plan",
    "-input=false",
    "-detailed-exitcode",
    `-out=${plan}`,
    ...colorless(job),
    ...(job.refreshOnly ? ["-refresh-only"] : job.isDestroy ? ["-destroy"] : []),
    ...(job.refresh || job.refreshOnly ? [] : ["-refresh=false"]),
    ...job.targetAddrs.map((address) => `-target=${address}`),
    ...job.replaceAddrs.map((address) => `-replace=${address}`),
    ...varFiles(variables),
    ...(job.allowConfigGeneration ? [`-generate-config-out=${generated}`] : []),
    ...parallelism(job),
  ];
}

/** The plan has everything; engines that know ephemeral variables need these again, older ones refuse to be given any. */
export function applyArguments(
  job: Job,
  engine: EngineName,
  { plan, variables }: Omit<PlanFiles, "generated">,
): string[] {
  return [
    "apply",
    "-input=false",
    ...colorless(job),
    ...parallelism(job),
    ...(applyTakesVariables(engine) ? varFiles(variables) : []),
    plan,
  ];
}

export const applyTakesVariables = ({ version }: EngineName): boolean => isAtLeast(version, "1.10.0");

const parallelismVariable = "TFE_PARALLELISM";

/** Raises nothing: a number that is none is passed over, as the reference does. */
function parallelism({ variables }: Pick<Job, "variables">): string[] {
  const text = variables.find(({ category, key }) => category === "env" && key === parallelismVariable)?.value ?? "";
  const number = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return number >= 1 && number <= 256 ? [`-parallelism=${number}`] : [];
}
