/** When a notice is tried again that could not be delivered. Pure. */

/** After the first attempt, the second, and so on; there is one attempt more than there are pauses. */
const pausesMs = [1_000, 10_000, 60_000, 600_000] as const;

/** Up to a fifth more or less, so that what failed together does not come again together. */
const jitter = 0.2;

/** `attempts`: how many there were. Undefined: that was the last. */
export function pauseAfter(attempts: number, random: number = Math.random()): number | undefined {
  const pauseMs = pausesMs[attempts - 1];
  return pauseMs === undefined ? undefined : Math.round(pauseMs * (1 - jitter + 2 * jitter * random));
}
