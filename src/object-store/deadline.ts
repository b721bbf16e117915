/** Ends an operation of the object store that makes no progress. */
import { counted } from "../kernel/text.ts";
import { ObjectStoreError } from "./object-store.ts";

export const silenceMsMax = 10_000;

/** Runs only while the store is awaited: neither a slow sender nor a slow reader is the store's fault. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #silenceMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs;
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The store accepted or sent a byte, or is awaited from now on. */
  readonly restart = (): void => {
    this.stop();
    this.#timer = setTimeout(() => this.#controller.abort(this.#silence()), this.#silenceMs);
  };

  stop(): void {
    clearTimeout(this.#timer);
  }

  #silence(): ObjectStoreError {
    return new ObjectStoreError(
      "unavailable",
      "Silence",
      `The object store made no progress for ${counted(this.#silenceMs / 1000, "second")}.`,
    );
  }
}
