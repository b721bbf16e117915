/** How the console shows logs: styled lines in bounded memory, for any output of an engine. */
import { describe, expect, test } from "vitest";
import { LogLines, spansOf } from "../console/pages/runs/log-lines.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const linesOf = (text: string) => {
  const log = new LogLines();
  log.add(bytes(text));
  return log.lines.map((line) => line.text);
};

describe("LogLines", () => {
  test("a line, and a multi-byte character, can arrive in pieces", () => {
    const log = new LogLines();
    for (const byte of bytes("\u0002Grüße\nfrom the engine\u0003")) log.add(new Uint8Array([byte]));
    expect(log.lines.map(({ number, text }) => [number, text])).toEqual([
      [1, "Grüße"],
      [2, "from the engine"],
    ]);
    expect(log.hasEnded).toBe(true);
  });

  test("an incomplete line is not shown, and the log has not ended", () => {
    const log = new LogLines();
    log.add(bytes("\u0002one\ntw"));
    expect(log.lines.map(({ text }) => text)).toEqual(["one"]);
    expect(log.hasEnded).toBe(false);
  });

  test("lines beyond the limit are dropped, and line numbers continue", () => {
    const log = new LogLines(3);
    for (let line = 1; line <= 10; line += 1) log.add(bytes(`line ${line}\n`));
    expect(log.lines.map(({ number }) => number)).toEqual([8, 9, 10]);
    expect(log.dropped).toBe(7);
  });

  test("an endless line takes bounded memory, and says how much is omitted", () => {
    const log = new LogLines();
    for (let piece = 0; piece < 100; piece += 1) log.add(bytes("x".repeat(10_000)));
    log.add(bytes("\n"));
    expect(log.lines[0]?.text).toBe(`${"x".repeat(4_000)} … 996000 more characters`);
  });

  test("JSON messages are shown as their text, with the details of diagnostics", () => {
    const diagnostic = {
      severity: "error",
      summary: "No value",
      detail: "Give one.\nOr two.",
      range: { filename: "main.tf", start: { line: 3 } },
    };
    const messages = [
      { "@level": "info", "@message": "Plan: 1 to add, 0 to change, 0 to destroy.", type: "change_summary" },
      { "@level": "error", "@message": "Error: No value", type: "diagnostic", diagnostic },
    ];
    expect(linesOf(messages.map((each) => `${JSON.stringify(each)}\n`).join(""))).toEqual([
      "Plan: 1 to add, 0 to change, 0 to destroy.",
      "Error: No value",
      "  on main.tf line 3",
      "  Give one.",
      "  Or two.",
    ]);
  });

  test("JSON that is not a message, and HTML, are shown as plain lines", () => {
    expect(linesOf('{"a": 1}\n{broken\n<img src=x onerror=alert(1)>\n')).toEqual([
      '{"a": 1}',
      "{broken",
      "<img src=x onerror=alert(1)>",
    ]);
  });

  test("an overwritten line shows its last text", () => {
    expect(linesOf("10%\r50%\r100%\r\n")).toEqual(["100%"]);
  });
});

describe("spansOf", () => {
  test("colors and weights become styles, and end", () => {
    const { spans, style } = spansOf("\u001b[1m\u001b[31mError: \u001b[0m\u001b[1mno\u001b[22m way\u001b[32m!");
    expect(spans).toEqual([
      { text: "Error: ", style: "bold red" },
      { text: "no", style: "bold" },
      { text: " way", style: "" },
      { text: "!", style: "green" },
    ]);
    expect(style).toBe("green");
  });

  test("cursor movements, window titles and truncated sequences are removed", () => {
    const { spans } = spansOf("a\u001b[2Kb\u001b]0;title\u0007c\u001b[38;5;196md\u001b[38;2;1;2;31me\u001b[");
    expect(spans.map(({ text }) => text).join("")).toBe("abcde");
    expect(spans.every(({ style }) => style === "")).toBe(true);
  });
});
