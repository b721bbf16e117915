/** Tests that don't depend on the engine: on SQLite in `npm test`, on both engines in `npm run test:engines`. */
import { describe, inject, it } from "vitest";
import { isOnBothEngines } from "./depth.ts";

export const runsEverything = isOnBothEngines || inject("engine") === "sqlite";

const absent = Object.assign(() => {}, { each: () => () => {} });

export const describeOnce: typeof describe = runsEverything ? describe : (absent as unknown as typeof describe);

/** A third on PostgreSQL, where the engine matters little, unless everything runs on both. */
export const sampled = (count: number): number => (runsEverything ? count : Math.ceil(count / 3));

/** Not in `npm test`: large or random input, long sequences, and measurements of growth. Named files are run completely. */
export const itInGate = it.runIf(isOnBothEngines || !inject("isWhole"));
