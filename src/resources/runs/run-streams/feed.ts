/** One poller per server for all streamed runs. A commit of this server triggers an early poll. */
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import type { Database, Tx } from "../../../database/database.ts";

const tickMs = 50;
const [pollMinMs, pollActiveMs, pollIdleMs] = [150, 300, 600];
const idleAfterMs = 10_000;

interface RunProgress {
  readonly id: string;
  readonly version: number;
  readonly planLogBytes: number;
  readonly applyLogBytes: number;
}

async function findProgress(tx: Tx, ids: readonly string[]): Promise<RunProgress[]> {
  return tx.db
    .selectFrom("runs as r")
    .innerJoin("runPhases as p", "p.id", "r.planId")
    .innerJoin("runPhases as a", "a.id", "r.applyId")
    .select(["r.id", "r.version", "p.logBytes as planLogBytes", "a.logBytes as applyLogBytes"])
    .where(tx.dialect.isOneOf(sql.ref("r.id"), ids))
    .execute();
}

interface StreamedRun {
  progress: RunProgress | undefined;
  readonly wakes: Set<() => void>;
}

export interface RunSubscription {
  /** Resolves at once if the run has changed since the last call. */
  waitForChange(timeoutMs: number): Promise<void>;
  progress(): RunProgress | undefined;
  stop(): void;
}

class RunFeed {
  readonly #database: Database;
  readonly #runs = new Map<string, StreamedRun>();
  #isPolling = false;

  constructor(database: Database) {
    this.#database = database;
  }

  follow(id: string): RunSubscription {
    const run = this.#runs.get(id) ?? { progress: undefined, wakes: new Set<() => void>() };
    this.#runs.set(id, run);
    let seen: RunProgress | undefined;
    let wake = () => {};
    const woken = () => wake();
    run.wakes.add(woken);
    if (!this.#isPolling) void this.#poll();
    return {
      progress: () => run.progress,
      waitForChange: async (timeoutMs) => {
        if (run.progress === seen) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          const timer = setTimeout(resolve, timeoutMs);
          await promise;
          clearTimeout(timer);
        }
        seen = run.progress;
      },
      stop: () => {
        run.wakes.delete(woken);
        if (run.wakes.size === 0) this.#runs.delete(id);
      },
    };
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    let [polledAt, changedAt, commits] = [0, performance.now(), -1];
    while (this.#runs.size > 0) {
      const sincePoll = performance.now() - polledAt;
      const everyMs = performance.now() - changedAt > idleAfterMs ? pollIdleMs : pollActiveMs;
      const isCommitted = this.#database.commitCount() !== commits && sincePoll >= pollMinMs;
      if (isCommitted || sincePoll >= everyMs) {
        polledAt = performance.now();
        commits = this.#database.commitCount();
        // Streams stay open while the database is unavailable; their access checks fail if it stays so.
        const found = await findProgress(this.#database.reader, [...this.#runs.keys()]).catch(() => []);
        for (const progress of found) if (this.#update(progress)) changedAt = performance.now();
      }
      await pause(tickMs);
    }
    this.#isPolling = false;
  }

  #update(progress: RunProgress): boolean {
    const run = this.#runs.get(progress.id);
    if (run === undefined) return false;
    const before = run.progress;
    const isSame =
      before?.version === progress.version &&
      before.planLogBytes === progress.planLogBytes &&
      before.applyLogBytes === progress.applyLogBytes;
    if (isSame) return false;
    run.progress = progress;
    for (const wake of run.wakes) wake();
    return true;
  }
}

const feeds = new WeakMap<Database, RunFeed>();

export function feedOf(database: Database): RunFeed {
  const existing = feeds.get(database);
  if (existing !== undefined) return existing;
  const feed = new RunFeed(database);
  feeds.set(database, feed);
  return feed;
}
