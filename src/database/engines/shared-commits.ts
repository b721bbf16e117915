/** Queued writes share one transaction and so one sync. No write is answered before the commit; a failing one undoes only itself. */

import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";

export interface TransactionControl {
  control(statement: string): void;
  /** Called after BEGIN. Raises if nothing may be written. */
  admit(): void;
  commit(keepsCache: boolean): Promise<void>;
  settle(): Promise<void>;
}

interface QueuedWrite {
  readonly keepsCache: boolean;
  readonly run: () => Promise<unknown>;
  readonly isRehearsal: boolean;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** How long a transaction accepts further writes; the finished ones wait. */
const sharingMs = 10;
const turnsMax = 8;
const patienceMs = 500;
const pauseMs = 10;

export class GroupCommit {
  readonly #connection: TransactionControl;
  readonly #isBusy: (error: unknown) => boolean;
  readonly #queue: QueuedWrite[] = [];
  #working: Promise<void> | undefined;
  #sharedLast = false;
  commits = 0;

  constructor(connection: TransactionControl, isBusy: (error: unknown) => boolean) {
    this.#connection = connection;
    this.#isBusy = isBusy;
  }

  get isWriting(): boolean {
    return this.#working !== undefined;
  }

  async idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
  }

  write<T>(run: () => Promise<T>, keepsCache = false): Promise<T> {
    return this.#enqueue(run, { keepsCache, isRehearsal: false });
  }

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

  /** Waits one turn, or as long as writers arrive if the last transaction was shared: cheap compared to the disk. */
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

  /** Not under a savepoint of a shared transaction, whose commit would write the pages that it touches. */
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

  /** Writers keep their place in the queue while another process is writing. */
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

  /** Returns the reply to send after the commit. A rejection waits too, because it may depend on another write of the transaction. */
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
        // The error ended the whole transaction (a full disk): report it, not the missing savepoint.
        throw error;
      }
      return () => reject(error);
    }
  }

  #rollback(): void {
    try {
      this.#connection.control("ROLLBACK");
    } catch {}
  }
}
