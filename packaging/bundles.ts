/** Bundles the programs and the console, and returns the modules of each bundle. */
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { build as buildConsole, type Plugin } from "vite";
import { output } from "./checkout.ts";
import { root } from "./paths.ts";
import { importedPaths } from "./separate-packages.ts";

/** Optional dependencies of drivers, which we don't use. */
const external = ["pg-native"];

const isSeparate = (name: string) => Object.entries(importedPaths).flat().includes(name);

/** One file per program. Not minified, so that stacks stay readable. */
export async function bundleProgram(source: string, folder: string): Promise<string[]> {
  const bundle = await rolldown({
    input: source,
    platform: "node",
    external: [...external, ...Object.keys(importedPaths)],
    onLog: (level, log) => {
      // Warnings are errors: a missing module would only fail at run time.
      if (level === "warn") throw new Error(`${source} can't be bundled: ${log.message}`);
    },
  });
  try {
    const { output } = await bundle.write({
      dir: folder,
      format: "esm",
      entryFileNames: "[name].js",
      codeSplitting: false,
      paths: importedPaths,
    });
    const chunks = output.filter((part) => part.type === "chunk");
    const missing = chunks
      // A dynamic import of a bundled module is listed as one of the bundle itself.
      .flatMap(({ imports, dynamicImports, fileName }) =>
        [...imports, ...dynamicImports].filter((name) => name !== fileName),
      )
      .filter((name) => !isBuiltin(name) && !isSeparate(name));
    if (missing.length > 0)
      throw new Error(`${source} imports modules that are neither bundled nor part of Node: ${missing.join(", ")}.`);
    return chunks.flatMap((chunk) => chunk.moduleIds);
  } finally {
    await bundle.close();
  }
}

export async function bundleConsole(folder: string): Promise<string[]> {
  const modules: string[] = [];
  const collectModules: Plugin = {
    name: "collect-modules",
    generateBundle(_options, bundle) {
      for (const part of Object.values(bundle)) if (part.type === "chunk") modules.push(...part.moduleIds);
    },
  };
  // Generates the API types first.
  await output(process.execPath, join(root, "console/api/generate.ts"));
  await buildConsole({
    configFile: join(root, "console/vite.config.ts"),
    logLevel: "error",
    plugins: [collectModules],
    build: { outDir: folder },
  });
  return modules;
}
