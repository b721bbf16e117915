import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  JsonCapture,
  depthMax,
  JsonError,
  type JsonReader,
  JsonScanner,
  keyBytesMax,
} from "../../src/statefile/json-scanner.ts";
import { deep, seed } from "../support/depth.ts";
import { itInGate } from "../support/engine-independent.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Writes the bytes in pieces whose sizes repeat; without sizes, in one piece. */
function scan(root: JsonReader, bytes: Uint8Array, sizes: readonly number[] = [bytes.length || 1]): void {
  const scanner = new JsonScanner(root);
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    // A separate buffer, overwritten after the call: pieces are valid only during it.
    const piece = bytes.slice(start, start + size);
    scanner.write(piece);
    piece.fill(0x21);
    start += size;
  }
  scanner.end();
}

function accepts(bytes: Uint8Array, sizes?: readonly number[]): boolean {
  try {
    scan({}, bytes, sizes);
    return true;
  } catch (error) {
    if (error instanceof JsonError) return false;
    throw error;
  }
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

function captured(bytes: Uint8Array, sizes?: readonly number[]): string | undefined {
  const capture = new JsonCapture(1_000_000);
  scan(capture, bytes, sizes);
  return capture.text;
}

/** Builds the whole value from members and elements. */
class Builder implements JsonReader {
  value: unknown;
  readonly #capture = new JsonCapture(1_000_000);
  readonly #members: [string, Builder][] = [];
  readonly #elements: Builder[] = [];
  begin(): void {
    this.#capture.begin();
  }
  member(key: string): Builder {
    const builder = new Builder();
    this.#members.push([key, builder]);
    return builder;
  }
  element(): Builder {
    const builder = new Builder();
    this.#elements.push(builder);
    return builder;
  }
  raw(piece: Buffer, isLast: boolean): void {
    this.#capture.raw(piece, isLast);
  }
  end(): void {
    const text = this.#capture.text!;
    if (text.startsWith("{")) this.value = Object.fromEntries(this.#members.map(([key, { value }]) => [key, value]));
    else this.value = text.startsWith("[") ? this.#elements.map(({ value }) => value) : JSON.parse(text);
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 });
const jsonText = fc
  .tuple(
    fc.jsonValue({ stringUnit: "binary", maxDepth: 5 }),
    fc.constantFrom("", "  ", "\t"),
    fc.constantFrom("", " ", "\r\n"),
  )
  .map(([value, indent, around]) => around + JSON.stringify(value, null, indent) + around);
const escapedText = jsonText.map((text) => text.replaceAll(/[a-m]/g, escaped).replaceAll(/[^\0-\x7f]/g, escaped));

/** Escapes letters, also those of literals and numbers: then both parsers must refuse the text. */
function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

describe("any JSON, cut anywhere", () => {
  it("is captured as it was written", () => {
    fc.assert(
      fc.property(jsonText, sizes, (text, sizes) => {
        expect(captured(bytesOf(text), sizes)).toBe(text.trim());
      }),
      { seed, numRuns: deep(500, 10_000) },
    );
  });

  it("reports members and elements as JSON.parse reads them", () => {
    fc.assert(
      fc.property(fc.oneof(jsonText, escapedText), sizes, (text, sizes) => {
        fc.pre(isJson(bytesOf(text)));
        const builder = new Builder();
        scan(builder, bytesOf(text), sizes);
        expect(builder.value).toEqual(JSON.parse(text));
      }),
      { seed, numRuns: deep(500, 10_000) },
    );
  });
});

describe("what is accepted", () => {
  const change = fc.record({
    at: fc.nat(),
    removed: fc.nat({ max: 2 }),
    added: fc.oneof(
      fc.uint8Array({ maxLength: 2 }),
      fc.constantFrom(...'{}[],:"\\-+.eE0 \n').map((character) => bytesOf(character)),
    ),
  });

  itInGate("is what JSON.parse accepts, after any change of bytes", () => {
    fc.assert(
      fc.property(jsonText, fc.array(change, { minLength: 1, maxLength: 3 }), sizes, (text, changes, sizes) => {
        let bytes = [...bytesOf(text)];
        for (const { at, removed, added } of changes)
          bytes = bytes.toSpliced(at % (bytes.length + 1), removed, ...added);
        const changed = Uint8Array.from(bytes);
        expect(accepts(changed, sizes)).toBe(isJson(changed));
      }),
      { seed, numRuns: deep(2000, 50_000) },
    );
  });

  it("is what JSON.parse accepts, of any sequence of pieces", () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      " ",
      '"',
      '"a"',
      "\\",
      "\\u00",
      "aF",
      "0",
      "1",
      "-",
      ".",
      "e",
      "E+",
      "12",
      "true",
      "false",
      "null",
      "nul",
      "é",
      "\u{1f600}",
      "\u0001",
      "\u007f",
      "\ufeff",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), sizes, (pieces, sizes) => {
        const bytes = bytesOf(pieces.join(""));
        expect(accepts(bytes, sizes)).toBe(isJson(bytes));
      }),
      { seed, numRuns: deep(3000, 100_000) },
    );
  });

  it.each([
    "0",
    "-0",
    "10",
    "1.5",
    "1e5",
    "1E-5",
    "-0.0e+00",
    "true",
    "false",
    "null",
    '""',
    "{}",
    "[]",
    " [ ] ",
    "\n{ }\t",
    '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fF"',
    '"\\ud800"',
    '"\u007f\u2028"',
    '{"":{"":[]}}',
    '{"a":1,"a":2}',
    "[1,[2,{}],3]",
  ])("has %j", (text) => {
    expect(isJson(bytesOf(text))).toBe(true);
    expect(accepts(bytesOf(text))).toBe(true);
    expect(accepts(bytesOf(text), [1])).toBe(true);
  });

  it.each([
    "",
    " ",
    "01",
    "-",
    "+1",
    ".5",
    "1.",
    "1.e5",
    "1e",
    "1e+",
    "--1",
    "0x1",
    "NaN",
    "Infinity",
    "tru",
    "True",
    "nulll",
    '"',
    '"\\',
    '"\\x"',
    '"\\u12"',
    '"\\u12g4"',
    '"\n"',
    '"\u0000"',
    "'a'",
    "{",
    "[",
    "}",
    "]",
    "[}",
    "{]",
    "[1}",
    '{"a":1]',
    "[1,]",
    "[,1]",
    "[1 2]",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    "{1:2}",
    "{a:1}",
    "1 2",
    "{}{}",
    "[] x",
    "\ufeff1",
    "\u00a01",
    "1//",
  ])("has not %j", (text) => {
    expect(isJson(bytesOf(text))).toBe(false);
    expect(accepts(bytesOf(text))).toBe(false);
    expect(accepts(bytesOf(text), [1])).toBe(false);
  });

  it.each([
    [0x80],
    [0xc0, 0xaf],
    [0xc3],
    [0xe2, 0x82],
    [0xe0, 0x80, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x9f, 0x98],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
    [0xff],
  ])("has no string of the bytes %j %j %j %j %j", (...bytes) => {
    const string = Uint8Array.from([0x22, ...bytes.filter((byte) => byte !== undefined), 0x22]);
    for (const size of [1, 2, 3, 4, 100]) expect(accepts(string, [size])).toBe(false);
  });

  it("is nested up to a limit", () => {
    const nested = (depth: number) => bytesOf(`${'{"a":['.repeat(depth / 2)}${"]}".repeat(depth / 2)}`);
    expect(accepts(nested(depthMax))).toBe(true);
    expect(accepts(nested(depthMax + 2))).toBe(false);
    const capture = new JsonCapture(10_000);
    expect(() => scan(capture, nested(depthMax + 2))).toThrow(`is nested more than ${depthMax} levels deep`);
  });
});

