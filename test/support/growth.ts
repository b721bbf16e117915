/** Whether something takes clearly longer than its input grows: measured in this thread's time on a processor, not by a clock. */
import { expect } from "vitest";

/** What is measured: with input of about so many bytes. */
export type Sized = (size: number) => unknown;

const doublingMax = 3;
const tries = 3;

/** What is quicker is never looked at again: so little says nothing about growth, and holds up nobody. */
const floorMs = (size: number): number => 25 + size / 8_000;

async function costMs(work: Sized, size: number): Promise<number> {
  const before = process.threadCpuUsage();
  await work(size);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** Other work in this thread, and what a collector does, only adds: the least is the nearest to the truth. */
async function bestMs(work: Sized, size: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let count = 0; count < tries; count += 1) best = Math.min(best, await costMs(work, size));
  return best;
}

/**
 * With input that grows up to `sizeMax`. Twice as much input may take up to three times as long; what takes longer at two doublings in a
 * row grows faster than its input. Stops at the first size at which that can be seen, so that nothing runs for minutes.
 */
export async function expectLinear(what: string, work: Sized, sizeMax: number, steps = 4): Promise<void> {
  for (let step = steps - 1; step >= 0; step -= 1) {
    const size = Math.max(16, Math.floor(sizeMax / 4 ** step));
    if ((await costMs(work, size)) < floorMs(size)) continue;
    const whole = await bestMs(work, size);
    if (whole < floorMs(size)) continue;
    const half = await bestMs(work, size / 2);
    const quarter = await bestMs(work, size / 4);
    const isFaster = whole / half > doublingMax && half / Math.max(quarter, 0.2) > doublingMax;
    const told = [quarter, half, whole].map((ms) => ms.toFixed(1)).join(", ");
    expect(isFaster, `${what}: a quarter, half and all of ${size} bytes take ${told} ms`).toBe(false);
  }
}
