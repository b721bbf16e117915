/**
 * Those who wait: agents for a job, agents for a signal. However many they are, a server looks for all of them by one or two narrow
 * statements: soon after it has itself committed something, else a few times a second, for what other servers did.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Database } from "../../../database/database.ts";
import { findSignals, findWaiting, type Signalled, type WaitingKind } from "../phases/claims.ts";

const tickMs = 40;
const lookEveryMs = 320;

/** What was seen at one look. */
interface Sight {
  readonly waiting: readonly WaitingKind[];
  readonly signals: ReadonlyMap<string, Signalled>;
}

interface Waiter {
  /** The job whose signals it waits for; undefined for one who waits for a job. */
  readonly jobId: string | undefined;
  /** Tells whether it has seen what it waits for. */
  readonly sees: (sight: Sight) => boolean;
  readonly wake: () => void;
}

class Lookout {
  readonly #database: Database;
  readonly #waiters = new Set<Waiter>();
  #looking = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Until it is seen, the time is over, or nobody waits any more. */
  async wait(waiter: Omit<Waiter, "wake">, forMs: number, isGone: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const entry = { ...waiter, wake: resolve };
    const timer = setTimeout(resolve, forMs);
    const watch = setInterval(() => isGone() && resolve(), 200);
    this.#waiters.add(entry);
    if (!this.#looking) void this.#look();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
      this.#waiters.delete(entry);
    }
  }

  async #look(): Promise<void> {
    this.#looking = true;
    let [lookedAt, commits] = [0, -1];
    while (this.#waiters.size > 0) {
      const isDue = performance.now() - lookedAt >= lookEveryMs;
      if (isDue || this.#database.commitCount() !== commits) {
        lookedAt = performance.now();
        commits = this.#database.commitCount();
        // Whoever comes while it looks was not looked for: to him, a job that is not in sight would be one that is gone.
        const those = [...this.#waiters];
        // A database that does not answer is told by whoever asks next; those who wait go on.
        const sight = await this.#see(those).catch(() => undefined);
        if (sight !== undefined) for (const waiter of those) if (waiter.sees(sight)) waiter.wake();
      }
      await pause(tickMs);
    }
    this.#looking = false;
  }

  async #see(waiters: readonly Waiter[]): Promise<Sight> {
    const tx = this.#database.reader;
    const ids = waiters.flatMap(({ jobId }) => jobId ?? []);
    const wantsJobs = waiters.some(({ jobId }) => jobId === undefined);
    const signals = ids.length === 0 ? [] : await findSignals(tx, ids);
    return {
      waiting: wantsJobs ? await findWaiting(tx, {}) : [],
      signals: new Map(signals.map((phase) => [phase.id, phase])),
    };
  }
}

const lookouts = new WeakMap<Database, Lookout>();

export function lookoutOf(database: Database): Lookout {
  let lookout = lookouts.get(database);
  if (lookout === undefined) {
    lookout = new Lookout(database);
    lookouts.set(database, lookout);
  }
  return lookout;
}
