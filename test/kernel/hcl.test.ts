/** HCL literals: parsed as engines parse them, without a way to inject syntax, in linear time. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HclFault, readHcl, textsInHcl } from "../../src/kernel/hcl.ts";
import { deep, seed } from "../support/depth.ts";
import { expectLinear } from "../support/growth.ts";
import { itInGate } from "../support/engine-independent.ts";

const valueOf = (text: string): unknown => JSON.parse(readHcl(text).json);
const faultOf = (text: string): string => {
  try {
    return `none: ${readHcl(text).json}`;
  } catch (error) {
    if (!(error instanceof HclFault)) throw error;
    return error.message;
  }
};

describe("literals", () => {
  it.each([
    ["1", 1],
    ["-1", -1],
    ["- 0.50", -0.5],
    ["007", 7],
    ["1e3", 1000],
    ["true", true],
    ["null", null],
    ['"text"', "text"],
    ['"a\\n\\t\\"\\\\\\u00e9\\U0001F600"', 'a\n\t"\\é😀'],
    ['"$5 100% $${x} %%{y} $$ %% $$${z}"', "$5 100% ${x} %{y} $$ %% $${z}"],
    ['""', ""],
    ["[]", []],
    ['["a", 1, null,]', ["a", 1, null]],
    ['[\n  "a", # one\n  // two\n  "b" /* three */\n]', ["a", "b"]],
    ["{}", {}],
    ["{ a = 1, b: 2 }", { a: 1, b: 2 }],
    [
      '{\n  a = 1\n\n  "b c" = [2]\n  1.50 = 3\n  (true) = 4\n  null = 5\n}',
      { a: 1, "b c": [2], 1.5: 3, true: 4, null: 5 },
    ],
    ["{ a = 1, a = 2 }", { a: 2 }],
    ["(\n  1\n)", 1],
    ["<<EOT\n  any\nother = 1 \\n $${x}\nEOT\n", "  any\nother = 1 \\n ${x}\n"],
    ["<<-EOT\n    any\n\n      more\n  EOT", "any\n\n  more\n"],
    ["[<<A\nx\nA\n, <<B\ny\n  B\n]", ["x\n", "y\n"]],
    ["\n {a=1}\n# the end\n", { a: 1 }],
    ["1 # EOT\n", 1],
  ])("%j is read as engines read it", (text, value) => expect(valueOf(text)).toEqual(value));

  it("keep every digit, and keys that JavaScript treats specially", () => {
    expect(readHcl("[12345678901234567890.123456789, -0]").json).toBe("[12345678901234567890.123456789,-0]");
    expect(readHcl('{ __proto__ = 1, "constructor" = 2 }').json).toBe('{"__proto__":1,"constructor":2}');
    expect(readHcl('{ é = 1, "e\u0301" = 2 }').json).toBe('{"é":2}');
  });

  it("list the strings and numbers in them", () => {
    expect(textsInHcl('["a", b]')).toEqual(['["a", b]']);
    expect(textsInHcl('["a"]')).toEqual(['["a"]', "a"]);
    expect(readHcl('{ a = "one \\"two\\"", "k" = ["$${x}", 12345, true] }').scalars).toEqual([
      'one "two"',
      "k",
      "${x}",
      "12345",
    ]);
  });
});

describe("refusals", () => {
  it.each([
    // An expression that seems to end later than it does.
    ['"${/* " { */ 1}"\nguard = "evil"', /template sequence.*\(line 1, column 3\)/],
    ['1\nother = "2"', /unexpected text follows.*\(line 2, column 1\)/],
    ["1 # a comment\nother = 2", /unexpected text follows/],
    ["1 /* \n */ other = 2", /unexpected text follows/],
    ["<<EOT\nany\nEOT\nother = 1", /unexpected text follows/],
    ["<<-EOT\n  any\n  EOT \nother = 1", /unexpected text follows/],
    ["1)\nother = (2", /unexpected text follows/],
    ["1\rother = 2", /unexpected text follows/],
    ["1\u2028other = 2", /unexpected text follows/],
    ['"a\nb"', /string is not closed/],
    ['"a', /string is not closed/],
    ['"a\\"', /string is not closed/],
    ["]", /a value is expected/],
    ["", /ends where a value/],
    ["[", /ends where a value/],
    ["[1", /bracket has to be closed/],
    ["[1 2]", /unexpected text follows/],
    ["{ a = 1 b = 2 }", /unexpected text follows/],
    ["{ a }", /followed by =/],
    ["{ a.b = 1 }", /followed by =/],
    ["{ [1] = 1 }", /a key is expected/],
    ["{ (null) = 1 }", /key must be a string/],
    ["/* 1", /comment is not closed/],
    ["<<EOT\nany\n", /heredoc is not closed/],
    ["<<EOT\n%{ if true }a%{ endif }\nEOT", /template sequence/],
    ["<<EOT any\nEOT", /a value is expected/],
    ['"\\x"', /no known escape/],
    ['"\\ud83d"', /names no character/],
    ['"\\U00110000"', /names no character/],
    ["var.a", /has a reference/],
    ["text", /has a reference/],
    ['file("/etc/passwd")', /calls a function/],
    ["[for x in [1] : x]", /for expression/],
    ["{ for x in [1] : x => x }", /for expression/],
    ["1 + 2", /is an expression/],
    ["[1][0]", /is an expression/],
    ["{ a = 1 }.a", /is an expression/],
    ["true ? 1 : 2", /is an expression/],
    ["!true", /a value is expected/],
    ["--1", /number is expected/],
    ["0x10", /number is expected/],
    ["1.2.3", /number is expected/],
    ["1e1000000", /exponent is too large/],
    [`${"[".repeat(201)}${"]".repeat(201)}`, /more than 200 levels/],
    ["{a=".repeat(200_000), /more than 200 levels/],
  ])("%j", (text, sentence) => expect(faultOf(text)).toMatch(sentence));

  it("don't quote the value", () => {
    expect(faultOf('["hunter2", hunter2]')).not.toContain("hunter2");
  });
});

