/** Turns log bytes (JSON lines or coloured text) into styled lines in bounded memory: the oldest lines are dropped. Pure. */

export interface Span {
  readonly text: string;
  readonly style: string;
}

export interface LogLine {
  /** From 1, including dropped lines. */
  readonly number: number;
  readonly text: string;
  readonly spans: readonly Span[];
}

const startOfLog = "\u0002";
const endOfLog = "\u0003";
/** Longer lines would make the page unresponsive. */
const lineMax = 4_000;

export class LogLines {
  readonly #max: number;
  readonly #decoder = new TextDecoder();
  #lines: LogLine[] = [];
  #count = 0;
  #rest = "";
  #restCut = 0;
  #style = "";
  #ended = false;

  constructor(max = 20_000) {
    this.#max = max;
  }

  get lines(): readonly LogLine[] {
    return this.#lines;
  }
  get dropped(): number {
    return this.#count - this.#lines.length;
  }
  get isFull(): boolean {
    return this.#lines.length >= this.#max;
  }
  get hasEnded(): boolean {
    return this.#ended;
  }

  add(bytes: Uint8Array): void {
    this.addText(this.#decoder.decode(bytes, { stream: true }));
  }

  addText(text: string): void {
    if (text.includes(endOfLog)) this.#ended = true;
    const pieces = text.replaceAll(startOfLog, "").replaceAll(endOfLog, "").split("\n");
    const last = pieces.pop() ?? "";
    const added: LogLine[] = [];
    for (const piece of pieces) {
      this.#take(piece);
      added.push(...this.#finish());
    }
    this.#take(last);
    if (this.#ended && this.#rest !== "") added.push(...this.#finish());
    if (added.length > 0) this.#lines = [...this.#lines, ...added].slice(-this.#max);
  }

  #take(piece: string): void {
    const room = lineMax * 4 - this.#rest.length;
    this.#rest += piece.slice(0, Math.max(room, 0));
    this.#restCut += Math.max(piece.length - Math.max(room, 0), 0);
  }

  #finish(): LogLine[] {
    const whole = this.#rest;
    const cut = this.#restCut;
    this.#rest = "";
    this.#restCut = 0;
    return messageLines(whole).map((line) => {
      const { spans, style } = spansOf(line, this.#style);
      this.#style = style;
      this.#count += 1;
      const { kept, left } = shortened(spans, cut);
      const all = left > 0 ? [...kept, { text: ` … ${left} more characters`, style: "dim" }] : kept;
      return { number: this.#count, text: all.map(({ text }) => text).join(""), spans: all };
    });
  }
}

function shortened(spans: readonly Span[], cut: number): { kept: readonly Span[]; left: number } {
  let room = lineMax;
  let left = cut;
  const kept: Span[] = [];
  for (const { text, style } of spans) {
    if (room > 0) kept.push({ text: text.slice(0, room), style });
    left += Math.max(text.length - Math.max(room, 0), 0);
    room -= text.length;
  }
  return { kept, left };
}

interface Message {
  readonly "@level"?: string;
  readonly "@message"?: string;
  readonly type?: string;
  readonly diagnostic?: {
    readonly severity?: string;
    readonly detail?: string;
    readonly address?: string;
    readonly range?: { readonly filename?: string; readonly start?: { readonly line?: number } };
  };
}

const escape = "\u001b";
const colorOf: Record<string, string> = { error: "31", warn: "33" };

function messageLines(line: string): string[] {
  const message = line.startsWith("{") ? messageIn(line) : undefined;
  if (message === undefined) return [line.slice(line.lastIndexOf("\r", line.length - 2) + 1).replace(/\r$/, "")];
  const { "@message": text = "", "@level": level = "", diagnostic } = message;
  const color = colorOf[diagnostic?.severity === "warning" ? "warn" : (diagnostic?.severity ?? level)];
  const colored = color === undefined ? text : `${escape}[1;${color}m${text}${escape}[0m`;
  const file = diagnostic?.range?.filename;
  return [
    ...colored.split("\n"),
    ...(file === undefined ? [] : [`  on ${file} line ${diagnostic?.range?.start?.line ?? "?"}`]),
    ...(diagnostic?.detail ? diagnostic.detail.split("\n").map((each) => `  ${each}`) : []),
  ];
}

function messageIn(line: string): Message | undefined {
  try {
    const message = JSON.parse(line) as Message;
    return typeof message["@message"] === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

const colors = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
/** Interprets styles and removes all other escape sequences. */
// oxlint-disable-next-line no-control-regex
const escapes = /\u001b(?:\[([0-9;?]*)([A-Za-z])?|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_]?)/g;

/** A style continues into the next line until it is reset. */
export function spansOf(line: string, before = ""): { readonly spans: readonly Span[]; readonly style: string } {
  const spans: Span[] = [];
  let style = before;
  let from = 0;
  const keep = (to: number) => {
    if (to > from) spans.push({ text: line.slice(from, to), style });
  };
  for (const match of line.matchAll(escapes)) {
    keep(match.index);
    from = match.index + match[0].length;
    if (match[2] === "m") style = styleAfter(style, match[1] ?? "");
  }
  keep(line.length);
  return { spans, style };
}

function styleAfter(before: string, codes: string): string {
  let words = new Set(before.split(" ").filter((word) => word !== ""));
  const numbers = codes.split(";").map(Number);
  const without = (...gone: string[]) => new Set([...words].filter((word) => !gone.includes(word)));
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    const color = colors[code >= 90 ? code - 90 : code - 30];
    if (code === 0) words = new Set();
    else if (code === 1) words.add("bold");
    else if (code === 2) words.add("dim");
    else if (code === 4) words.add("underline");
    else if (code === 22) words = without("bold", "dim");
    else if (code === 24) words = without("underline");
    else if (code === 39) words = without(...colors);
    else if (code === 38 || code === 48) at += numbers[at + 1] === 5 ? 2 : 4;
    else if (color !== undefined) words = without(...colors).add(color);
  }
  return [...words].join(" ");
}
