/** Packages that stay separate files, because their licences let everybody replace them. */
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./paths.ts";

interface SeparatePackage {
  readonly name: string;
  /** The module, which must not import others of its package. */
  readonly module: string;
  /** Texts to which its own licence refers, in `packaging/licenses`. */
  readonly moreLicenses: readonly string[];
}

export const separatePackages: readonly SeparatePackage[] = [
  { name: "openpgp", module: "dist/node/openpgp.mjs", moreLicenses: ["GPL-3.0.txt"] },
];

/** From the bundled programs, which are in one folder. */
export const importedPaths: Readonly<Record<string, string>> = Object.fromEntries(
  separatePackages.map(({ name }) => [name, `./${name}/${name}.mjs`]),
);

/** A WebAssembly program and the module that loads it from its own folder; see `access-rules/cedar.ts`. */
async function copyCedar(folder: string): Promise<string[]> {
  const name = "@cedar-policy/cedar-wasm";
  const from = join(root, "node_modules", name, "nodejs");
  const to = join(folder, name);
  await mkdir(to, { recursive: true });
  for (const file of ["cedar_wasm.js", "cedar_wasm_bg.wasm", "package.json"])
    await cp(join(from, file), join(to, file));
  // The package says that its licence is ours, but doesn't contain the text.
  await cp(join(root, "LICENSE"), join(to, "LICENSE"));
  return [join(from, "cedar_wasm.js")];
}

/** Returns the modules. */
export async function copySeparatePackages(folder: string): Promise<string[]> {
  const cedar = await copyCedar(folder);
  const copied = await Promise.all(
    separatePackages.map(async ({ name, module, moreLicenses }) => {
      const from = join(root, "node_modules", name);
      const to = join(folder, name);
      await mkdir(to, { recursive: true });
      await cp(join(from, module), join(to, `${name}.mjs`));
      for (const file of ["LICENSE", "package.json"]) await cp(join(from, file), join(to, file));
      for (const file of moreLicenses) await cp(join(root, "packaging/licenses", file), join(to, file));
      return join(from, module);
    }),
  );
  return [...copied, ...cedar];
}
