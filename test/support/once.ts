/**
 * What the engine has no part in is told once by `npm test`, on SQLite, and on both engines by `npm run test:engines`: refusals of a body
 * by its shape, and rules that are decided before any statement. `vitest.config.ts` says which whole files are told on both.
 */
import { describe, inject } from "vitest";
import { isOnBothEngines } from "./depth.ts";

const absent = Object.assign(() => {}, { each: () => () => {} });

export const describeOnce: typeof describe =
  isOnBothEngines || inject("engine") === "sqlite" ? describe : (absent as unknown as typeof describe);
