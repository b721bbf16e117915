/** A queue of tasks for threads: one task of an organization at a time, so that none blocks the others. */
export class OrganizationQueue {
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #running = new Set<string>();
  readonly #threadsMax: number;

  constructor(threadsMax: number) {
    this.#threadsMax = threadsMax;
  }

  waiting(organizationId: string): number {
    return this.#waiting.get(organizationId)?.length ?? 0;
  }

  async run<T>(organizationId: string, task: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#waiting.set(organizationId, [...(this.#waiting.get(organizationId) ?? []), resolve]);
      this.#startNext();
    });
    try {
      return await task();
    } finally {
      this.#running.delete(organizationId);
      this.#startNext();
    }
  }

  #startNext(): void {
    for (const [organizationId, [first, ...rest]] of this.#waiting) {
      if (this.#running.size >= this.#threadsMax) return;
      if (this.#running.has(organizationId) || first === undefined) continue;
      this.#waiting.delete(organizationId);
      if (rest.length > 0) this.#waiting.set(organizationId, rest);
      this.#running.add(organizationId);
      first();
    }
  }
}
