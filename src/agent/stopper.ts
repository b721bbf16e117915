/** Why a phase is to stop, and how: gently, by an interrupt and a grace, or at once. It stops what runs now and what would run next. */
import type { JobProcess } from "../sandbox/process.ts";

export type StopReason = "canceled" | "timed-out" | "lost" | "disk" | "shutdown";

/** Raised between two steps of a phase that is to stop. */
class Stopped extends Error {
  override readonly name = "Stopped";
}

/** How long an interrupted engine may take; an apply has resources to finish. */
const graceMs = { plan: 60_000, apply: 300_000 } as const;

export class Stopper {
  readonly #graceMs: number;
  #reason: StopReason | undefined;
  #isHard = false;
  #process: JobProcess | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor(phase: "plan" | "apply") {
    this.#graceMs = graceMs[phase];
  }

  /** The first reason stays; a hard stop may follow a gentle one. */
  get reason(): StopReason | undefined {
    return this.#reason;
  }

  /** Whether the engine was not given the time to stop by itself. */
  get isHard(): boolean {
    return this.#isHard;
  }

  gently(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#process?.interrupt();
    this.#grace = setTimeout(() => this.atOnce(reason), this.#graceMs).unref();
  }

  atOnce(reason: StopReason): void {
    this.#reason ??= reason;
    this.#isHard = true;
    clearTimeout(this.#grace);
    this.#process?.kill();
  }

  /** Raises Stopped. */
  check(): void {
    if (this.#reason !== undefined) throw new Stopped(this.#reason);
  }

  /** While it runs, a stop is its to hear. Raises Stopped. */
  async during<Answer>(process: JobProcess, work: () => Promise<Answer>): Promise<Answer> {
    this.#process = process;
    if (this.#isHard) process.kill();
    else if (this.#reason !== undefined) process.interrupt();
    try {
      return await work();
    } finally {
      this.#process = undefined;
    }
  }

  end(): void {
    clearTimeout(this.#grace);
  }
}
