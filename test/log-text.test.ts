/** The log format for a terminal. */
import { describe, expect, it } from "vitest";
import { readable } from "../src/http/log-output.ts";

const time = new Date(2026, 10, 16, 20, 15, 3).getTime();
const line = (fields: object) => readable(`${JSON.stringify({ level: 40, time, pid: 7, hostname: "x", ...fields })}\n`);

describe("a line of the log", () => {
  it("has the time, the level, the message and the fields", () => {
    expect(line({ msg: "the disk is nearly full", free: 12, disk: "a" })).toBe(
      "20:15:03 warn  the disk is nearly full  free=12  disk=a",
    );
  });

  it("of a request has its method, URL, status and duration", () => {
    const request = { reqId: "r", method: "GET", url: "/api/v2/x", route: "/api/v2/:y", status: 200, ms: 1.25 };
    expect(line({ ...request, level: 30, msg: "request", remoteAddress: "127.0.0.1" })).toBe(
      "20:15:03 info  GET /api/v2/x 200, 1.25 ms",
    );
    expect(line({ ...request, msg: "request", cut: true })).toMatch(/200, 1\.25 ms, cut off$/);
  });

  it("of an error has its message once, and the stack", () => {
    const err = { type: "Error", message: "no", stack: "    at a (b:1:2)\n    at c (d:3:4)" };
    expect(line({ level: 50, err, msg: "job failed" })).toBe(
      "20:15:03 error job failed\n  Error: no\n      at a (b:1:2)\n      at c (d:3:4)",
    );
    expect(line({ level: 50, err, msg: "no" })).toContain("error no\n  Error\n");
  });

  it("has no control characters", () => {
    const words = line({ msg: "a\u001b[2Jb\rc\nd\u009be", note: "\u0007", err: { message: "\u001b]0;title\u0007" } });
    // oxlint-disable-next-line no-control-regex
    expect(words.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    expect(words.split("\n")).toHaveLength(2);
  });

  it("is colored by its level on request", () => {
    const text = JSON.stringify({ level: 50, time, msg: "no" });
    expect(readable(text, true)).toBe("20:15:03 \u001b[31merror\u001b[0m no");
    expect(readable(JSON.stringify({ level: 30, time, msg: "yes" }), true)).toBe("20:15:03 info  yes");
  });

  it("that is not JSON is unchanged", () => expect(readable("something else\n")).toBe("something else"));
});
