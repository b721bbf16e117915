/** One run of a job under its lease: keeps the lease alive, fences every step by it, and ends the run when it is lost. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Capability } from "../access/capability.ts";
import type { Database, Tx } from "../database/database.ts";
import type { Context } from "../resources/shared/context.ts";
import type { JobWork } from "../resources/shared/job-work.ts";
import { type Job, LeaseLost } from "./job.ts";
import { type JobLease, renew } from "./lease.ts";

const issueCapability = Capability.issuer("job");

export type JobRunResult =
  | { readonly kind: "succeeded"; readonly handled: number }
  | { readonly kind: "failed"; readonly error: unknown }
  /** `handled` is 0 where the job did not say in time. */
  | { readonly kind: "stopped"; readonly handled: number }
  | { readonly kind: "lost" };

export interface RunOptions {
  readonly database: Database;
  readonly job: Job;
  readonly lease: JobLease;
  readonly context: Context;
  /** Aborted when the server stops. */
  readonly stop: AbortSignal;
  /** After each step. */
  readonly onStep?: (() => void) | undefined;
}

export class LeasedRun {
  readonly #options: RunOptions;
  readonly #own = new AbortController();
  readonly #signal: AbortSignal;
  /** What is under way in the database. */
  readonly #pending = new Set<Promise<unknown>>();
  #renewedAt = performance.now();

  constructor(options: RunOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.stop, this.#own.signal]);
  }

  /** Returns when nothing of it is under way in the database any more; later steps of a job that goes on are refused. */
  async run(): Promise<JobRunResult> {
    const { job, context, lease } = this.#options;
    const heartbeat = setInterval(() => void this.#beat(), lease.leaseMs / 3).unref();
    const capability = issueCapability();
    const work: JobWork = { context, capability, signal: this.#signal, step: (step) => this.#step(step) };
    let result: JobRunResult;
    try {
      this.#signal.throwIfAborted();
      const handled = await Promise.race([Promise.try(() => job.run(work)), this.#aborted()]);
      result = this.#isLost() ? { kind: "lost" } : { kind: this.#isStopped() ? "stopped" : "succeeded", handled };
    } catch (error) {
      if (this.#isLost()) result = { kind: "lost" };
      else result = this.#isStopped() ? { kind: "stopped", handled: 0 } : { kind: "failed", error };
    }
    clearInterval(heartbeat);
    this.#own.abort(new LeaseLost(job.name));
    await Promise.allSettled(this.#pending);
    return result;
  }

  readonly #isLost = () => this.#own.signal.aborted;
  readonly #isStopped = () => this.#options.stop.aborted;

  async #step<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const { database, job, lease, onStep } = this.#options;
    // The embedded database answers without waiting: steps in a row would let nothing else of this server have its turn.
    await nextTurn();
    this.#signal.throwIfAborted();
    const begunAt = performance.now();
    try {
      const result = await this.#track(
        database.write(async (tx) => {
          // It may have waited for its turn.
          this.#signal.throwIfAborted();
          if (!(await renew(tx, lease))) throw new LeaseLost(job.name);
          return work(tx);
        }),
      );
      this.#renewedAt = begunAt;
      onStep?.();
      return result;
    } catch (error) {
      if (error instanceof LeaseLost) this.#own.abort(error);
      throw error;
    }
  }

  /** A database that is out of reach for a while is no reason to give up; one that is for as long as the lease, is. */
  async #beat(): Promise<void> {
    const { database, job, lease } = this.#options;
    // A step that is under way has extended the lease, and holds its row.
    if (this.#pending.size > 0) return;
    const begunAt = performance.now();
    try {
      const isRenewed = await this.#track(database.write((tx) => renew(tx, lease)));
      if (isRenewed) this.#renewedAt = begunAt;
      else this.#own.abort(new LeaseLost(job.name));
    } catch {
      if (performance.now() - this.#renewedAt > lease.leaseMs) this.#own.abort(new LeaseLost(job.name));
    }
  }

  async #track<T>(pending: Promise<T>): Promise<T> {
    this.#pending.add(pending);
    try {
      return await pending;
    } finally {
      this.#pending.delete(pending);
    }
  }

  /** Rejects when the run is to end, but lets the steps under way finish and the job say what it has handled. */
  #aborted(): Promise<never> {
    return new Promise((_, reject) => {
      const end = async () => {
        await Promise.allSettled(this.#pending);
        setImmediate(() => reject(this.#signal.reason));
      };
      this.#signal.addEventListener("abort", () => void end(), { once: true });
    });
  }
}
