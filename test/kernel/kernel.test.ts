import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { activityDurationMs, activityDurationPattern, now, parseTimestamp } from "../../src/kernel/time.ts";
import { newId, newToken, tokenHash } from "../../src/kernel/ids.ts";
import { camel, human, kebab, snake } from "../../src/kernel/names.ts";
import { counted, fold, lengthOf, quoted } from "../../src/kernel/text.ts";

describe("names", () => {
  it("convert between wire, SQL, TypeScript and human spellings", () => {
    expect(camel("auto-destroy-at")).toBe("autoDestroyAt");
    expect(camel("auto_destroy_at")).toBe("autoDestroyAt");
    expect(kebab("autoDestroyAt")).toBe("auto-destroy-at");
    expect(snake("autoDestroyAt")).toBe("auto_destroy_at");
    expect(human("auto-destroy-activity-duration")).toBe("Auto destroy activity duration");
  });
});

describe("ids and tokens", () => {
  it("have a prefix and never repeat", () => {
    const ids = new Set(Array.from({ length: 2000 }, () => newId("projects")));
    expect(ids.size).toBe(2000);
    for (const id of ids) expect(id).toMatch(/^prj-[1-9A-HJ-NP-Za-km-z]{16}$/);
  });

  it("have 256 random bits, which the hash does not reveal", () => {
    const token = newToken();
    expect(token).toMatch(/^cadastre-[A-Za-z0-9_-]{43}$/);
    expect(tokenHash(token)).toMatch(/^[0-9a-f]{64}$/);
    expect(tokenHash(token)).toBe(tokenHash(token));
    expect(newToken()).not.toBe(token);
  });
});

describe("text", () => {
  it("ignores case the same way everywhere", () => {
    expect(fold("ÄpFel")).toBe(fold("äPfEL"));
    expect(fold("e\u0301")).toBe(fold("\u00e9"));
  });

  it("counts code points", () => {
    expect(lengthOf("a🍄b")).toBe(3);
  });

  it("is truncated in sentences", () => {
    expect(quoted("x".repeat(100))).toHaveLength(63);
  });
});

describe("counts", () => {
  it("have a singular form", () => {
    expect([0, 1, 2].map((count) => counted(count, "step"))).toEqual(["0 steps", "1 step", "2 steps"]);
    expect([1, 3].map((count) => counted(count, "job is", "jobs are"))).toEqual(["1 job is", "3 jobs are"]);
  });

  /** Limits that are never 1, and SQL. */
  const limit = /M(ax|in)\b|\bm(ax|in)$|\blimits\.|timeout|toFixed|depths|values\.length$|\blost$|^order$/i;
  const nouns =
    "characters|commits|events|files|hours|items|jobs|levels|members|migrations|minutes|others|processes|projects|requests|resources|rows|runs|seconds|secrets|steps|submodules|tables|tags|teams|times|tokens|transactions|users|workspaces";

  it("are never followed by a fixed plural", () => {
    const pattern = new RegExp(`\\$\\{([^}]+)\\} (?:${nouns})\\b`, "g");
    const found = readdirSync("src", { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .flatMap((file) => readFileSync(`src/${file}`, "utf8").matchAll(pattern).toArray())
      .filter(([, count = ""]) => !limit.test(count));
    expect(found.map(([text]) => text)).toEqual([]);
  });
});

describe("time", () => {
  it("is UTC with milliseconds", () => {
    expect(now()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it.each([
    ["2030-01-31T12:00:00Z", "2030-01-31T12:00:00.000Z"],
    ["2030-01-31T12:00:00.123456Z", "2030-01-31T12:00:00.123Z"],
    ["2030-01-31T12:00:00-05:00", "2030-01-31T17:00:00.000Z"],
    ["2030-01-31 12:00:00Z", "2030-01-31T12:00:00.000Z"],
  ])("reads %s", (text, expected) => {
    expect(parseTimestamp(text)).toBe(expected);
  });

  it.each([
    "",
    "tomorrow",
    "2030-01-31",
    "2030-13-01T00:00:00Z",
    "2030-01-31T12:00:00",
    "0001-01-01T00:00:00Z",
    "20300131T120000Z",
    "2030-02-30T00:00:00Z",
  ])("refuses %j", (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});

describe("durations of inactivity", () => {
  it.each(["1d", "14d", "9999h", "01d", "0010h"])("can be %s", (text) => {
    expect(activityDurationPattern.test(text)).toBe(true);
  });

  it.each(["", "d", "0d", "0000h", "10000d", "1w", "1 d", "-1d", "1.5d", "1D", "1d "])("can't be %j", (text) => {
    expect(activityDurationPattern.test(text)).toBe(false);
  });

  it("have a length", () => {
    expect(activityDurationMs("2d")).toBe(172_800_000);
    expect(activityDurationMs("36h")).toBe(129_600_000);
  });
});
