/** Lets identical reads that are requested before one of them begins share it. */
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";

const followMsDefault = 5_000;

interface Flight<T> {
  readonly result: Promise<T>;
  /** For those who share it: rejected if the read takes too long. */
  bounded: Promise<T> | undefined;
}

export class SingleFlight<T> {
  readonly #followMs: number;
  /** The reads that have not begun. */
  readonly #waiting = new Map<string, Flight<T>>();

  constructor(followMs = followMsDefault) {
    this.#followMs = followMs;
  }

  /** If a shared read fails or hangs, the requests that share it read again: the cause may concern the first request only. */
  async run(key: string, read: () => Promise<T>): Promise<T> {
    const flight = this.#waiting.get(key);
    if (flight === undefined) return this.#begin(key, read);
    flight.bounded ??= this.#bound(flight.result);
    try {
      return await flight.bounded;
    } catch {
      return read();
    }
  }

  #begin(key: string, read: () => Promise<T>): Promise<T> {
    const result = turn().then(() => {
      this.#waiting.delete(key);
      return read();
    });
    this.#waiting.set(key, { result, bounded: undefined });
    return result;
  }

  async #bound(result: Promise<T>): Promise<T> {
    const isOver = new AbortController();
    const timeout = sleep(this.#followMs, undefined, { signal: isOver.signal }).then(() => {
      throw new Error("the shared read takes too long");
    });
    try {
      return await Promise.race([result, timeout]);
    } finally {
      timeout.catch(() => {});
      isOver.abort();
    }
  }
}
