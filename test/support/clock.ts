/** Moves the clock that the tests and the server under test share. The database's clock is not affected. */
import { afterEach, vi } from "vitest";

export const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

function setClock(ms: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: ms });
}

/** Each test starts at the real time. */
export function useMovableClock(): (seconds: number) => void {
  afterEach(() => {
    vi.useRealTimers();
  });
  return (seconds) => setClock(Date.now() + seconds * 1000);
}

export async function atTime<T>(instant: string, work: () => Promise<T>): Promise<T> {
  try {
    setClock(Date.parse(instant));
    return await work();
  } finally {
    vi.useRealTimers();
  }
}

export const before = (instant: string): string => new Date(Date.parse(instant) - 1).toISOString();
