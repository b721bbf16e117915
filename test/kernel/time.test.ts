/** The clock of a process: the machine's, or the database's. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { followClock, now, nowMs } from "../../src/kernel/time.ts";

afterEach(() => followClock(undefined));

const hourMs = 3_600_000;
/** A reading of a clock that is ahead, with a network delay. */
const reading = (aheadMs: number, wireMs: number) => {
  const answeredAt = performance.now();
  return { clockMs: Date.now() + aheadMs, askedAt: answeredAt - wireMs, answeredAt };
};
const aheadMs = () => nowMs() - Date.now();

describe("the clock", () => {
  it("is the machine's before and after another is followed", () => {
    expect(Math.abs(aheadMs())).toBeLessThan(60_000);
    followClock(reading(hourMs, 0));
    expect(Math.abs(aheadMs() - hourMs)).toBeLessThan(60_000);
    expect(Math.abs(Date.parse(now()) - Date.now() - hourMs)).toBeLessThan(60_000);
    followClock(undefined);
    expect(Math.abs(aheadMs())).toBeLessThan(60_000);
  });

  it("ignores a reading that proves no difference", () => {
    followClock(reading(hourMs, 0));
    const before = aheadMs();
    followClock(reading(hourMs - 5_000, 20_000));
    expect(Math.abs(aheadMs() - before)).toBeLessThan(60_000);
  });

  it("is corrected by no more than a reading proves", () => {
    followClock(reading(0, 0));
    followClock(reading(hourMs, 10_000));
    expect(Math.abs(aheadMs() - hourMs)).toBeLessThan(60_000);
    followClock(reading(0, 10_000));
    expect(Math.abs(aheadMs() - 10_000)).toBeLessThan(60_000);
  });
});

/** The date header, the log's time, and the start of the process. */
const byTheMachine = ["http/refusals.ts", "http/log.ts", "http/metrics.ts"];

describe("times that are stored or compared", () => {
  it.each(["http", "jobs", "resources", "access", "jsonapi"])("src/%s/ uses no other clock", (module) => {
    const found = readdirSync(join("src", module), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !byTheMachine.includes(`${module}/${file}`))
      .filter((file) => /\bDate\.now\(\)|new Date\(\)/.test(readFileSync(join("src", module, file), "utf8")));
    expect(found).toEqual([]);
  });
});
