/** Builds the two archives of a release: the npm package, and a directory with its own Node. */
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createRequire } from "node:module";
import { output } from "./checkout.ts";
import { packageFolder, releaseFolder, root } from "./paths.ts";

export async function packForNpm(): Promise<string> {
  const name = await output("npm", "pack", packageFolder, "--pack-destination", releaseFolder, "--loglevel=error");
  return join(releaseFolder, name);
}

/** The start script. */
const launcher = `#!/bin/sh
# Starts Cadastre with the bundled Node.
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" --disable-warning=ExperimentalWarning --expose-gc "$here/../lib/cadastre.js" "$@"
`;

/** Fixed owner, time and order, so that the same commit gives the same bytes. */
export async function packWithNode(version: string, seconds: number): Promise<string> {
  const name = `cadastre-${version}-${process.platform}-${process.arch}`;
  const folder = await mkdtemp(join(tmpdir(), "cadastre-release-"));
  try {
    await fillWithNode(join(folder, name));
    const file = join(releaseFolder, `${name}.tar.gz`);
    const tar = ["--sort=name", `--mtime=@${seconds}`, "--owner=0", "--group=0", "--numeric-owner", "--mode=a+rX,go-w"];
    await output("tar", "-C", folder, ...tar, "--use-compress-program=gzip -9n", "-cf", file, name);
    return file;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A relocatable directory: bin/cadastre, Node, the program and the console. */
export async function fillWithNode(folder: string): Promise<void> {
  const node = pinnedNode();
  await mkdir(join(folder, "bin"), { recursive: true });
  await cp(packageFolder, folder, { recursive: true });
  await rm(join(folder, "bin/cadastre.js"));
  await cp(join(node, "bin/node"), join(folder, "bin/node"));
  await cp(join(node, "LICENSE"), join(folder, "LICENSE.node"));
  await cp(join(root, "deploy/systemd"), join(folder, "systemd"), { recursive: true });
  await writeFile(join(folder, "bin/cadastre"), launcher);
  await chmod(join(folder, "bin/cadastre"), 0o755);
}

function pinnedNode(): string {
  const name = `node-${process.platform}-${process.arch}`;
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    throw new Error(`The package ${name} is not installed. Build releases on Linux (x64 or arm64), after 'npm ci'.`);
  }
}
