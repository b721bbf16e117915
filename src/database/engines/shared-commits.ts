/**
 * Writes that wait in line share one transaction, and so one wait for the disk. Each runs under a savepoint of its own, so that one
 * that fails takes only itself back; all are answered after the commit, and a commit that fails fails them all. Nobody learns of
 * anything that is not on the disk.
 */

import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";

/** What a shared transaction needs of its connection. */
export interface TransactionControl {
  control(statement: string): void;
  /** Asked once a transaction has begun, when nobody else can write any more. Raises where nothing may be written. */
  admit(): void;
  /** Resolves when it is on the disk. `keepsCache`: all that it holds is. */
  commit(keepsCache: boolean): Promise<void>;
  /** What is to be done between two transactions. Nobody but those who wait to write waits for it. */
  settle(): Promise<void>;
}

interface QueuedWrite {
  readonly keepsCache: boolean;
  readonly run: () => Promise<unknown>;
  /** It has a transaction of its own, which is taken back whole. */
  readonly isRehearsal: boolean;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** So long at the most may a transaction take in further writes: those that are done wait for it too. */
const sharingMs = 10;
/** How many turns of the event loop may bring others who write along. */
const turnsMax = 8;
/** How long somebody else may be writing, in another process perhaps, before whoever waits is told. */
const patienceMs = 500;
const pauseMs = 10;

export class SharedCommits {
  readonly #connection: TransactionControl;
  readonly #isBusy: (error: unknown) => boolean;
  readonly #queue: QueuedWrite[] = [];
  #working: Promise<void> | undefined;
  #sharedLast = false;
  /** How many transactions were committed, for whoever wants to know how well they are shared. */
  commits = 0;

  /** `isBusy` tells the error of a database that somebody else is writing to. */
  constructor(connection: TransactionControl, isBusy: (error: unknown) => boolean) {
    this.#connection = connection;
    this.#isBusy = isBusy;
  }

  get isWriting(): boolean {
    return this.#working !== undefined;
  }

  /** Resolves when nobody writes or waits to. */
  async idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
  }

  /** Waits in line; rejects with the work's own error, or with the one that kept the transaction from being committed. */
  write<T>(run: () => Promise<T>, keepsCache = false): Promise<T> {
    return this.#enqueue(run, { keepsCache, isRehearsal: false });
  }

  /** Waits in the same line; what it writes is taken back, and nobody's answer depends on it. */
  rehearse<T>(run: () => Promise<T>): Promise<T> {
    return this.#enqueue(run, { keepsCache: true, isRehearsal: true });
  }

  #enqueue<T>(run: () => Promise<T>, kind: Pick<QueuedWrite, "keepsCache" | "isRehearsal">): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ ...kind, run, resolve, reject });
      this.#working ??= this.#work();
    });
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#gather();
      if (this.#queue[0]?.isRehearsal) await this.#runRehearsal(this.#queue.shift() as QueuedWrite);
      else await this.#runShared();
      await this.#connection.settle();
    }
    this.#working = undefined;
  }

  /**
   * Lets the event loop turn before a transaction is begun: once, or, where others wrote along last time, for as long as somebody
   * comes, a few times at the most. That costs little beside the wait for the disk.
   */
  async #gather(): Promise<void> {
    await turn();
    for (let turned = 1, known = 0; this.#sharedLast && turned < turnsMax && this.#queue.length > known; turned += 1) {
      known = this.#queue.length;
      await turn();
    }
  }

  async #runShared(): Promise<void> {
    const until = performance.now() + sharingMs;
    const taken: QueuedWrite[] = [];
    const outcomes: (() => void)[] = [];
    try {
      await this.#begin();
      while (this.#queue[0]?.isRehearsal === false) {
        const next = this.#queue.shift() as QueuedWrite;
        taken.push(next);
        outcomes.push(await this.#runUnderSavepoint(next));
        if (performance.now() > until) break;
      }
      await this.#connection.commit(taken.every(({ keepsCache }) => keepsCache));
    } catch (error) {
      this.#rollback();
      for (const { reject } of taken.length > 0 ? taken : this.#queue.splice(0)) reject(error);
      return;
    }
    this.commits += 1;
    this.#sharedLast = taken.length > 1;
    for (const tell of outcomes) tell();
  }

  /** A rehearsal: not under a savepoint of what others commit, because pages that it touched would be written again with them. */
  async #runRehearsal({ run, resolve, reject }: QueuedWrite): Promise<void> {
    try {
      await this.#begin();
      const value = await run();
      this.#rollback();
      resolve(value as never);
    } catch (error) {
      this.#rollback();
      reject(error);
    }
  }

  /** Everybody in line keeps their place while somebody else is writing. */
  async #begin(): Promise<void> {
    for (const until = performance.now() + patienceMs; ;) {
      try {
        this.#connection.control("BEGIN IMMEDIATE");
        return this.#connection.admit();
      } catch (error) {
        if (!this.#isBusy(error) || performance.now() > until) throw error;
        await sleep(Math.random() * pauseMs);
      }
    }
  }

  /**
   * What to tell after the commit. A refusal waits for it too: it may rest on what another write of the same transaction did. Raises
   * where the transaction as a whole can't go on.
   */
  async #runUnderSavepoint({ run, resolve, reject }: QueuedWrite): Promise<() => void> {
    this.#connection.control("SAVEPOINT apart");
    try {
      const value = await run();
      this.#connection.control("RELEASE apart");
      return () => resolve(value as never);
    } catch (error) {
      try {
        this.#connection.control("ROLLBACK TO apart");
        this.#connection.control("RELEASE apart");
      } catch {
        // It ended the whole transaction (a full disk): that is what everybody is told, not that the savepoint is gone.
        throw error;
      }
      return () => reject(error);
    }
  }

  #rollback(): void {
    try {
      this.#connection.control("ROLLBACK");
    } catch {
      // Some errors (a full disk) end the transaction by themselves; then there is nothing left to roll back.
    }
  }
}
