/** How long to wait before something that failed is tried again: longer each time, with jitter. Pure. */

/** Up to a fifth more or less, so that what failed together is not tried again together. */
const jitter = 0.2;

const jittered = (ms: number, random: number): number => Math.round(ms * (1 - jitter + 2 * jitter * random));

const firstMs = 5_000;
const mostMs = 3_600_000;

/** Of calls to providers of version control, which give up by a rule of their own. `attempts`: how many there were. */
export const backoffMs = (attempts: number): number =>
  jittered(Math.min(mostMs, firstMs * 3 ** (attempts - 1)), Math.random());

/** After the first attempt, the second, and so on; there is one attempt more than there are pauses. */
const noticePausesMs = [1_000, 10_000, 60_000, 600_000] as const;

/** Of notices. Undefined: that was the last attempt. */
export function pauseAfter(attempts: number, random: number = Math.random()): number | undefined {
  const pauseMs = noticePausesMs[attempts - 1];
  return pauseMs === undefined ? undefined : jittered(pauseMs, random);
}
