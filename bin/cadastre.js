#!/usr/bin/env node
// The launcher of a checkout and of a package: plain JavaScript that any Node can run. It finds a Node that can run Cadastre, or prints
// which version is needed.
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

/** The pinned Node that npm installs on supported platforms, next to this package or inside it. */
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
  console.error("The dependencies are not installed. Run 'npm ci' in this directory first.");
  process.exit(1);
}
if (node === undefined) {
  console.error(
    `Cadastre needs Node ${needed} or newer; this is ${process.version}. Install a newer Node and try again.`,
  );
  process.exit(1);
}

// Lets code that streams large contents free its buffers in time.
const exposeGc = "--expose-gc";
// Caches compiled code between starts, if the directory is writable. Not for a package: its directory isn't ours to write to.
if (isCheckout) process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/cadastre/code`;
const words = [quiet, exposeGc, isCheckout ? `${root}src/cli/cadastre.ts` : bundle, ...process.argv.slice(2)];
// If possible, replace this process, so that signals and exit codes need no forwarding.
if (typeof process.execve === "function") process.execve(node, [node, ...words], process.env);

// The channel tells the child when this process is killed.
const child = spawn(node, words, { stdio: ["inherit", "inherit", "inherit", "ipc"] });
// Signals are forwarded, and the child's exit code becomes ours.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`Node can't be started from ${node} (${error.message}).`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
