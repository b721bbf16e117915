/** JSON with exact numbers: those that JavaScript changes become prefixed strings. A `JSON.parse` reviver would take minutes. */
import { randomUUID } from "node:crypto";

export class TooManyValues extends Error {}

const [quote, minus, comma, array, object] = [0x22, 0x2d, 0x2c, 0x5b, 0x7b];
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isOfNumber = (code: number): boolean =>
  isDigit(code) || code === minus || code === 0x2b || code === 0x2e || code === 0x45 || code === 0x65;

/** Integers of at most this many digits are exact. */
const plainDigitsMax = 15;

export class ExactJson {
  readonly #mark = randomUUID();
  #valuesLeft: number;

  constructor(valuesMax: number) {
    this.#valuesLeft = valuesMax;
  }

  /** `text` must be valid JSON. Throws TooManyValues. */
  parse(text: string): unknown {
    return JSON.parse(this.#marked(text));
  }

  stringify(value: unknown): string {
    return JSON.stringify(value).replaceAll(new RegExp(`"${this.#mark}([^"]*)"`, "g"), "$1");
  }

  numberIn(value: unknown): string | undefined {
    if (typeof value === "number") return String(value);
    return typeof value === "string" && value.startsWith(this.#mark) ? value.slice(this.#mark.length) : undefined;
  }

  #marked(text: string): string {
    const pieces: string[] = [];
    let from = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote) at = endOfString(text, at);
      else if (code === comma || code === array || code === object) {
        if ((this.#valuesLeft -= 1) < 0) throw new TooManyValues();
      } else if (code === minus || isDigit(code)) {
        const start = at;
        while (isOfNumber(text.charCodeAt(at + 1))) at += 1;
        const number = text.slice(start, at + 1);
        if (isPlain(number)) continue;
        pieces.push(text.slice(from, start), `"${this.#mark}${number}"`);
        from = at + 1;
      }
    }
    return pieces.length === 0 ? text : [...pieces, text.slice(from)].join("");
  }
}

const isPlain = (number: string): boolean =>
  (number.length <= plainDigitsMax && isDigit(number.charCodeAt(0)) && /^\d+$/.test(number)) ||
  String(Number(number)) === number;

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === "\\") escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}
