/** One run of a background job: renews the lease, checks it in every step, and ends when it is lost. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Capability } from "../access/capability.ts";
import type { Database, Tx } from "../database/database.ts";
import type { Context } from "../resources/shared/context.ts";
import type { JobContext, JobStepOptions } from "../resources/shared/job-context.ts";
import { type BackgroundJob, LeaseLost } from "./job.ts";
import { type JobLease, renew } from "./lease.ts";

const issueCapability = Capability.issuer("job");

export type BackgroundJobResult =
  | { readonly kind: "succeeded"; readonly handled: number }
  | { readonly kind: "failed"; readonly error: unknown }
  /** 0 if the job did not return in time. */
  | { readonly kind: "stopped"; readonly handled: number }
  | { readonly kind: "lost" };

export interface RunOptions {
  readonly database: Database;
  readonly job: BackgroundJob;
  readonly lease: JobLease;
  readonly context: Context;
  readonly stop: AbortSignal;
  readonly onStep?: (() => void) | undefined;
}

export class LeasedJobRun {
  readonly #options: RunOptions;
  readonly #leaseLost = new AbortController();
  readonly #signal: AbortSignal;
  readonly #pending = new Set<Promise<unknown>>();
  #renewedAt = performance.now();

  constructor(options: RunOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.stop, this.#leaseLost.signal]);
  }

  /** On return, no database operation is in progress, and later steps of the job are refused. */
  async run(): Promise<BackgroundJobResult> {
    const { job, context, lease } = this.#options;
    const heartbeat = setInterval(() => void this.#renew(), lease.leaseMs / 3).unref();
    const capability = issueCapability();
    const work: JobContext = {
      context,
      capability,
      signal: this.#signal,
      step: (step, options) => this.#step(step, options),
    };
    let result: BackgroundJobResult;
    try {
      this.#signal.throwIfAborted();
      const handled = await Promise.race([Promise.try(() => job.run(work)), this.#aborted()]);
      result = this.#isLost() ? { kind: "lost" } : { kind: this.#isStopped() ? "stopped" : "succeeded", handled };
    } catch (error) {
      if (this.#isLost()) result = { kind: "lost" };
      else result = this.#isStopped() ? { kind: "stopped", handled: 0 } : { kind: "failed", error };
    }
    clearInterval(heartbeat);
    this.#leaseLost.abort(new LeaseLost(job.name));
    await Promise.allSettled(this.#pending);
    return result;
  }

  readonly #isLost = () => this.#leaseLost.signal.aborted;
  readonly #isStopped = () => this.#options.stop.aborted;

  async #step<T>(work: (tx: Tx) => Promise<T>, { isAudited = false }: JobStepOptions = {}): Promise<T> {
    const { database, job, lease, onStep } = this.#options;
    // The embedded database is synchronous: consecutive steps would block the server.
    await nextTurn();
    this.#signal.throwIfAborted();
    const startedAt = performance.now();
    try {
      const result = await this.#track(
        database.write(
          async (tx) => {
            this.#signal.throwIfAborted();
            if (!(await renew(tx, lease))) throw new LeaseLost(job.name);
            return work(tx);
          },
          isAudited ? { commitCheck: undefined } : {},
        ),
      );
      this.#renewedAt = startedAt;
      onStep?.();
      return result;
    } catch (error) {
      if (error instanceof LeaseLost) this.#leaseLost.abort(error);
      throw error;
    }
  }

  /** Tolerates a database that is unreachable for less than the lease. */
  async #renew(): Promise<void> {
    const { database, job, lease } = this.#options;
    // A step in progress has extended the lease, and locks its row.
    if (this.#pending.size > 0) return;
    const startedAt = performance.now();
    try {
      const isRenewed = await this.#track(database.write((tx) => renew(tx, lease)));
      if (isRenewed) this.#renewedAt = startedAt;
      else this.#leaseLost.abort(new LeaseLost(job.name));
    } catch {
      if (performance.now() - this.#renewedAt > lease.leaseMs) this.#leaseLost.abort(new LeaseLost(job.name));
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

  /** Rejects only after the current steps have finished and the job could return. */
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
