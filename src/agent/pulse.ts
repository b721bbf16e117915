/**
 * A job's heartbeat, and the channel on which it is told to stop. When the server was not reached for so long that it may give the
 * job away, or has said that the job is no longer ours, `lost` is raised, before anybody else can begin.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Fenced, type Signal } from "./client.ts";

const waitSeconds = 8;
/** The server waits 30 seconds from when it received the last beat; ours are counted from when it was sent. */
const silenceMsMax = 27_000;
const lookMs = 250;
const signaledPauseMs = 1000;

interface Heart {
  readonly heartbeat: (wait: number, signal: AbortSignal) => Promise<Signal | null>;
}

export class Pulse {
  readonly #lost: AbortController;
  readonly #stopped = new AbortController();
  readonly #onSignal: (signal: Signal) => void;
  readonly #silenceMs: number;
  #contactAt = performance.now();
  #told: Signal | null = null;

  constructor(lost: AbortController, onSignal: (signal: Signal) => void, silenceMs = silenceMsMax) {
    this.#silenceMs = silenceMs;
    this.#lost = lost;
    this.#onSignal = onSignal;
  }

  start(client: Heart): void {
    const look = setInterval(() => {
      if (performance.now() - this.#contactAt > this.#silenceMs)
        this.#lose("the server could not be reached for too long");
    }, lookMs);
    this.#stopped.signal.addEventListener("abort", () => clearInterval(look));
    void this.#beat(client);
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #beat(client: Heart): Promise<void> {
    const { signal } = this.#stopped;
    let wasReached = true;
    while (!signal.aborted && !this.#lost.signal.aborted) {
      const sentAt = performance.now();
      try {
        // A server that is back answers at once: to wait for a signal would be to wait for knowing that it is.
        const told = await client.heartbeat(wasReached ? waitSeconds : 0, signal);
        this.#contactAt = sentAt;
        wasReached = true;
        if (told !== null) await this.#hear(told, signal);
      } catch (error) {
        if (signal.aborted) return;
        wasReached = false;
        if (error instanceof Fenced) this.#lose(error.message);
        else await pause(500 + Math.random() * 1000, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** A signal stays, so that the next beat is answered with it at once: no need to ask at full speed. */
  async #hear(told: Signal, signal: AbortSignal): Promise<void> {
    if (told !== this.#told && this.#told !== "kill") {
      this.#told = told;
      this.#onSignal(told);
    }
    await pause(signaledPauseMs, undefined, { signal }).catch(() => undefined);
  }

  #lose(reason: string): void {
    if (this.#stopped.signal.aborted || this.#lost.signal.aborted) return;
    this.#lost.abort(new Fenced(reason));
  }
}