describe("an error", () => {
  it("says where it occurred", () => {
    expect(() => scan({}, bytesOf('{"a": 1,, }'), [3])).toThrow("has an unexpected character at byte 8");
    expect(() => scan({}, bytesOf('{"a": 1'), [3])).toThrow("ends unexpectedly after 7 bytes");
    expect(() => scan({}, Uint8Array.of(0x22, 0xff, 0x22))).toThrow("is not UTF-8");
  });

  it("is final", () => {
    const scanner = new JsonScanner({});
    expect(() => scanner.write(bytesOf("[}"))).toThrow(JsonError);
    expect(() => scanner.write(bytesOf("[]"))).toThrow(JsonError);
    expect(() => scanner.end()).toThrow(JsonError);
  });

  it("of a reader is passed on, and final too", () => {
    const scanner = new JsonScanner({
      member() {
        throw new RangeError("not mine");
      },
    });
    expect(() => scanner.write(bytesOf('{"a":1}'))).toThrow(RangeError);
    expect(() => scanner.end()).toThrow(JsonError);
  });
});

describe("readers", () => {
  it.each([[[1]], [[2, 3]], [[1000]]])(
    "of members get their own bytes, of all else nothing (chunks of %j)",
    (sizes) => {
      const capture = new JsonCapture(100);
      const texts: (string | undefined)[] = [];
      const wanted: JsonReader = { ...readerOf(capture), end: () => texts.push(capture.text) };
      const inner: JsonReader = { member: (key) => (key === "b" ? wanted : undefined) };
      const keys: string[] = [];
      const root: JsonReader = {
        member(key) {
          keys.push(key);
          return key === "a" ? inner : undefined;
        },
      };
      const text =
        '{"b":0,"a":{"b":[1, {"b":2}],"c":{"b":3},"b":"é\\n","b":-1.5e3},"\\u0061":{"b":true},"c":{"a":{"b":4}}}';
      scan(root, bytesOf(text), sizes);
      expect(texts).toEqual(['[1, {"b":2}]', '"é\\n"', "-1.5e3", "true"]);
      expect(keys).toEqual(["b", "a", "a", "c"]);
    },
  );

  it("get neither members of an array nor elements of an object", () => {
    const asked: string[] = [];
    const inner: JsonReader = { member: () => void asked.push("member") };
    const outer: JsonReader = { element: () => inner };
    scan(outer, bytesOf('[[1],"x",{"a":1}]'));
    scan(outer, bytesOf('{"a":{"a":1}}'));
    expect(asked).toEqual(["member"]);
  });

  it("of a value beyond their limit have only its size", () => {
    const capture = new JsonCapture(10);
    for (const sizes of [[1], [7], [100]]) {
      scan(capture, bytesOf('"12345678"'), sizes);
      expect(capture).toMatchObject({ text: '"12345678"', size: 10, isTooLarge: false });
      scan(capture, bytesOf('"123456789"'), sizes);
      expect(capture).toMatchObject({ text: undefined, size: 11, isTooLarge: true });
    }
  });

  it("don't get keys beyond the limit", () => {
    const keys: string[] = [];
    const root: JsonReader = { member: (key) => void keys.push(key) };
    const longest = "k".repeat(keyBytesMax);
    for (const sizes of [[1], [keyBytesMax], [5000]])
      scan(root, bytesOf(JSON.stringify({ [longest]: 1, [`${longest}x`]: 2, last: 3 })), sizes);
    expect(keys).toEqual([longest, "last", longest, "last", longest, "last"]);
  });
});

function readerOf(capture: JsonCapture): JsonReader {
  return { begin: () => capture.begin(), raw: (piece, isLast) => capture.raw(piece, isLast) };
}
