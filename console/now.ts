/** One clock for every relative time: the server's, because a browser's clock can be wrong. */
import { useSyncExternalStore } from "react";

const tickMs = 15_000;
const listeners = new Set<() => void>();
let ticks = 0;
let skewMs = 0;

/** Smaller differences mean nothing: the header has whole seconds, and responses take time. */
const skewMinMs = 5_000;

export function noteServerTime(date: string | null): void {
  const difference = Date.parse(date ?? "") - Date.now();
  if (Number.isNaN(difference)) return;
  skewMs = Math.abs(difference) < skewMinMs ? 0 : difference;
}

/** Also for sent values: a slow browser clock would send an expiry in the past. */
export const serverNow = (): number => Date.now() + skewMs;

let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    ticks += 1;
    for (const each of listeners) each();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Data can be newer than the last tick, so the clock is read again. */
export function useNow(): number {
  useSyncExternalStore(subscribe, () => ticks);
  return serverNow();
}
