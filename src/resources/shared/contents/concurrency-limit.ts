/** Limits concurrent operations, in total and in each group. */
import { AppError } from "../../../kernel/errors.ts";

type LimitGroups<Group extends string> = Readonly<Record<Exclude<Group, "all">, string>>;

export class ConcurrencyLimit<Group extends string> {
  readonly #sentence: string;
  readonly #max: Readonly<Record<Group | "all", number>>;
  readonly #counts = new Map<string, number>();

  constructor(sentence: string, max: Readonly<Record<Group | "all", number>>) {
    this.#sentence = sentence;
    this.#max = max;
  }

  /** Throws `too-many-requests` if any of the groups is full. */
  async run<T>(groups: LimitGroups<Group>, work: () => Promise<T>): Promise<T> {
    const release = this.acquire(groups);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** The caller must call the returned function once. Throws `too-many-requests` if any of the groups is full. */
  acquire(groups: LimitGroups<Group>): () => void {
    const slots = Object.entries<string>({ ...groups, all: "" }) as [Group | "all", string][];
    const keys = slots.map(([group, name]) => `${group} ${name}`);
    const isFull = slots.some(([group], index) => (this.#counts.get(keys[index] ?? "") ?? 0) >= this.#max[group]);
    if (isFull) throw new AppError("too-many-requests", this.#sentence, { retryAfterSeconds: 2 });
    for (const key of keys) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return () => {
      for (const key of keys) this.#release(key);
    };
  }

  #release(key: string): void {
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left === 0) this.#counts.delete(key);
    else this.#counts.set(key, left);
  }
}

/** No URL or organization can use all of the memory for uploads. */
export const uploadLimit = (things: string) =>
  new ConcurrencyLimit(`Too many ${things} are being uploaded at the same time. Try again shortly.`, {
    all: 64,
    organization: 16,
    version: 4,
  });
