/** Computes retry delays. Pure. */

/** So that what failed together is not retried together. */
const jitter = 0.2;

const jittered = (ms: number, random: number): number => Math.round(ms * (1 - jitter + 2 * jitter * random));

const firstMs = 5_000;
const mostMs = 3_600_000;

export const providerBackoffMs = (attempts: number): number =>
  jittered(Math.min(mostMs, firstMs * 3 ** (attempts - 1)), Math.random());

const notificationPausesMs = [1_000, 10_000, 60_000, 600_000] as const;

/** Undefined after the final attempt. */
export function deliveryBackoffMs(attempts: number, random: number = Math.random()): number | undefined {
  const pauseMs = notificationPausesMs[attempts - 1];
  return pauseMs === undefined ? undefined : jittered(pauseMs, random);
}
