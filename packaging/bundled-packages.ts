/** The third-party packages in the bundles, with their licences. Based on the bundled modules, not on what is installed. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** Licence texts to ship. */
  readonly texts: readonly string[];
}

/** `/x/node_modules/a/node_modules/@b/c/d.js` → `/x/node_modules/a/node_modules/@b/c` */
export function packageFolderOf(module: string): string | undefined {
  return /^(?:\0)?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module.replaceAll("\\", "/"))?.[1];
}

/** Throws for a package without a licence. */
export async function packagesOf(modules: Iterable<string>): Promise<BundledPackage[]> {
  const folders = new Set([...modules].map(packageFolderOf).filter((folder) => folder !== undefined));
  const found = await Promise.all([...folders].map(readBundledPackage));
  const byName = new Map(found.map((each) => [`${each.name}@${each.version}`, each]));
  return [...byName.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each);
}

async function readBundledPackage(folder: string): Promise<BundledPackage> {
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Partial<Record<string, string>>;
  const { name, version, license } = manifest;
  if (name === undefined || version === undefined || typeof license !== "string")
    throw new Error(`${folder} has no name, version or licence in its package.json, so it can't be shipped.`);
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return { name, version, licence: license, texts: texts.map((text) => text.trim()) };
}

export function noticesOf(contained: readonly BundledPackage[]): string {
  const parts = contained.map(({ name, version, licence, texts }) =>
    [`${name} ${version} (${licence})`, ...texts].join("\n\n"),
  );
  const head = "Cadastre contains code of the following packages, each under its own licence.";
  return `${[head, ...parts].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}
