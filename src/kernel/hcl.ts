/** Parses HCL literals into JSON, in linear time. Refuses expressions, function calls and references. */

/** The message must not quote values, which may be secret. */
export class HclFault extends Error {
  override readonly name = "HclFault";
}

export interface HclValue {
  readonly json: string;
  readonly scalars: readonly string[];
}

/** Throws HclFault. */
export function readHcl(text: string): HclValue {
  return new HclReader(text).read();
}

/** Also the scalars in the value. Throws nothing: engines never get a value that can't be parsed. */
export function textsInHcl(text: string): string[] {
  try {
    return [text, ...readHcl(text).scalars];
  } catch (error) {
    if (error instanceof HclFault) return [text];
    throw error;
  }
}

const depthMax = 200;

const blank = /[ \t]+|#[^\n]*|\/\/[^\n]*|\/\*[^]*?\*\//y;
const newline = /\r?\n/y;
const name = /[\p{ID_Start}_][\p{ID_Continue}-]*/uy;
const numeral = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y;
const plainText = /[^"\\$%\r\n]+/y;
const heredocStart = /<<(-?)([\p{ID_Start}_][\p{ID_Continue}-]*)\r?\n/uy;
const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", '"': '"', "\\": "\\" };
const codePoint = /u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8})/y;
/** Engines refuse a file with a number that is too large. */
const largeExponent = /[eE][+-]?0*\d{6}/;
const keywords = new Set(["true", "false", "null"]);

const template =
  "it has a template sequence, and only literals are accepted; write its result, or $${ and %%{ for the characters themselves";

const forExpression = "it has a for expression, and only literals are accepted; write its result";

