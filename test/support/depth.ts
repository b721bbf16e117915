/** Random tests: few runs with a fixed seed in `npm test` (some only in the gate), many with a new seed in `npm run test:deep`. */

export const isDeep = process.env["CADASTRE_TEST_DEPTH"] === "deep";

export const deep = (quick: number, thorough: number): number => (isDeep ? thorough : quick);

/** A failing deep run prints its seed; CADASTRE_TEST_SEED repeats it. */
export const seed: number = Number(
  process.env["CADASTRE_TEST_SEED"] ?? (isDeep ? Date.now() % 1_000_000_007 : 20_261_115),
);

/** Whether tests that don't depend on the engine run on both. */
export const isOnBothEngines = isDeep || process.env.CADASTRE_TEST_ENGINES === "both";
