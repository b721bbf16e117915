/** Remembers which engines can't be fetched at the moment, and asks the mirror for them again, so that no job is claimed in vain. */
import { setTimeout as pause } from "node:timers/promises";
import type { UnavailableEngine } from "../job-channel.ts";
import { type EngineName, engineText } from "../products.ts";
import { EngineUnavailable } from "./faults.ts";
import { type EngineSource, probeRelease } from "./release.ts";

const enginesMax = 100;
const reasonLengthMax = 500;
const waitMs = { first: 5000, longest: 300_000 } as const;

export interface UnavailableVersion {
  readonly engine: string;
  readonly version: string;
  readonly reason: string;
}

export interface AvailabilityOptions {
  readonly source: EngineSource;
  readonly signal: AbortSignal;
  readonly onChange: () => void;
  readonly firstWaitMs?: number;
}

export class EngineAvailability {
  readonly #options: AvailabilityOptions;
  readonly #unavailable = new Map<string, UnavailableEngine>();
  /** Grows while the mirror says that it has an engine, and fetching it fails nevertheless. */
  readonly #waits = new Map<string, { readonly ms: number; readonly at: number }>();

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  get list(): UnavailableVersion[] {
    return [...this.#unavailable.values()].map(({ product, version, reason }) => ({
      engine: product,
      version,
      reason,
    }));
  }

  forget(): void {
    this.#unavailable.clear();
  }

  note(engine: UnavailableEngine): void {
    const key = engineText(engine);
    const isNew = !this.#unavailable.has(key);
    this.#unavailable.set(key, { ...engine, reason: engine.reason.slice(0, reasonLengthMax) });
    this.#options.onChange();
    const [oldest] = this.#unavailable.keys();
    if (this.#unavailable.size > enginesMax && oldest !== undefined) this.#unavailable.delete(oldest);
    if (isNew) void this.#askUntilAvailable(engine, key);
  }

  async #askUntilAvailable(engine: EngineName, key: string): Promise<void> {
    const { source, signal, onChange, firstWaitMs = waitMs.first } = this.#options;
    while (this.#unavailable.has(key)) {
      const last = this.#waits.get(key);
      const isRecent = last !== undefined && performance.now() - last.at < 2 * waitMs.longest;
      const wait = isRecent ? last.ms : firstWaitMs;
      this.#remember(key, Math.min(2 * wait, waitMs.longest));
      // With jitter: all agents of a pool may have noticed the same outage.
      await pause(wait * (0.75 + Math.random() / 2), undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await probeRelease(engine, source, signal);
        this.#unavailable.delete(key);
        onChange();
      } catch (error) {
        const isUnavailable = error instanceof EngineUnavailable;
        if (!isUnavailable) this.#unavailable.delete(key);
        else if (this.#unavailable.has(key))
          this.#unavailable.set(key, { ...engine, reason: error.message.slice(0, reasonLengthMax) });
        onChange();
      }
    }
  }

  #remember(key: string, ms: number): void {
    this.#waits.delete(key);
    this.#waits.set(key, { ms, at: performance.now() });
    const [oldest] = this.#waits.keys();
    if (this.#waits.size > enginesMax && oldest !== undefined) this.#waits.delete(oldest);
  }
}
