/** Wakes agents' long polls for a job or a signal. One poll of the database serves all waiters of a server. */
import { setTimeout as pause } from "node:timers/promises";
import type { Database } from "../../../database/database.ts";
import { findSignals, findQueuedEngines, type PhaseSignal, type QueuedEngine } from "../phases/claims.ts";

const tickMs = 40;
const pollEveryMs = 320;

interface QueueSnapshot {
  readonly waiting: readonly QueuedEngine[];
  readonly signals: ReadonlyMap<string, PhaseSignal>;
}

interface LongPollWaiter {
  readonly jobId: string | undefined;
  readonly matches: (snapshot: QueueSnapshot) => boolean;
  readonly wake: () => void;
}

class QueueWatcher {
  readonly #database: Database;
  readonly #waiters = new Set<LongPollWaiter>();
  #isPolling = false;

  constructor(database: Database) {
    this.#database = database;
  }

  async wait(waiter: Omit<LongPollWaiter, "wake">, timeoutMs: number, isDisconnected: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const entry = { ...waiter, wake: resolve };
    const timer = setTimeout(resolve, timeoutMs);
    const connectionCheck = setInterval(() => isDisconnected() && resolve(), 200);
    this.#waiters.add(entry);
    if (!this.#isPolling) void this.#poll();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      clearInterval(connectionCheck);
      this.#waiters.delete(entry);
    }
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    let [polledAt, commits] = [0, -1];
    while (this.#waiters.size > 0) {
      const isDue = performance.now() - polledAt >= pollEveryMs;
      if (isDue || this.#database.commitCount() !== commits) {
        polledAt = performance.now();
        commits = this.#database.commitCount();
        // Ignores waiters added during the query: the result lacks their jobs, which would look as if they had ended.
        const waiters = [...this.#waiters];
        // The next request reports an unavailable database; waiters keep waiting.
        const snapshot = await this.#snapshotFor(waiters).catch(() => undefined);
        if (snapshot !== undefined) for (const waiter of waiters) if (waiter.matches(snapshot)) waiter.wake();
      }
      await pause(tickMs);
    }
    this.#isPolling = false;
  }

  async #snapshotFor(waiters: readonly LongPollWaiter[]): Promise<QueueSnapshot> {
    const tx = this.#database.reader;
    const ids = waiters.flatMap(({ jobId }) => jobId ?? []);
    const isAnyWaitingForJobs = waiters.some(({ jobId }) => jobId === undefined);
    const signals = ids.length === 0 ? [] : await findSignals(tx, ids);
    return {
      waiting: isAnyWaitingForJobs ? await findQueuedEngines(tx, {}) : [],
      signals: new Map(signals.map((phase) => [phase.id, phase])),
    };
  }
}

const watchers = new WeakMap<Database, QueueWatcher>();

export function queueWatcherOf(database: Database): QueueWatcher {
  let watcher = watchers.get(database);
  if (watcher === undefined) {
    watcher = new QueueWatcher(database);
    watchers.set(database, watcher);
  }
  return watcher;
}
