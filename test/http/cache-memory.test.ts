/** The response cache's memory: bounded in bytes, least recently used entries first. */
import { describe, expect, it } from "vitest";
import { CachedResponses, type CachedResponse } from "../../src/http/response-cache.ts";

describe("the memory of the response cache", () => {
  const responseOf = (bytes: number): CachedResponse => ({
    body: Buffer.alloc(bytes),
    etag: undefined,
    validator: undefined,
    route: "/",
    loggedUrl: "/",
    fingerprint: "",
    expiresAtMs: Number.POSITIVE_INFINITY,
    organizationId: undefined,
    snapshotId: 1,
  });

  it("is bounded in bytes, and evicts the least recently used entries", () => {
    const cache = new CachedResponses(100_000);
    for (let count = 0; count < 20; count += 1) {
      cache.store(`key ${count}`, responseOf(10_000));
      cache.find("key 0");
    }
    expect(cache.bytes).toBeLessThanOrEqual(100_000);
    expect(cache.find("key 0")).toBeDefined();
    expect(cache.find("key 1")).toBeUndefined();
    expect(cache.find("key 19")).toBeDefined();
  });

  it("stores no response that would evict much of the rest", () => {
    const cache = new CachedResponses(100_000);
    cache.store("large", responseOf(50_000));
    expect(cache.find("large")).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  it("counts an entry that replaces another once", () => {
    const cache = new CachedResponses(100_000);
    cache.store("one", responseOf(5_000));
    const once = cache.bytes;
    cache.store("one", responseOf(5_000));
    expect(cache.bytes).toBe(once);
  });
});
