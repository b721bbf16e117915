/** Waits for a condition. A limit only ends an endless wait, so it scales with the machine's load; no test may depend on durations. */
import { availableParallelism, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/** Longer by the number of processes for each core. Use a lower `factorMax` for limits that a test waits for. */
export function scaled(ms: number, factorMax = 20): number {
  const [lastMinute = 0] = loadavg();
  return Math.ceil(ms * Math.min(factorMax, Math.max(1, lastMinute / availableParallelism())));
}

/** Returns the first result that is not undefined, null or false. The limit is recomputed, because the load can rise meanwhile. */
export async function until<Result>(
  check: () => Promise<Result | undefined | null | false> | Result | undefined | null | false,
  what: string | (() => string) = String(check),
  seconds = 180,
): Promise<Result> {
  const startedAt = performance.now();
  for (;;) {
    const result = await check();
    if (result !== undefined && result !== null && result !== false) return result;
    if (performance.now() - startedAt > scaled(seconds * 1000))
      throw new Error(`Not met after at least ${seconds} seconds: ${typeof what === "string" ? what : what()}`);
    await sleep(20);
  }
}
