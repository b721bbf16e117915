/** The clock that a process goes by: the machine's, or one elsewhere that it follows. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { followClock, now, nowMs } from "../../src/kernel/time.ts";

afterEach(() => followClock(undefined));

const hourMs = 3_600_000;
/** A clock that is so far ahead, read over so long a wire. */
const reading = (aheadMs: number, wireMs: number) => {
  const answeredAt = performance.now();
  return { clockMs: Date.now() + aheadMs, askedAt: answeredAt - wireMs, answeredAt };
};
const aheadMs = () => nowMs() - Date.now();

describe("the clock", () => {
  it("is the machine's until another is followed, and again afterwards", () => {
    expect(Math.abs(aheadMs())).toBeLessThan(60_000);
    followClock(reading(hourMs, 0));
    expect(Math.abs(aheadMs() - hourMs)).toBeLessThan(60_000);
    expect(Math.abs(Date.parse(now()) - Date.now() - hourMs)).toBeLessThan(60_000);
    followClock(undefined);
    expect(Math.abs(aheadMs())).toBeLessThan(60_000);
  });

  it("does not follow a reading that proves nothing", () => {
    followClock(reading(hourMs, 0));
    const before = aheadMs();
    followClock(reading(hourMs - 5_000, 20_000));
    expect(Math.abs(aheadMs() - before)).toBeLessThan(60_000);
  });

  it("follows one that proves that it is wrong, and no further than that", () => {
    followClock(reading(0, 0));
    followClock(reading(hourMs, 10_000));
    expect(Math.abs(aheadMs() - hourMs)).toBeLessThan(60_000);
    followClock(reading(0, 10_000));
    expect(Math.abs(aheadMs() - 10_000)).toBeLessThan(60_000);
  });
});

/** The answer's own date, the log's, and when the process began. */
const byTheMachine = ["http/refusals.ts", "http/log.ts", "http/metrics.ts"];

describe("what the register is about", () => {
  it.each(["http", "jobs", "resources", "access", "jsonapi"])("src/%s/ asks no other clock", (room) => {
    const found = readdirSync(join("src", room), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !byTheMachine.includes(`${room}/${file}`))
      .filter((file) => /\bDate\.now\(\)|new Date\(\)/.test(readFileSync(join("src", room, file), "utf8")));
    expect(found).toEqual([]);
  });
});
