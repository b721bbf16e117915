/**
 * What the engine has no part in is told once by `npm test`, on SQLite, and on both engines by `npm run test:engines`: refusals of a body
 * by its shape, and rules that are decided before any statement. `vitest.config.ts` says which whole files are told on both.
 */
import { describe, inject, it } from "vitest";
import { isOnBothEngines } from "./depth.ts";

/** Whether this run is to tell everything. */
export const tellsAll = isOnBothEngines || inject("engine") === "sqlite";

const absent = Object.assign(() => {}, { each: () => () => {} });

export const describeOnce: typeof describe = tellsAll ? describe : (absent as unknown as typeof describe);

/** How many random cases to try where the engine has a small part: a third of them on PostgreSQL, unless the run tells everything. */
export const sampled = (count: number): number => (tellsAll ? count : Math.ceil(count / 3));

/** Large input, or a measurement of how cost grows: in the gate and in deep runs, not in `npm test`. */
export const itInGate: typeof it = isOnBothEngines ? it : (it.skip as unknown as typeof it);
