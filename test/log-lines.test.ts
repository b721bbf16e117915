/** Logs as the console shows them: lines of text with looks, whatever an engine says, in bounded memory. */
import { describe, expect, test } from "vitest";
import { LogLines, spansOf } from "../console/pages/runs/log-lines.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const linesOf = (text: string) => {
  const log = new LogLines();
  log.add(bytes(text));
  return log.lines.map((line) => line.text);
};

describe("LogLines", () => {
  test("a line, and a letter of several bytes, may come in pieces", () => {
    const log = new LogLines();
    for (const byte of bytes("\u0002Grüße\nfrom the engine\u0003")) log.add(new Uint8Array([byte]));
    expect(log.lines.map(({ number, text }) => [number, text])).toEqual([
      [1, "Grüße"],
      [2, "from the engine"],
    ]);
    expect(log.hasEnded).toBe(true);
  });

  test("what is not ended yet is not a line, and the log goes on", () => {
    const log = new LogLines();
    log.add(bytes("\u0002one\ntw"));
    expect(log.lines.map(({ text }) => text)).toEqual(["one"]);
    expect(log.hasEnded).toBe(false);
  });

  test("lines beyond the bound are let go, and the numbers go on", () => {
    const log = new LogLines(3);
    for (let line = 1; line <= 10; line += 1) log.add(bytes(`line ${line}\n`));
    expect(log.lines.map(({ number }) => number)).toEqual([8, 9, 10]);
    expect(log.dropped).toBe(7);
  });

  test("a line without an end takes bounded memory, and says how much is left out", () => {
    const log = new LogLines();
    for (let piece = 0; piece < 100; piece += 1) log.add(bytes("x".repeat(10_000)));
    log.add(bytes("\n"));
    expect(log.lines[0]?.text).toBe(`${"x".repeat(4_000)} … 996000 more characters`);
  });

  test("messages in JSON are told in their own words, with what a diagnostic adds", () => {
    const diagnostic = {
      severity: "error",
      summary: "No value",
      detail: "Give one.\nOr two.",
      range: { filename: "main.tf", start: { line: 3 } },
    };
    const told = [
      { "@level": "info", "@message": "Plan: 1 to add, 0 to change, 0 to destroy.", type: "change_summary" },
      { "@level": "error", "@message": "Error: No value", type: "diagnostic", diagnostic },
    ];
    expect(linesOf(told.map((each) => `${JSON.stringify(each)}\n`).join(""))).toEqual([
      "Plan: 1 to add, 0 to change, 0 to destroy.",
      "Error: No value",
      "  on main.tf line 3",
      "  Give one.",
      "  Or two.",
    ]);
  });

  test("JSON that is no message is a line like any other, and so is markup", () => {
    expect(linesOf('{"a": 1}\n{broken\n<img src=x onerror=alert(1)>\n')).toEqual([
      '{"a": 1}',
      "{broken",
      "<img src=x onerror=alert(1)>",
    ]);
  });

  test("a line that was written over shows what stood there last", () => {
    expect(linesOf("10%\r50%\r100%\r\n")).toEqual(["100%"]);
  });
});

describe("spansOf", () => {
  test("colours and weights become looks, and end", () => {
    const { spans, look } = spansOf("\u001b[1m\u001b[31mError: \u001b[0m\u001b[1mno\u001b[22m way\u001b[32m!");
    expect(spans).toEqual([
      { text: "Error: ", look: "bold red" },
      { text: "no", look: "bold" },
      { text: " way", look: "" },
      { text: "!", look: "green" },
    ]);
    expect(look).toBe("green");
  });

  test("what moves a terminal's cursor, names its window or is cut off leaves no trace", () => {
    const { spans } = spansOf("a\u001b[2Kb\u001b]0;title\u0007c\u001b[38;5;196md\u001b[38;2;1;2;31me\u001b[");
    expect(spans.map(({ text }) => text).join("")).toBe("abcde");
    expect(spans.every(({ look }) => look === "")).toBe(true);
  });
});
