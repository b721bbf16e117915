/** Moves the clock that the tests and the server under test share, instead of waiting. The database's own clock stays. */
import { vi } from "vitest";

export const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

/** Does something at an instant, as this process sees it. */
export async function atTime<T>(instant: string, work: () => Promise<T>): Promise<T> {
  try {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(instant) });
    return await work();
  } finally {
    vi.useRealTimers();
  }
}

/** A millisecond before an instant. */
export const before = (instant: string): string => new Date(Date.parse(instant) - 1).toISOString();
