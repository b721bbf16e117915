/** Whether what was seen over a long time has grown. */
import { describe, expect, it } from "vitest";
import { growthIn, type Sample } from "../../proof/samples.ts";

const look = (facts: Partial<Sample> = {}): Sample => ({
  memoryMb: 200,
  requests: 100,
  medianMs: 10,
  highMs: 50,
  bareMs: 1,
  ...facts,
});
/** The first nine of twelve, and the last three. */
const then = (late: Partial<Sample>) => [
  ...Array.from({ length: 9 }, () => look()),
  ...Array.from({ length: 3 }, () => look(late)),
];

describe("growth", () => {
  it("is none where everything stays", () => {
    expect(growthIn("sqlite", then({}))).toEqual([]);
    expect(growthIn("sqlite", then({ memoryMb: 225, medianMs: 14 }))).toEqual([]);
  });

  it("is memory that grows, whatever the machine does", () => {
    expect(growthIn("sqlite", then({ memoryMb: 240, bareMs: 9 }))).toEqual([
      "sqlite: memoryMb grew from 200.0 to 240.0",
    ]);
  });

  it("is latency that grows by more than a bare server's", () => {
    expect(growthIn("sqlite", then({ medianMs: 16 }))).toHaveLength(1);
    expect(growthIn("sqlite", then({ medianMs: 16, bareMs: 1.2 }))).toEqual([]);
  });

  it("does not count a beginning that is slower than the rest", () => {
    expect(growthIn("sqlite", [look({ medianMs: 90 }), ...then({}).slice(1)])).toEqual([]);
  });
});
