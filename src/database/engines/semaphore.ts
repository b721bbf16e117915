/** A semaphore that serves waiters in order, each with a timeout. */

interface QueuedWaiter {
  readonly enter: () => void;
  readonly timer: NodeJS.Timeout;
}

export class SemaphoreTimeout extends Error {
  override readonly name = "SemaphoreTimeout";
}

export class Semaphore {
  readonly #slots: number;
  readonly #timeoutMs: number;
  readonly #waiting: QueuedWaiter[] = [];
  #used = 0;

  constructor(slots: number, timeoutMs: number) {
    this.#slots = slots;
    this.#timeoutMs = timeoutMs;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter();
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#used < this.#slots) {
      this.#used += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(new SemaphoreTimeout(`no slot was free within ${this.#timeoutMs} ms`));
      };
      const waiter = { enter: resolve, timer: setTimeout(giveUp, this.#timeoutMs) };
      this.#waiting.push(waiter);
    });
  }

  /** Passes the slot to the next waiter directly, so that no newcomer can take it. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#used -= 1;
      return;
    }
    clearTimeout(next.timer);
    next.enter();
  }
}
