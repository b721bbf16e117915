/**
 * What the engine has no part in is told once by `npm test`, on SQLite, and on both engines by `npm run test:engines`: refusals of a body
 * by its shape, and rules that are decided before any statement. `vitest.config.ts` says which whole files are told on both.
 */
import { describe, inject } from "vitest";
import { isOnBothEngines } from "./depth.ts";

/** Whether this run is to tell everything. */
export const tellsAll = isOnBothEngines || inject("engine") === "sqlite";

const absent = Object.assign(() => {}, { each: () => () => {} });

export const describeOnce: typeof describe = tellsAll ? describe : (absent as unknown as typeof describe);

/** How many random cases to try where the engine has a small part: a third of them on PostgreSQL, unless the run tells everything. */
export const sampled = (count: number): number => (tellsAll ? count : Math.ceil(count / 3));
