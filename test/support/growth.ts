/** Checks that cost grows linearly with the input, measured in this thread's CPU time. */
import { expect } from "vitest";

export type SizedWork = (size: number) => unknown;

const doublingMax = 3;
const tries = 3;

/** Below this, a measurement is too small to show growth. */
const floorMs = (size: number): number => 25 + size / 8_000;

async function costMs(work: SizedWork, size: number, times = 1): Promise<number> {
  const before = process.threadCpuUsage();
  for (let count = 0; count < times; count += 1) await work(size);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** Other work and garbage collection only add time, so the minimum is the best estimate. */
async function bestMs(work: SizedWork, size: number, times = 1): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let count = 0; count < tries; count += 1) best = Math.min(best, await costMs(work, size, times));
  return best;
}

/** Some kernels count CPU time in steps of 4 ms, so shorter measurements are repeated. */
const readableMs = 40;

async function costs(work: SizedWork, size: number): Promise<[quarter: number, half: number, whole: number]> {
  const once = await bestMs(work, size / 4);
  const times = Math.ceil(readableMs / Math.max(once, 1));
  const of = (part: number) => bestMs(work, size / part, times);
  return [await of(4), await of(2), await of(1)];
}

/** Fails if each of two doublings of the input repeatedly more than triples the time. */
export async function expectLinear(what: string, work: SizedWork, sizeMax: number, steps = 4): Promise<void> {
  for (let step = steps - 1; step >= 0; step -= 1) {
    const size = Math.max(16, Math.floor(sizeMax / 4 ** step));
    if ((await costMs(work, size)) < floorMs(size)) continue;
    if ((await bestMs(work, size)) < floorMs(size)) continue;
    const seen: string[] = [];
    while (seen.length < tries) {
      const [quarter, half, whole] = await costs(work, size);
      if (whole / half <= doublingMax || half / quarter <= doublingMax) break;
      seen.push([quarter, half, whole].map((ms) => ms.toFixed(1)).join(", "));
    }
    const growsFaster = seen.length === tries;
    expect(growsFaster, `${what}: a quarter, half and all of ${size} bytes take ${seen.join("; ")} ms`).toBe(false);
  }
}
