/** Runs the due jobs of one server; the lease lets one of several servers run a job. Never ends the process. */
import { randomUUID } from "node:crypto";
import type { BaseLogger } from "pino";
import type { Database } from "../database/database.ts";
import type { Vault } from "../database/vault.ts";
import { AppError, conflict } from "../kernel/errors.ts";
import { quoted } from "../kernel/text.ts";
import { hooks } from "../resources/index.ts";
import type { ServiceOptions } from "../resources/shared/context.ts";
import type { BackgroundJob } from "./job.ts";
import {
  type Acquisition,
  acquire,
  requestRerun,
  dueJobs,
  ensureJobs,
  type JobLease,
  leaseMsByDefault,
  release,
} from "./lease.ts";
import { LeasedJobRun, type BackgroundJobResult } from "./run.ts";

export type JobLogger = Pick<BaseLogger, "debug" | "info" | "warn" | "error">;

export interface BackgroundJobRunnerOptions {
  readonly database: Database;
  readonly vault: Vault;
  readonly options: ServiceOptions;
  readonly jobs: readonly BackgroundJob[];
  readonly logger?: JobLogger | undefined;
  /** Also how long a crashed server blocks its job. */
  readonly leaseMs?: number;
  readonly tickMs?: number;
}

const tickMsByDefault = 1_000;

interface Slot {
  readonly job: BackgroundJob;
  isDue: boolean;
  isWoken: boolean;
  isBusy: boolean;
}

export class BackgroundJobRunner {
  readonly #options: BackgroundJobRunnerOptions;
  readonly #slots: ReadonlyMap<string, Slot>;
  readonly #leaseMs: number;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;
  #isStarted = false;
  #hasRows = false;
  #isPaused = false;

  constructor(options: BackgroundJobRunnerOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? leaseMsByDefault;
    this.#slots = new Map(options.jobs.map((job) => [job.name, { job, isDue: false, isWoken: false, isBusy: false }]));
  }

  /** Its timers keep no process alive. */
  start(): void {
    this.#isStarted = true;
    this.#schedule();
  }

