/** Rate limits: token buckets in memory, bounded in number. */
import { isIP } from "node:net";
import { nowMs } from "../kernel/time.ts";

export interface Allowance {
  readonly allowed: boolean;
  readonly remaining: number;
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

  check(key: string): Allowance {
    return this.#allowance(this.#refilled(key, nowMs()));
  }

  take(key: string): Allowance {
    const at = nowMs();
    const tokens = this.#refilled(key, at);
    const allowed = tokens >= 1;
    this.#buckets.delete(key);
    if (this.#buckets.size >= bucketsMax) this.#buckets.delete(this.#buckets.keys().next().value ?? "");
    const left = allowed ? tokens - 1 : tokens;
    this.#buckets.set(key, { tokens: left, at });
    return { ...this.#allowance(left), allowed };
  }

  giveBack(key: string): void {
    const at = nowMs();
    const tokens = Math.min(this.#burst, this.#refilled(key, at) + 1);
    if (this.#buckets.has(key)) this.#buckets.set(key, { tokens, at });
  }

  #allowance(tokens: number): Allowance {
    const retryAfterSeconds = Math.max(0, (1 - tokens) / this.#perSecond);
    return { allowed: tokens >= 1, remaining: Math.floor(tokens), retryAfterSeconds };
  }

  #refilled(key: string, at: number): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return this.#burst;
    const elapsedMs = Math.max(0, at - bucket.at);
    return Math.min(this.#burst, bucket.tokens + (elapsedMs / 1000) * this.#perSecond);
  }
}

/** An IPv6 client controls a whole /64 network, so that network counts as one address. */
export function rateLimitKey(address: string): string {
  if (isIP(address) !== 6 || /^::ffff:/i.test(address)) return address;
  const [before = "", after] = address.split("::");
  const groupsOf = (text: string) => (text === "" ? [] : text.split(":"));
  const [left, right] = [groupsOf(before), groupsOf(after ?? "")];
  const middle = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  const network = [...left, ...middle, ...right].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}
