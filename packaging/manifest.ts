/** The package.json of the package, whose only dependency is the pinned Node. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./paths.ts";

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

export async function readManifest(): Promise<Manifest> {
  return JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Manifest;
}

export function manifestOf({ name, description, license, optionalDependencies }: Manifest, version: string): object {
  return {
    name,
    version,
    description,
    license,
    type: "module",
    bin: { cadastre: "bin/cadastre.js" },
    files: ["bin", "lib", "dist", "CHANGELOG.md", "THIRD-PARTY.txt"],
    engines: { node: ">=20" },
    optionalDependencies,
  };
}
