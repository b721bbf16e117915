/** The memory of answers: bounded in bytes, and what was asked for lately stays. */
import { describe, expect, it } from "vitest";
import { KeptAnswers, type KeptAnswer } from "../../src/http/kept.ts";

describe("what is kept in memory", () => {
  const answerOf = (bytes: number): KeptAnswer => ({
    body: Buffer.alloc(bytes),
    etag: undefined,
    warrant: undefined,
    route: "/",
    loggedUrl: "/",
    caller: "",
    until: Number.POSITIVE_INFINITY,
    moment: 1,
  });

  it("is bounded in bytes, and what was not asked for lately goes first", () => {
    const kept = new KeptAnswers(100_000);
    for (let count = 0; count < 20; count += 1) {
      kept.keep(`key ${count}`, answerOf(10_000));
      kept.find("key 0");
    }
    expect(kept.bytes).toBeLessThanOrEqual(100_000);
    expect(kept.find("key 0")).toBeDefined();
    expect(kept.find("key 1")).toBeUndefined();
    expect(kept.find("key 19")).toBeDefined();
  });

  it("takes nothing that would push out much of the rest", () => {
    const kept = new KeptAnswers(100_000);
    kept.keep("large", answerOf(50_000));
    expect(kept.find("large")).toBeUndefined();
    expect(kept.bytes).toBe(0);
  });

  it("is counted once for an answer that takes another's place", () => {
    const kept = new KeptAnswers(100_000);
    kept.keep("one", answerOf(5_000));
    const once = kept.bytes;
    kept.keep("one", answerOf(5_000));
    expect(kept.bytes).toBe(once);
  });
});
