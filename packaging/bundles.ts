/** From our sources to the JavaScript that is shipped: the service's programs, and the console's files. Each tells what went into it. */
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { build as buildConsole, type Plugin } from "vite";
import { output } from "./checkout.ts";
import { root } from "./places.ts";

/** Drivers ask for it where it is installed; we never do. */
const external = ["pg-native"];

/** One file for a program, with everything that it imports but for Node's own modules. Names and lines stay, so that a stack can be read. */
export async function bundleProgram(source: string, folder: string): Promise<string[]> {
  const bundle = await rolldown({
    input: source,
    platform: "node",
    external,
    onLog: (level, log) => {
      // A warning may be a module that is not found: that is found out by whoever runs it, so it is not let pass.
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
  // What it knows of the API is made of the API's own description.
  await output(process.execPath, join(root, "console/api/generate.ts"));
  await buildConsole({
    configFile: join(root, "console/vite.config.ts"),
    logLevel: "error",
    plugins: [listen],
    build: { outDir: folder },
  });
  return modules;
}
