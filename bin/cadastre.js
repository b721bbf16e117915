#!/usr/bin/env node
// The launcher, of a checkout and of a package alike: plain JavaScript that any Node can run. It finds a Node that can run the service,
// or says which is needed.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const needed = 24;
const root = fileURLToPath(new URL("..", import.meta.url));
const bundle = `${root}lib/cadastre.js`;
const isCheckout = !existsSync(bundle);
const quiet = "--disable-warning=ExperimentalWarning";

/** The pinned Node that npm brings where a package for this machine exists; it may lie beside this package, or in it. */
function pinnedNode() {
  try {
    const manifest = `node-${process.platform}-${process.arch}/package.json`;
    const path = `${dirname(createRequire(import.meta.url).resolve(manifest))}/bin/node`;
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

const own = Number(process.versions.node.split(".")[0]) >= needed ? process.execPath : undefined;
const node = pinnedNode() ?? own;

if (isCheckout && !existsSync(`${root}node_modules`)) {
  console.error("The dependencies are not installed yet. Run 'npm ci' in this folder first.");
  process.exit(1);
}
if (node === undefined) {
  console.error(
    `Cadastre needs Node ${needed} or newer; this is ${process.version}. Install a newer Node, then start it again.`,
  );
  process.exit(1);
}

// So that whoever streams large contents can free their buffers in time.
const frees = "--expose-gc";
// What was compiled once need not be compiled at every start. Where the folder can't be written, it simply is. A package is one file,
// and the folder that it lies in is not ours to write to.
if (isCheckout) process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/cadastre/code`;
const words = [quiet, frees, isCheckout ? `${root}src/cli/cadastre.ts` : bundle, ...process.argv.slice(2)];
// Where this Node can, it becomes the other: then signals and exit codes need nobody between.
if (typeof process.execve === "function") process.execve(node, [node, ...words], process.env);

// By the channel, the child notices when this process is killed without a chance to pass that on.
const child = spawn(node, words, { stdio: ["inherit", "inherit", "inherit", "ipc"] });
// The child decides when to end: a signal is passed on, and its answer becomes ours.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`Node can't be started from ${node} (${error.message}).`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