type Tree = string | number | boolean | null | Tree[] | { [key: string]: Tree };

/** Writes a value in one of several notations; `way` chooses. */
function written(tree: Tree, way: () => number): string {
  const blank = () => ["", " ", "\t", '/* " { */'][way() % 4] ?? "";
  const line = () => ["", "\n", " # }\n", '// "\n', "\r\n"][way() % 5] ?? "";
  if (typeof tree === "string") {
    const text = tree.replace(/([$%])(?=\{)/g, "$1$1");
    if (way() % 3 === 0 && !/\r|(^|\n)\s*EOT\s*(\n|$)/.test(tree))
      return `<<EOT\n${text}${text === "" ? "" : "\n"}EOT\n`;
    // oxlint-disable-next-line no-control-regex -- as they are escaped
    return `"${text.replace(/["\\\u0000-\u001f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;
  }
  if (Array.isArray(tree)) return `[${tree.map((each) => line() + written(each, way) + line()).join(",")}${line()}]`;
  if (tree === null || typeof tree !== "object") return JSON.stringify(tree);
  const members = Object.entries(tree).map(
    ([key, value]) =>
      `${JSON.stringify(key).replace(/([$%])(?=\{)/g, "$1$1")}${blank()}${way() % 2 ? "=" : ":"}${blank()}${written(value, way)}`,
  );
  return `{${line()}${members.join(way() % 2 ? "\n" : " # c\n")}${line()}}`;
}

/** A heredoc ends with a new line, unless it is empty. */
const isSame = (read: unknown, tree: Tree): boolean => {
  if (typeof tree === "string") return read === tree || read === `${tree}\n`;
  if (Array.isArray(tree))
    return Array.isArray(read) && read.length === tree.length && tree.every((each, at) => isSame(read[at], each));
  if (tree === null || typeof tree !== "object") return Object.is(read, tree);
  const [keys, other] = [Object.keys(tree), Object.keys(read as object)];
  return (
    keys.length === other.length &&
    keys.every((key) => isSame((read as Record<string, unknown>)[key], tree[key] ?? null))
  );
};

const key = fc.string({ unit: fc.constantFrom("a", "b", "é", " ", "$", "{", '"', "-") });
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: fc.constantFrom("a", "$", "%", "{", "}", '"', "\\", "\n", " ", "#", "é", "EOT", "/*") }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(key, tie("tree"), { maxKeys: 4 }),
  ),
}));
const pieces = [
  '"',
  "\\",
  "$",
  "${",
  "$${",
  "%{",
  "{",
  "}",
  "[",
  "]",
  "(",
  ")",
  ",",
  "=",
  ":",
  "\n",
  " ",
  "#",
  "//",
  "/*",
  "*/",
  "<<EOT\n",
  "<<-E\n",
  "\nEOT\n",
  "\nE\n",
  "a",
  "1",
  "-",
  ".",
  "true",
  "guard",
  "\\u0041",
  "\r\n",
  '"x"',
];
const piece = fc.constantFrom(...pieces);

describe("any string", () => {
  it("is parsed correctly in every notation", () => {
    fc.assert(
      fc.property(tree, fc.array(fc.nat(), { minLength: 1, maxLength: 40 }), (value, ways) => {
        let at = 0;
        const text = written(value, () => ways[at++ % ways.length] ?? 0);
        expect(isSame(valueOf(text), value), text).toBe(true);
      }),
      { seed, numRuns: deep(300, 20_000) },
    );
  });

  it("is one value or is refused, and nothing can be appended to it", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece, { maxLength: 30 }).map((chosen) => chosen.join("")),
        ),
        (text) => {
          const fault = faultOf(text);
          if (!fault.startsWith("none: ")) return;
          JSON.parse(fault.slice("none: ".length));
          expect(faultOf(`${text}\nguard = "evil"`)).toMatch(/unexpected text follows/);
        },
      ),
      { seed, numRuns: deep(2000, 200_000) },
    );
  });
});

describe("time", () => {
  const sizeMax = 256 * 1024;
  const shapes: Record<string, (length: number) => string> = {
    "open quotes": (length) => '"\\"'.repeat(length / 3),
    "quotes behind each other": (length) => `[${'"a",'.repeat(length / 4)}]`,
    "open comments": (length) => "/*".repeat(length / 2),
    "comments behind each other": (length) => `${"/**/".repeat(length / 4)}1`,
    "lines of comments": (length) => "#\n".repeat(length / 2),
    "open heredocs": (length) => "<<A\n".repeat(length / 4),
    "heredocs behind each other": (length) => `[${"<<A\n$\nA\n,".repeat(length / 10)}]`,
    "one heredoc of many lines": (length) => `<<-A\n${" a\n".repeat(length / 3)}A`,
    "dollar signs": (length) => `"${"$".repeat(length)}"`,
    digits: (length) => `${"1".repeat(length)}.${"1".repeat(length)}x`,
    "one key again and again": (length) => `{${"a=1,".repeat(length / 4)}}`,
    "many keys": (length) => `{${Array.from({ length: length / 8 }, (_, at) => `k${at}=1\n`).join("")}}`,
    spaces: (length) => " ".repeat(length),
    "brackets that close nothing": (length) => `1${"]".repeat(length)}`,
  };
  itInGate.each(Object.entries(shapes))("grows with the length alone: %s", async (name, shape) => {
    await expectLinear(name, (length) => faultOf(shape(length)), sizeMax);
  });
});