class HclReader {
  readonly #text: string;
  readonly #scalars: string[] = [];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): HclValue {
    this.#skipLines();
    const json = this.#value();
    this.#skipLines();
    if (this.#at < this.#text.length) this.#refuseRest();
    return { json, scalars: this.#scalars };
  }

  #value(): string {
    const next = this.#text[this.#at] ?? "";
    if (next === "[") return this.#nested(() => this.#tuple());
    if (next === "{") return this.#nested(() => this.#object());
    if (next === "(") return this.#nested(() => this.#parenthesized());
    if (next === '"' || next === "<") return JSON.stringify(this.#recordScalar(this.#string()));
    if (/[-\d]/.test(next)) return this.#recordScalar(this.#number());
    return this.#keyword();
  }

  #tuple(): string {
    const items: string[] = [];
    this.#at += 1;
    for (;;) {
      this.#skipLines();
      if (this.#take("]")) return `[${items.join(",")}]`;
      items.push(this.#value());
      this.#skipLines();
      if (!this.#take(",") && this.#text[this.#at] !== "]") this.#refuseRest();
    }
  }

  /** The last of two equal keys wins, as in engines. */
  #object(): string {
    const members = new Map<string, string>();
    this.#at += 1;
    for (;;) {
      this.#skipLines();
      if (this.#take("}")) break;
      const key = this.#key().normalize("NFC");
      if (members.size === 0 && key === "for" && this.#text.startsWith("for", this.#at - 3))
        this.#refuse(forExpression);
      this.#skipBlanks();
      if (!this.#take("=") && !this.#take(":")) this.#refuse("a key must be followed by = and a value");
      this.#skipBlanks();
      members.set(key, this.#value());
      this.#skipBlanks();
      if (!this.#take(",") && this.#match(newline) === undefined && this.#text[this.#at] !== "}") this.#refuseRest();
    }
    const written = [...members].map(([key, json]) => `${JSON.stringify(key)}:${json}`);
    return `{${written.join(",")}}`;
  }

  #parenthesized(): string {
    this.#at += 1;
    this.#skipLines();
    const json = this.#value();
    this.#skipLines();
    if (!this.#take(")")) this.#refuseRest();
    return json;
  }

  #key(): string {
    const next = this.#text[this.#at] ?? "";
    if (next === '"' || next === "<") return this.#recordScalar(this.#string());
    if (!/[-\d(]/.test(next)) return this.#match(name)?.[0] ?? this.#refuse("a key is expected");
    const json = this.#value();
    if (json.startsWith('"')) return JSON.parse(json) as string;
    if (/^[[{n]/.test(json)) this.#refuse("a key must be a string, a number, true or false");
    // Engines would expand it first.
    if (/e/i.test(json) && !keywords.has(json)) this.#refuse("a key with an exponent needs quotes");
    return json.includes(".") ? json.replace(/\.?0*$/, "") : json;
  }

  #number(): string {
    const sign = this.#take("-") ? "-" : "";
    this.#skipBlanks();
    const [digits] = this.#match(numeral) ?? this.#refuse("a number is expected");
    if (largeExponent.test(digits)) this.#refuse("a number's exponent is too large");
    return sign + digits.replace(/^0+(?=\d)/, "");
  }

  #keyword(): string {
    const from = this.#at;
    const word = this.#match(name)?.[0];
    if (word !== undefined && keywords.has(word)) return word;
    this.#at = from;
    if (word === undefined) {
      if (from >= this.#text.length) this.#refuse("it ends where a value is expected");
      return this.#refuse("a value is expected");
    }
    if (word === "for") return this.#refuse(forExpression);
    if (this.#text[from + word.length] === "(")
      return this.#refuse("it calls a function, and only literals are accepted; write its result");
    return this.#refuse("it has a reference, and only literals are accepted; put text in quotes");
  }

  #string(): string {
    return this.#text[this.#at] === '"' ? this.#quoted() : this.#heredoc();
  }

  #quoted(): string {
    const from = this.#at;
    const parts: string[] = [];
    this.#at += 1;
    for (;;) {
      parts.push(this.#match(plainText)?.[0] ?? "");
      const next = this.#text[this.#at];
      if (next === undefined || next === "\r" || next === "\n") {
        this.#at = from;
        this.#refuse("a string is not closed in the same line; use \\n, or a heredoc");
      }
      this.#at += 1;
      if (next === '"') return parts.join("");
      parts.push(next === "\\" ? this.#escape() : this.#templateMark(next));
    }
  }

  #escape(): string {
    const selector = this.#text[this.#at] ?? "";
    const known = escapes[selector];
    if (known !== undefined) {
      this.#at += 1;
      return known;
    }
    const [, short, long] = this.#match(codePoint) ?? this.#refuse("a backslash is followed by no known escape");
    const point = Number.parseInt(short ?? long ?? "", 16);
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) this.#refuse("an escape names no character");
    return String.fromCodePoint(point);
  }

  #templateMark(mark: string): string {
    if (this.#text[this.#at] === "{") this.#refuse(template);
    return this.#take(`${mark}{`) ? `${mark}{` : mark;
  }

  #heredoc(): string {
    const from = this.#at;
    const [, dash, marker] = this.#match(heredocStart) ?? this.#refuse("a value is expected");
    const lines: string[] = [];
    for (;;) {
      const end = this.#text.indexOf("\n", this.#at);
      const line = this.#text.slice(this.#at, end === -1 ? this.#text.length : end + 1);
      if (line.trim() === marker) {
        this.#at += line.replace(/\r?\n$/, "").length;
        return (dash === "-" ? unindented(lines) : lines).join("");
      }
      if (end === -1) {
        this.#at = from;
        this.#refuse("a heredoc is not closed by a line with its name");
      }
      if (/\r(?!\n)/.test(line)) this.#refuse("it has a carriage return that ends no line");
      lines.push(line.replace(/([$%])(\1?\{)?/g, (all, mark: string, rest = "") => this.#inHeredoc(all, mark, rest)));
      this.#at = end + 1;
    }
  }

  #inHeredoc(all: string, mark: string, rest: string): string {
    if (rest === "{") this.#refuse(template);
    return rest === "" ? all : `${mark}{`;
  }

  #nested(read: () => string): string {
    this.#depth += 1;
    if (this.#depth > depthMax) this.#refuse(`it is nested more than ${depthMax} levels deep`);
    const json = read();
    this.#depth -= 1;
    return json;
  }

  #recordScalar(scalar: string): string {
    this.#scalars.push(scalar);
    return scalar;
  }

  #skipBlanks(): void {
    while (this.#match(blank) !== undefined);
    if (this.#text.startsWith("/*", this.#at)) this.#refuse("a comment is not closed");
  }

  #skipLines(): void {
    do this.#skipBlanks();
    while (this.#match(newline) !== undefined);
  }

  #take(word: string): boolean {
    const is = this.#text.startsWith(word, this.#at);
    if (is) this.#at += word.length;
    return is;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text) ?? undefined;
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }

  #refuseRest(): never {
    const next = this.#text[this.#at] ?? "";
    if (next === "") return this.#refuse("it ends where a bracket has to be closed");
    if (/[-+*/%<>=!&|?.[(]/.test(next))
      return this.#refuse("it is an expression, and only literals are accepted; write its result");
    return this.#refuse("unexpected text follows the value");
  }

  #refuse(sentence: string): never {
    const before = this.#text.slice(0, this.#at).split("\n");
    throw new HclFault(`${sentence} (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`);
  }
}

/** `<<-`: removes the common indentation; blank lines don't count and stay. */
function unindented(lines: readonly string[]): string[] {
  const indentOf = (line: string) => line.length - line.trimStart().length;
  const isBlank = (line: string) => line.trim() === "";
  let least = Number.POSITIVE_INFINITY;
  for (const line of lines) if (!isBlank(line)) least = Math.min(least, indentOf(line));
  return lines.map((line) => (isBlank(line) ? line : line.slice(least)));
}
