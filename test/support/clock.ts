/** Moves the clock that the tests and the server under test share, instead of waiting. The database's own clock stays. */
import { afterEach, vi } from "vitest";

export const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

function moveTo(ms: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: ms });
}

/** For a file in which time passes: a function that lets so many seconds pass; each test begins by the real clock. */
export function passingTime(): (seconds: number) => void {
  afterEach(() => {
    vi.useRealTimers();
  });
  return (seconds) => moveTo(Date.now() + seconds * 1000);
}

/** Does something at an instant, as this process sees it. */
export async function atTime<T>(instant: string, work: () => Promise<T>): Promise<T> {
  try {
    moveTo(Date.parse(instant));
    return await work();
  } finally {
    vi.useRealTimers();
  }
}

/** A millisecond before an instant. */
export const before = (instant: string): string => new Date(Date.parse(instant) - 1).toISOString();