  /** A running job runs again, because it may have read too early. Throws nothing: callers are in the middle of other work. */
  wake(name: string): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return this.#options.logger?.error({ job: name }, "unknown job woken");
    slot.isWoken = true;
    this.#runIfIdle(slot);
  }

  /** Throws `not-found`, what the job raises, and `conflict` if the job is running, is stopped or loses its lease. */
  async runNow(name: string, onStep?: () => void): Promise<{ handled: number }> {
    const job = this.#slots.get(name)?.job;
    if (job === undefined) throw new AppError("not-found", `There is no job ${quoted(name)}.`);
    return this.#track(this.#runOnRequest(job, onStep));
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stop.abort();
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  async #runOnRequest(job: BackgroundJob, onStep: (() => void) | undefined): Promise<{ handled: number }> {
    const { name } = job;
    const acquisition = await this.#acquire(job, { isForced: true, requestsRerun: false });
    if (acquisition.kind !== "acquired") {
      const holder = acquisition.kind === "held" ? acquisition.holder : "another server";
      throw conflict(`The job ${name} is running on ${holder}. Try again when it is done.`);
    }
    const { result } = await this.#run(job, acquisition, onStep);
    switch (result.kind) {
      case "succeeded":
        return { handled: result.handled };
      case "failed":
        throw result.error;
      case "stopped":
        throw conflict(`The job ${name} was stopped before its end. Finished steps are kept.`);
      case "lost":
        throw conflict(`The job ${name} lost its lease to another server, which continues it.`);
    }
  }

  #isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Jitter: servers that start together must not poll together. */
  #schedule(): void {
    if (this.#isStopping()) return;
    const tickMs = (this.#options.tickMs ?? tickMsByDefault) * (0.75 + Math.random() / 2);
    this.#timer = setTimeout(() => void this.#track(this.#tick()).finally(() => this.#schedule()), tickMs).unref();
  }

  async #tick(): Promise<void> {
    try {
      await this.#ensureRows();
      const due = new Set(await dueJobs(this.#options.database.reader));
      // A read-only database fails only when a lease is acquired.
      if (due.size === 0) this.#noteDatabase(undefined);
      for (const slot of this.#slots.values()) {
        slot.isDue ||= due.has(slot.job.name);
        this.#runIfIdle(slot);
      }
    } catch (error) {
      this.#noteDatabase(error);
    }
  }

  async #ensureRows(): Promise<void> {
    if (this.#hasRows) return;
    await this.#options.database.write((tx) => ensureJobs(tx, this.#options.jobs));
    this.#hasRows = true;
  }

  /** One loop per job coalesces wakes. */
  #runIfIdle(slot: Slot): void {
    if (!slot.isBusy) void this.#track(this.#runWhileDueOrWoken(slot));
  }

  async #runWhileDueOrWoken(slot: Slot): Promise<void> {
    slot.isBusy = true;
    try {
      while ((slot.isDue || slot.isWoken) && !this.#isStopping()) await this.#attempt(slot);
    } catch (error) {
      // The next poll finds the job due; a wake stays until then.
      this.#noteDatabase(error);
    } finally {
      slot.isBusy = false;
    }
  }

  async #attempt(slot: Slot): Promise<void> {
    const { job, isWoken } = slot;
    slot.isDue = false;
    slot.isWoken = false;
    let acquisition: Acquisition;
    try {
      acquisition = await this.#acquire(job, { isForced: isWoken, requestsRerun: isWoken });
    } catch (error) {
      slot.isWoken ||= isWoken;
      this.#hasRows = false;
      throw error;
    }
    this.#noteDatabase(undefined);
    if (acquisition.kind !== "acquired") return;
    const { isRerunRequested } = await this.#run(job, acquisition);
    slot.isDue ||= isRerunRequested;
  }

  async #acquire(
    job: BackgroundJob,
    { isForced, requestsRerun }: { isForced: boolean; requestsRerun: boolean },
  ): Promise<Acquisition> {
    await this.#ensureRows();
    return this.#options.database.write(async (tx) => {
      const acquisition = await acquire(tx, job, { leaseMs: this.#leaseMs, isForced });
      if (acquisition.kind !== "acquired" && requestsRerun) await requestRerun(tx, job.name);
      return acquisition;
    });
  }

  async #run(
    job: BackgroundJob,
    { lease, abandonedBy }: Extract<Acquisition, { kind: "acquired" }>,
    onStep?: () => void,
  ): Promise<{ result: BackgroundJobResult; isRerunRequested: boolean }> {
    const { database, vault, options, logger } = this.#options;
    const fields = { job: job.name, holder: lease.holder, requestId: `job-${job.name}-${randomUUID()}` };
    if (abandonedBy !== undefined) logger?.warn({ ...fields, abandonedBy }, "job taken over: lease expired");
    const context = {
      actor: { kind: "operator" },
      database,
      vault,
      options,
      hooks,
      requestId: fields.requestId,
      // The CLI starts no other job: a server runs it when it is due.
      ...(this.#isStarted && { wake: (name: string) => this.wake(name) }),
    } as const;
    const run = new LeasedJobRun({ database, job, lease, context, stop: this.#stop.signal, onStep });
    const result = await run.run();
    this.#log(result, fields);
    return { result, isRerunRequested: await this.#release(lease, result, fields) };
  }

  /** If the result can't be recorded, the lease expires and the job runs again. */
  async #release(lease: JobLease, result: BackgroundJobResult, fields: { requestId: string }): Promise<boolean> {
    if (result.kind === "lost") return false;
    const ending =
      result.kind === "failed"
        ? ({ kind: "failed", message: messageOf(result.error, fields.requestId) } as const)
        : result;
    try {
      return await this.#options.database.write((tx) => release(tx, lease, ending));
    } catch (error) {
      this.#options.logger?.warn({ ...fields, err: innermost(error) }, "job result not recorded");
      return false;
    }
  }

  #log(result: BackgroundJobResult, fields: object): void {
    const { logger } = this.#options;
    if (result.kind === "lost") logger?.warn(fields, "job lost its lease");
    else if (result.kind === "failed") logger?.error({ ...fields, err: innermost(result.error) }, "job failed");
    else logger?.[result.handled > 0 ? "info" : "debug"]({ ...fields, handled: result.handled }, `job ${result.kind}`);
  }

  /** Logs a change only, not every poll. */
  #noteDatabase(error: unknown): void {
    const isPaused = error !== undefined;
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    const cause = innermost(error);
    // The fence has already logged its refusal.
    if (isPaused && cause instanceof AppError) this.#options.logger?.warn("jobs paused: writes are refused");
    else if (isPaused) this.#options.logger?.warn({ err: cause }, "jobs paused: the database does not respond");
    else this.#options.logger?.info("jobs resumed");
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }
}

const innermost = (error: unknown) => (error instanceof AppError ? (error.internal ?? error) : error);

/** Only the message of an AppError is public; others stay in the log. */
function messageOf(error: unknown, requestId: string): string {
  return error instanceof AppError ? error.message : `Unexpected error. See the log for the request id ${requestId}.`;
}
