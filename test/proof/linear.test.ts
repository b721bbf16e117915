/** The checker of the proofs finds what can't be, and lets pass what can. */
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
const take = (holder: string, isDone = true): LockOp => ({ kind: "lock", holder, isDone });
const give = (by: string, isDone = true): LockOp => ({ kind: "unlock", by, isDone });

describe("a value", () => {
  it("may be read as either while it is written", () => {
    for (const seen of ["", "a"]) expect(kindOf([call(0, 10, write("a")), call(5, 6, read(seen))])).toBe("linear");
  });

  it("is not read as it was before a write that was acknowledged", () => {
    expect(kindOf([call(0, 10, write("a")), call(11, 12, read(""))])).toBe("broken");
  });

  it("does not go back once somebody has read it", () => {
    const calls = [call(0, 100, write("a")), call(10, 20, read("a")), call(30, 40, read(""))];
    expect(kindOf(calls)).toBe("broken");
  });

  it("is not read as nobody wrote it", () => {
    expect(kindOf([call(0, 1, write("a")), call(2, 3, read("b"))])).toBe("broken");
  });

  it("may come of a write whose outcome is unknown at any later moment, or never", () => {
    const unknown = call(0, never, write("a"));
    expect(kindOf([unknown, call(10, 11, read("")), call(20, 21, read("a"))])).toBe("linear");
    expect(kindOf([unknown, call(10, 11, read("")), call(20, 21, read(""))])).toBe("linear");
    expect(kindOf([unknown, call(10, 11, read("a")), call(20, 21, read(""))])).toBe("broken");
  });

  it("does not come of a write whose outcome is unknown after the last moment at which that can have happened", () => {
    const unknown = { ...call(0, never, write("a")), untilMs: 15 };
    const then = call(18, 20, read("a"));
    expect(kindOf([unknown, call(14, 17, read("")), then])).toBe("linear");
    expect(kindOf([unknown, call(16, 17, read("")), then])).toBe("broken");
    expect(kindOf([unknown, call(16, 17, read(""))])).toBe("linear");
  });

  it("is judged however many outcomes are unknown, if each is settled some time", () => {
    const calls = Array.from({ length: 200 }, (_, index) => {
      const at = index * 10;
      const unknown = { ...call(at, never, write(`${index}`)), untilMs: at + 25 };
      return [unknown, call(at + 1, at + 2, write("a")), call(at + 3, at + 4, read("a"))];
    }).flat();
    expect(kindOf([...calls, call(3_000, 3_001, read("199"))])).toBe("linear");
    expect(kindOf([...calls, call(3_000, 3_001, read("100"))])).toBe("broken");
  });

  it("does not come of a write that was not yet asked for", () => {
    expect(kindOf([call(0, 1, read("a")), call(5, never, write("a"))])).toBe("broken");
  });

  it("says how far it could be explained", () => {
    const calls = [call(0, 1, write("a")), call(2, 3, read("a")), call(4, 5, read("b"))];
    expect(judgeLinearity(calls, register(""))).toEqual({ kind: "broken", explained: 2, at: 4 });
  });
});

describe("a lock", () => {
  it("has one holder", () => {
    expect(locks([call(0, 10, take("a:1")), call(1, 9, take("b:1", false))])).toBe("linear");
    expect(locks([call(0, 10, take("a:1")), call(1, 9, take("b:1"))])).toBe("broken");
  });

  it("is not declined while it is free", () => {
    expect(locks([call(0, 1, take("a:1")), call(2, 3, give("a")), call(4, 5, take("b:1", false))])).toBe("broken");
  });

  it("is given back by its holder alone", () => {
    expect(locks([call(0, 1, take("a:1")), call(2, 3, give("b"))])).toBe("broken");
    expect(locks([call(0, 1, take("a:1")), call(2, 3, give("b", false))])).toBe("linear");
  });

  it("is read as somebody holds it", () => {
    expect(locks([call(0, 1, take("a:1")), call(2, 3, { kind: "read", holder: "a:1" })])).toBe("linear");
    expect(locks([call(0, 1, take("a:1")), call(2, 3, { kind: "read", holder: nobody })])).toBe("broken");
  });
});

/** Operations on a real register, each at a random moment between a call and an answer. */
const histories = fc.array(
  fc.record({ at: fc.nat(200), before: fc.nat(30), after: fc.nat(30), isWrite: fc.boolean(), isLost: fc.boolean() }),
  { maxLength: 24 },
);

describe("whatever a real register answers", () => {
  it("is explained, also where answers are lost", () => {
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
