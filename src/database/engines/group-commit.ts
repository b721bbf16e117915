/** Group commit: queued writes share one transaction and one sync. No write resolves before it; a failing one undoes only itself. */
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";

export interface TransactionControl {
  control(statement: string): void;
  /** Called after BEGIN. Throws `unavailable` if this server can't write. */
  checkFence(): void;
  commit(keepsCache: boolean): Promise<void>;
  checkpointIfDue(): Promise<void>;
}

interface QueuedWrite {
  readonly keepsCache: boolean;
  readonly run: () => Promise<unknown>;
  readonly isRehearsal: boolean;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** How long a transaction accepts further writes; the finished ones wait. */
const groupWindowMs = 10;
const gatherTurnsMax = 8;
/** How long BEGIN is retried while another process is writing. */
const busyTimeoutMs = 500;
const pauseMs = 10;

export class GroupCommit {
  readonly #connection: TransactionControl;
  readonly #isBusy: (error: unknown) => boolean;
  readonly #queue: QueuedWrite[] = [];
  #running: Promise<void> | undefined;
  #sharedLast = false;
  commits = 0;

  constructor(connection: TransactionControl, isBusy: (error: unknown) => boolean) {
    this.#connection = connection;
    this.#isBusy = isBusy;
  }

  get isWriting(): boolean {
    return this.#running !== undefined;
  }

  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  write<T>(run: () => Promise<T>, keepsCache = false): Promise<T> {
    return this.#enqueue(run, { keepsCache, isRehearsal: false });
  }

  runAndRollBack<T>(run: () => Promise<T>): Promise<T> {
    return this.#enqueue(run, { keepsCache: true, isRehearsal: true });
  }

  #enqueue<T>(run: () => Promise<T>, kind: Pick<QueuedWrite, "keepsCache" | "isRehearsal">): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ ...kind, run, resolve, reject });
      this.#running ??= this.#processQueue();
    });
  }

  async #processQueue(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#gather();
      if (this.#queue[0]?.isRehearsal) await this.#runRehearsal(this.#queue.shift() as QueuedWrite);
      else await this.#runShared();
      await this.#connection.checkpointIfDue();
    }
    this.#running = undefined;
  }

  /** Waits one turn of the event loop, or several while writers arrive if the last transaction was shared: cheap compared to a sync. */
  async #gather(): Promise<void> {
    await turn();
    for (
      let turned = 1, known = 0;
      this.#sharedLast && turned < gatherTurnsMax && this.#queue.length > known;
      turned += 1
    ) {
      known = this.#queue.length;
      await turn();
    }
  }

  async #runShared(): Promise<void> {
    const until = performance.now() + groupWindowMs;
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
    for (const settle of outcomes) settle();
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
    for (const until = performance.now() + busyTimeoutMs; ;) {
      try {
        this.#connection.control("BEGIN IMMEDIATE");
        return this.#connection.checkFence();
      } catch (error) {
        if (!this.#isBusy(error) || performance.now() > until) throw error;
        await sleep(Math.random() * pauseMs);
      }
    }
  }

  /** Returns a function that settles the write after the commit. A rejection waits too, because it may depend on another write. */
  async #runUnderSavepoint({ run, resolve, reject }: QueuedWrite): Promise<() => void> {
    this.#connection.control("SAVEPOINT one_write");
    try {
      const value = await run();
      this.#connection.control("RELEASE one_write");
      return () => resolve(value as never);
    } catch (error) {
      try {
        this.#connection.control("ROLLBACK TO one_write");
        this.#connection.control("RELEASE one_write");
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
