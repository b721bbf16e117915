/** Loads the Cedar engine, a WebAssembly program, on first use, and replaces it when a call traps. */
import { createRequire } from "node:module";
import type * as cedarModule from "@cedar-policy/cedar-wasm/nodejs";

type Engine = typeof cedarModule;

/** A package contains the engine next to its programs. */
const specifier = import.meta.url.endsWith(".ts")
  ? "@cedar-policy/cedar-wasm/nodejs"
  : "./@cedar-policy/cedar-wasm/cedar_wasm.js";

let engine: Engine | undefined;
/** Raised when a call traps: what the engine had parsed is gone with it. */
let generation = 0;

export class CedarFailure extends Error {}
/** The engine crashed instead of returning an error. */
export class CedarTrap extends CedarFailure {}

export const engineGeneration = (): number => generation;

/** Throws `CedarTrap` if the engine fails. A trap leaves the engine's stack pointer where it was, so every later call would fail too. */
export function callCedar<Result>(call: (cedar: Engine) => Result): Result {
  engine ??= loadEngine();
  try {
    return call(engine);
  } catch (error) {
    engine = undefined;
    generation += 1;
    throw new CedarTrap("The Cedar engine failed.", { cause: error });
  }
}

function loadEngine(): Engine {
  const require = createRequire(import.meta.url);
  const path = require.resolve(specifier);
  // The module holds one instance of the program; without this, it would return the one that trapped.
  delete require.cache[path];
  return require(path) as Engine;
}
