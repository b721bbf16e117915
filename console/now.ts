/**
 * One clock for every relative time on the page, so that they all turn at once: the server's. A browser whose clock is behind would show
 * what just happened as still to come.
 */
import { useSyncExternalStore } from "react";

const everyMs = 15_000;
const listeners = new Set<() => void>();
let turns = 0;
/** How far the server's clock is ahead of the browser's. */
let aheadMs = 0;

/** The header has whole seconds, and answers take a while to arrive: less than this says nothing. */
const skewMinMs = 5_000;

/** Told of every answer, by its `Date` header. */
export function noteServerTime(date: string | null): void {
  const difference = Date.parse(date ?? "") - Date.now();
  if (Number.isNaN(difference)) return;
  aheadMs = Math.abs(difference) < skewMinMs ? 0 : difference;
}

/** Also for what is sent: a browser whose clock is behind would ask for an end that has passed. */
export const serverNow = (): number => Date.now() + aheadMs;

let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    turns += 1;
    for (const each of listeners) each();
  }, everyMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** What is drawn between two turns of the clock may be younger than the last of them, so it is read again. */
export function useNow(): number {
  useSyncExternalStore(subscribe, () => turns);
  return serverNow();
}
