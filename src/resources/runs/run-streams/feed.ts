/**
 * The one poller of a server for all runs that are followed through it. It looks soon after this server has committed something, else a
 * few times a second for what other servers wrote; less often while nothing happens, and never so seldom that a line takes a second.
 */
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import type { Database, Tx } from "../../../database/database.ts";

const tickMs = 50;
/** The least time between two looks, and the most while something happens and while nothing does. */
const [lookMinMs, lookActiveMs, lookIdleMs] = [150, 300, 600];
const idleAfterMs = 10_000;

interface RunProgress {
  readonly id: string;
  readonly version: number;
  readonly planLogBytes: number;
  readonly applyLogBytes: number;
}

/** One narrow statement by primary keys, however many runs are followed. */
async function findProgress(tx: Tx, ids: readonly string[]): Promise<RunProgress[]> {
  return tx.db
    .selectFrom("runs as r")
    .innerJoin("runPhases as p", "p.id", "r.planId")
    .innerJoin("runPhases as a", "a.id", "r.applyId")
    .select(["r.id", "r.version", "p.logBytes as planLogBytes", "a.logBytes as applyLogBytes"])
    .where(tx.dialect.isOneOf(sql.ref("r.id"), ids))
    .execute();
}

interface FollowedRun {
  progress: RunProgress | undefined;
  readonly wakes: Set<() => void>;
}

/** A run as one stream follows it. */
export interface Following {
  /** Waits for a change since the last call, at most so long. */
  changed(forMs: number): Promise<void>;
  progress(): RunProgress | undefined;
  stop(): void;
}

class RunFeed {
  readonly #database: Database;
  readonly #runs = new Map<string, FollowedRun>();
  #isLooking = false;

  constructor(database: Database) {
    this.#database = database;
  }

  follow(id: string): Following {
    const run = this.#runs.get(id) ?? { progress: undefined, wakes: new Set<() => void>() };
    this.#runs.set(id, run);
    let seen: RunProgress | undefined;
    let wake = () => {};
    const woken = () => wake();
    run.wakes.add(woken);
    if (!this.#isLooking) void this.#look();
    return {
      progress: () => run.progress,
      changed: async (forMs) => {
        if (run.progress === seen) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          const timer = setTimeout(resolve, forMs);
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

  async #look(): Promise<void> {
    this.#isLooking = true;
    let [lookedAt, changedAt, commits] = [0, performance.now(), -1];
    while (this.#runs.size > 0) {
      const sinceLook = performance.now() - lookedAt;
      const everyMs = performance.now() - changedAt > idleAfterMs ? lookIdleMs : lookActiveMs;
      const isCommitted = this.#database.commitCount() !== commits && sinceLook >= lookMinMs;
      if (isCommitted || sinceLook >= everyMs) {
        lookedAt = performance.now();
        commits = this.#database.commitCount();
        // While the database does not answer, streams stay open; their own checks find out whether it answers again.
        const found = await findProgress(this.#database.reader, [...this.#runs.keys()]).catch(() => []);
        for (const progress of found) if (this.#note(progress)) changedAt = performance.now();
      }
      await pause(tickMs);
    }
    this.#isLooking = false;
  }

  /** Whether it is another progress than before. */
  #note(progress: RunProgress): boolean {
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
  const known = feeds.get(database);
  if (known !== undefined) return known;
  const feed = new RunFeed(database);
  feeds.set(database, feed);
  return feed;
}
