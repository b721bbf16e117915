/** The linearizability checker rejects impossible histories and accepts possible ones. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Call, judgeLinearity } from "../../proof/linear.ts";
import { type LockOp, lock, nobody, register, type RegisterOp } from "../../proof/models.ts";
import { deep } from "../support/depth.ts";

const never = Number.POSITIVE_INFINITY;
const call = <Op>(calledMs: number, answeredMs: number, op: Op): Call<Op> => ({ op, calledMs, answeredMs });
const write = (value: string): RegisterOp => ({ kind: "write", value });
const read = (value: string): RegisterOp => ({ kind: "read", value });
const kindOf = (calls: readonly Call<RegisterOp>[]) => judgeLinearity(calls, register("")).kind;
const locks = (calls: readonly Call<LockOp>[]) => judgeLinearity(calls, lock).kind;
const lockOp = (holder: string, isDone = true): LockOp => ({ kind: "lock", holder, isDone });
const unlockOp = (by: string, isDone = true): LockOp => ({ kind: "unlock", by, isDone });

describe("a value", () => {
  it("may be read as the old or the new one while it is written", () => {
    for (const seen of ["", "a"]) expect(kindOf([call(0, 10, write("a")), call(5, 6, read(seen))])).toBe("linear");
  });

  it("is not read as the old one after an acknowledged write", () => {
    expect(kindOf([call(0, 10, write("a")), call(11, 12, read(""))])).toBe("broken");
  });

  it("does not change back after it was read", () => {
    const calls = [call(0, 100, write("a")), call(10, 20, read("a")), call(30, 40, read(""))];
    expect(kindOf(calls)).toBe("broken");
  });

  it("is never one that was not written", () => {
    expect(kindOf([call(0, 1, write("a")), call(2, 3, read("b"))])).toBe("broken");
  });

  it("may come from a write with an unknown outcome at any later time, or never", () => {
    const unknown = call(0, never, write("a"));
    expect(kindOf([unknown, call(10, 11, read("")), call(20, 21, read("a"))])).toBe("linear");
    expect(kindOf([unknown, call(10, 11, read("")), call(20, 21, read(""))])).toBe("linear");
    expect(kindOf([unknown, call(10, 11, read("a")), call(20, 21, read(""))])).toBe("broken");
  });

  it("does not come from a write with an unknown outcome after its deadline", () => {
    const unknown = { ...call(0, never, write("a")), untilMs: 15 };
    const then = call(18, 20, read("a"));
    expect(kindOf([unknown, call(14, 17, read("")), then])).toBe("linear");
    expect(kindOf([unknown, call(16, 17, read("")), then])).toBe("broken");
    expect(kindOf([unknown, call(16, 17, read(""))])).toBe("linear");
  });

  it("is checked with many unknown outcomes, if each has a deadline", () => {
    const calls = Array.from({ length: 200 }, (_, index) => {
      const at = index * 10;
      const unknown = { ...call(at, never, write(`${index}`)), untilMs: at + 25 };
      return [unknown, call(at + 1, at + 2, write("a")), call(at + 3, at + 4, read("a"))];
    }).flat();
    expect(kindOf([...calls, call(3_000, 3_001, read("199"))])).toBe("linear");
    expect(kindOf([...calls, call(3_000, 3_001, read("100"))])).toBe("broken");
  });

  it("does not come from a write that was sent later", () => {
    expect(kindOf([call(0, 1, read("a")), call(5, never, write("a"))])).toBe("broken");
  });

  it("reports the length of the linearizable prefix", () => {
    const calls = [call(0, 1, write("a")), call(2, 3, read("a")), call(4, 5, read("b"))];
    expect(judgeLinearity(calls, register(""))).toEqual({ kind: "broken", explained: 2, at: 4 });
  });
});

describe("a lock", () => {
  it("has one holder", () => {
    expect(locks([call(0, 10, lockOp("a:1")), call(1, 9, lockOp("b:1", false))])).toBe("linear");
    expect(locks([call(0, 10, lockOp("a:1")), call(1, 9, lockOp("b:1"))])).toBe("broken");
  });

  it("is not refused while it is free", () => {
    expect(locks([call(0, 1, lockOp("a:1")), call(2, 3, unlockOp("a")), call(4, 5, lockOp("b:1", false))])).toBe(
      "broken",
    );
  });

  it("is released only by its holder", () => {
    expect(locks([call(0, 1, lockOp("a:1")), call(2, 3, unlockOp("b"))])).toBe("broken");
    expect(locks([call(0, 1, lockOp("a:1")), call(2, 3, unlockOp("b", false))])).toBe("linear");
  });

  it("is read with its current holder", () => {
    expect(locks([call(0, 1, lockOp("a:1")), call(2, 3, { kind: "read", holder: "a:1" })])).toBe("linear");
    expect(locks([call(0, 1, lockOp("a:1")), call(2, 3, { kind: "read", holder: nobody })])).toBe("broken");
  });
});

/** Operations on a real register, each at a random time between request and response. */
const histories = fc.array(
  fc.record({ at: fc.nat(200), before: fc.nat(30), after: fc.nat(30), isWrite: fc.boolean(), isLost: fc.boolean() }),
  { maxLength: 24 },
);

describe("a history of a real register", () => {
  it("is accepted, also with lost responses", () => {
    const judged = fc.property(histories, (steps) => {
      let state = "";
      const calls = steps
        .toSorted((one, other) => one.at - other.at)
        .map(({ at, before, after, isWrite, isLost }, index) => {
          if (isWrite) state = `v${index}`;
          return call(at - before, isWrite && isLost ? never : at + after, isWrite ? write(state) : read(state));
        });
      return kindOf(calls) === "linear";
    });
    fc.assert(judged, { numRuns: deep(100, 2_000) });
  });
});
