/** How the register writes what a state file calls modules, providers and instances: the way that HCP Terraform does. */

/** One step of a module's path, with its key if it has one. A key may hold anything, also dots and brackets. */
const moduleStep = /(?:^|\.)module\.([^.["]+(?:\[(?:"(?:[^"\\]|\\.)*"|[^\]"]*)\])?)/y;

/** `module.a["k"].module.b` → `a["k"].b`; the root → `root`. What is no such path stays as it is. */
export function modulePath(module: string): string {
  if (module === "") return "root";
  const steps: string[] = [];
  moduleStep.lastIndex = 0;
  while (moduleStep.lastIndex < module.length) {
    const step = moduleStep.exec(module)?.[1];
    if (step === undefined) return module;
    steps.push(step);
  }
  return steps.join(".");
}

/** A module's path may come before and an alias (with OpenTofu: and its key) after. A source holds no quotes. */
const sourced = /(?:^|\.)provider\["([^"]+)"\](?:\.[^."[]+(?:\[.*\])?)?$/s;
/** As written before providers had sources. */
const unsourced = /(?:^|\.)provider\.([^."[\]]+)(?:\.[^."[\]]+)?$/;

/** `provider["registry.terraform.io/hashicorp/aws"].west` → `hashicorp/aws`; `provider.aws` → `aws`. */
export function providerName(provider: string): string {
  const source = sourced.exec(provider)?.[1];
  if (source !== undefined) return source.split("/").slice(-2).join("/");
  return unsourced.exec(provider)?.[1] ?? provider;
}

/** The key of an instance as JSON: a number of `count`, a string of `for_each`, or null. */
export type IndexKey = string | number | null;

/** `media_bucket.aws_s3_bucket.this["logs"]`; instances of the root module have no module before them. */
export function instanceAddress(module: string, type: string, name: string, key: IndexKey): string {
  const path = module === "root" ? "" : `${module}.`;
  const index = key === null ? "" : `[${JSON.stringify(key)}]`;
  return `${path}${type}.${name}${index}`;
}
