/** A fair semaphore with a timeout. */

interface QueuedWaiter {
  readonly enter: () => void;
  readonly timer: NodeJS.Timeout;
}

export class SemaphoreTimeout extends Error {
  override readonly name = "SemaphoreTimeout";
}

export class Semaphore {
  readonly #width: number;
  readonly #patienceMs: number;
  readonly #waiting: QueuedWaiter[] = [];
  #inside = 0;

  constructor(width: number, patienceMs: number) {
    this.#width = width;
    this.#patienceMs = patienceMs;
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
    if (this.#inside < this.#width) {
      this.#inside += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(new SemaphoreTimeout(`no slot was free within ${this.#patienceMs} ms`));
      };
      const waiter = { enter: resolve, timer: setTimeout(giveUp, this.#patienceMs) };
      this.#waiting.push(waiter);
    });
  }

  /** Passes the slot to the next waiter directly, so that no newcomer can take it. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#inside -= 1;
      return;
    }
    clearTimeout(next.timer);
    next.enter();
  }
}
