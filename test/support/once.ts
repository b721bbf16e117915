/**
 * What the engine has no part in is told once in a quick run, on SQLite, and on both engines in a deep one: refusals of a body
 * by its shape, and rules that are decided before any statement. Whole files of that kind stand in `vitest.config.ts`.
 */
import { describe, inject } from "vitest";
import { isDeep } from "./depth.ts";

const absent = Object.assign(() => {}, { each: () => () => {} });

export const describeOnce: typeof describe =
  isDeep || inject("engine") === "sqlite" ? describe : (absent as unknown as typeof describe);
