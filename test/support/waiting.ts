/**
 * Waiting for a condition. A limit only ends a wait that would never end, so it scales with the machine's load; no test is about how
 * long something takes.
 */
import { availableParallelism, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * What takes at most so long on an idle machine may take this long now: longer by as many processes as share each core. Bounded, because what
 * hangs has to fail some time; give a lower bound for limits that a test waits for to pass.
 */
export function scaled(ms: number, factorMax = 20): number {
  const [lastMinute = 0] = loadavg();
  return Math.ceil(ms * Math.min(factorMax, Math.max(1, lastMinute / availableParallelism())));
}

/** What `look` returns, as soon as that is neither undefined, null nor false. The limit is read anew each time: the load may rise meanwhile. */
export async function until<Seen>(
  look: () => Promise<Seen | undefined | null | false> | Seen | undefined | null | false,
  what: string | (() => string) = String(look),
  seconds = 180,
): Promise<Seen> {
  const begunAt = performance.now();
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false) return seen;
    if (performance.now() - begunAt > scaled(seconds * 1000))
      throw new Error(`Still not so after ${seconds} seconds or more: ${typeof what === "string" ? what : what()}`);
    await sleep(20);
  }
}
