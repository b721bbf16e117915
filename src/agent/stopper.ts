/** Stops the running command of a phase and the next ones: with an interrupt and a grace period, or immediately. */
import type { SandboxedProcess } from "../sandbox/process.ts";

export type StopReason = "canceled" | "timed-out" | "lost" | "disk" | "shutdown";

class Stopped extends Error {
  override readonly name = "Stopped";
}

/** An apply has to finish its current resources. */
const graceMs = { plan: 60_000, apply: 300_000 } as const;

export class Stopper {
  readonly #graceMs: number;
  readonly #stopped = new AbortController();
  #reason: StopReason | undefined;
  #isHard = false;
  #process: SandboxedProcess | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor(phase: "plan" | "apply") {
    this.#graceMs = graceMs[phase];
  }

  /** The first reason, also when a kill follows an interrupt. */
  get reason(): StopReason | undefined {
    return this.#reason;
  }

  /** Aborted by the first reason: for work other than the engine's. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  get isHard(): boolean {
    return this.#isHard;
  }

  interrupt(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#stopped.abort();
    this.#process?.interrupt();
    this.#grace = setTimeout(() => this.kill(reason), this.#graceMs).unref();
  }

  kill(reason: StopReason): void {
    this.#reason ??= reason;
    this.#stopped.abort();
    this.#isHard = true;
    clearTimeout(this.#grace);
    this.#process?.kill();
  }

  /** Throws Stopped. */
  check(): void {
    if (this.#reason !== undefined) throw new Stopped(this.#reason);
  }

  async during<Result>(process: SandboxedProcess, work: () => Promise<Result>): Promise<Result> {
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
