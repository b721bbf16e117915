/** A directory of engines for agents under test: the stand-in, with the versions that a test needs. */
import { chmodSync, copyFileSync, linkSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const standIn = fileURLToPath(new URL("engine.mjs", import.meta.url));

/** With a copy of Node: the sandbox has only the engine's own directory. */
export function addFakeEngine(folder: string, product: "terraform" | "tofu" = "terraform", version = "1.5.7"): void {
  const engineFolder = join(folder, product, version);
  mkdirSync(engineFolder, { recursive: true });
  copyFileSync(standIn, join(engineFolder, "engine.mjs"));
  const node = realpathSync(process.execPath);
  try {
    linkSync(node, join(engineFolder, "node"));
  } catch {
    copyFileSync(node, join(engineFolder, "node"));
  }
  const program = join(engineFolder, product);
  writeFileSync(program, '#!/bin/sh\nexec "${0%/*}/node" "${0%/*}/engine.mjs" "$@"\n');
  chmodSync(program, 0o755);
}
