/** Detects growth of memory and latency in samples. */
import { describe, expect, it } from "vitest";
import { growthIn, type Sample } from "../../proof/samples.ts";

const sample = (facts: Partial<Sample> = {}): Sample => ({
  memoryMb: 200,
  requests: 100,
  medianMs: 10,
  highMs: 50,
  bareMs: 1,
  ...facts,
});
/** Twelve samples, of which the last three differ. */
const endingWith = (late: Partial<Sample>) => [
  ...Array.from({ length: 9 }, () => sample()),
  ...Array.from({ length: 3 }, () => sample(late)),
];

describe("growth", () => {
  it("is not reported if nothing grows", () => {
    expect(growthIn("sqlite", endingWith({}))).toEqual([]);
    expect(growthIn("sqlite", endingWith({ memoryMb: 225, medianMs: 14 }))).toEqual([]);
  });

  it("is reported for memory, even if the machine is slower", () => {
    expect(growthIn("sqlite", endingWith({ memoryMb: 240, bareMs: 9 }))).toEqual([
      "sqlite: memoryMb grew from 200.0 to 240.0",
    ]);
  });

  it("is reported for latency that grows more than that of the bare server", () => {
    expect(growthIn("sqlite", endingWith({ medianMs: 16 }))).toHaveLength(1);
    expect(growthIn("sqlite", endingWith({ medianMs: 16, bareMs: 1.2 }))).toEqual([]);
  });

  it("ignores a slow start", () => {
    expect(growthIn("sqlite", [sample({ medianMs: 90 }), ...endingWith({}).slice(1)])).toEqual([]);
  });
});
