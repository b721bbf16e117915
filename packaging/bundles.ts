/** Bundles the programs and the console, and returns the modules of each bundle. */
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { build as buildConsole, type Plugin } from "vite";
import { output } from "./checkout.ts";
import { root } from "./places.ts";

/** Optional dependencies of drivers, which we don't use. */
const external = ["pg-native"];

/** One file per program. Not minified, so that stacks stay readable. */
export async function bundleProgram(source: string, folder: string): Promise<string[]> {
  const bundle = await rolldown({
    input: source,
    platform: "node",
    external,
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
    });
    const chunks = output.filter((part) => part.type === "chunk");
    const missing = chunks
      .flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports])
      .filter((name) => !isBuiltin(name));
    if (missing.length > 0) throw new Error(`${source} still wants ${missing.join(", ")}, which Node does not have.`);
    return chunks.flatMap((chunk) => chunk.moduleIds);
  } finally {
    await bundle.close();
  }
}

export async function bundleConsole(folder: string): Promise<string[]> {
  const modules: string[] = [];
  const listen: Plugin = {
    name: "what-went-into-it",
    generateBundle(_options, bundle) {
      for (const part of Object.values(bundle)) if (part.type === "chunk") modules.push(...part.moduleIds);
    },
  };
  // Generates the API types first.
  await output(process.execPath, join(root, "console/api/generate.ts"));
  await buildConsole({
    configFile: join(root, "console/vite.config.ts"),
    logLevel: "error",
    plugins: [listen],
    build: { outDir: folder },
  });
  return modules;
}
