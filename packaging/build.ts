/**
 * `npm run build`: builds dist/package, the whole service and its console without dependencies. `npm pack` makes an npm package of it,
 * `npm run release` all release files.
 */
import { chmod, cp, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleConsole, bundleProgram } from "./bundles.ts";
import { type BundledPackage, noticesOf, packagesOf } from "./bundled-packages.ts";
import { manifestOf, readManifest } from "./manifest.ts";
import { packageFolder, root } from "./paths.ts";
import { copySeparatePackages } from "./separate-packages.ts";

const copied = {
  "bin/cadastre.js": "bin/cadastre.js",
  LICENSE: "LICENSE",
  "CHANGELOG.md": "CHANGELOG.md",
  "packaging/README.md": "README.md",
} as const;

/** Programs that are started by path: the CLI, the job process, and the worker threads of SQLite's log, plans and policies. */
const programs = [
  "src/cli/cadastre.ts",
  "src/agent/job-process.ts",
  "src/database/engines/checkpointer.ts",
  "src/resources/runs/plan-outputs/plan-worker.ts",
  "src/resources/governance/access-rules/policy-worker.ts",
];

/** Returns the bundled packages. */
export async function build(version: string): Promise<BundledPackage[]> {
  await rm(packageFolder, { recursive: true, force: true });
  await mkdir(packageFolder, { recursive: true });
  const modules = new Set<string>();
  for (const program of programs)
    for (const module of await bundleProgram(join(root, program), join(packageFolder, "lib"))) modules.add(module);
  for (const module of await copySeparatePackages(join(packageFolder, "lib"))) modules.add(module);
  for (const module of await bundleConsole(join(packageFolder, "dist/console"))) modules.add(module);
  const contained = await packagesOf(modules);
  for (const [from, to] of Object.entries(copied)) await cp(join(root, from), join(packageFolder, to));
  await chmod(join(packageFolder, "bin/cadastre.js"), 0o755);
  await writeFile(join(packageFolder, "THIRD-PARTY.txt"), noticesOf(contained));
  const manifest = manifestOf(await readManifest(), version);
  await writeFile(join(packageFolder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return contained;
}

if (import.meta.main) {
  const { version } = await readManifest();
  const contained = await build(version);
  const { size } = await stat(join(packageFolder, "lib/cadastre.js"));
  console.log(
    `Cadastre ${version} is in dist/package: one program of ${(size / 2 ** 20).toFixed(1)} MiB and its console.`,
  );
  console.log(`Contains ${contained.length} third-party packages; see THIRD-PARTY.txt for their licences.`);
  console.log("Try it: node dist/package/bin/cadastre.js serve");
}
