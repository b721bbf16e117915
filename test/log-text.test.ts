/** The log as a person at a terminal reads it. */
import { describe, expect, it } from "vitest";
import { readable } from "../src/http/log-output.ts";

const time = new Date(2026, 10, 16, 20, 15, 3).getTime();
const line = (told: object) => readable(`${JSON.stringify({ level: 40, time, pid: 7, hostname: "x", ...told })}\n`);

describe("a line of the log", () => {
  it("has the time, the level, the words, and what is told beside them", () => {
    expect(line({ msg: "the disk is nearly full", free: 12, disk: "a" })).toBe(
      "20:15:03 warn  the disk is nearly full  free=12  disk=a",
    );
  });

  it("of a request is what was asked and answered", () => {
    const request = { reqId: "r", method: "GET", url: "/api/v2/x", route: "/api/v2/:y", status: 200, ms: 1.25 };
    expect(line({ ...request, level: 30, msg: "request", remoteAddress: "127.0.0.1" })).toBe(
      "20:15:03 info  GET /api/v2/x 200, 1.25 ms",
    );
    expect(line({ ...request, msg: "request", cut: true })).toMatch(/200, 1\.25 ms, cut off$/);
  });

  it("of an error has its words once, and where it happened", () => {
    const err = { type: "Error", message: "no", stack: "    at a (b:1:2)\n    at c (d:3:4)" };
    expect(line({ level: 50, err, msg: "job failed" })).toBe(
      "20:15:03 error job failed\n  Error: no\n      at a (b:1:2)\n      at c (d:3:4)",
    );
    expect(line({ level: 50, err, msg: "no" })).toContain("error no\n  Error\n");
  });

  it("has nothing in it that a terminal would obey", () => {
    const words = line({ msg: "a\u001b[2Jb\rc\nd\u009be", note: "\u0007", err: { message: "\u001b]0;title\u0007" } });
    // oxlint-disable-next-line no-control-regex
    expect(words.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    expect(words.split("\n")).toHaveLength(2);
  });

  it("is coloured by its level where that is asked for", () => {
    const text = JSON.stringify({ level: 50, time, msg: "no" });
    expect(readable(text, true)).toBe("20:15:03 \u001b[31merror\u001b[0m no");
    expect(readable(JSON.stringify({ level: 30, time, msg: "yes" }), true)).toBe("20:15:03 info  yes");
  });

  it("that is no JSON stays as it is", () => expect(readable("something else\n")).toBe("something else"));
});
