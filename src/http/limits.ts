/** How often a caller may call, and an address may fail to sign in: token buckets in memory, bounded in number. */

export interface Allowance {
  readonly allowed: boolean;
  /** Seconds until the next one is allowed. */
  readonly retryAfterSeconds: number;
}

const bucketsMax = 50_000;

export class RateLimiter {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
  }

  /** Whether `key` may do one more, without counting it. */
  check(key: string): Allowance {
    const tokens = this.#refilled(key, Date.now());
    return { allowed: tokens >= 1, retryAfterSeconds: Math.max(0, (1 - tokens) / this.#perSecond) };
  }

  /** Counts one, if it is allowed. */
  take(key: string): Allowance {
    const at = Date.now();
    const tokens = this.#refilled(key, at);
    const allowed = tokens >= 1;
    // The least recently used is at the front; it goes first when there are too many.
    this.#buckets.delete(key);
    if (this.#buckets.size >= bucketsMax) this.#buckets.delete(this.#buckets.keys().next().value ?? "");
    this.#buckets.set(key, { tokens: allowed ? tokens - 1 : tokens, at });
    return { allowed, retryAfterSeconds: Math.max(0, (1 - tokens) / this.#perSecond) };
  }

  #refilled(key: string, at: number): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return this.#burst;
    return Math.min(this.#burst, bucket.tokens + ((at - bucket.at) / 1000) * this.#perSecond);
  }
}
