/** Names and phrases that the code and the documents do not use. CONTRIBUTING.md says how we write. */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { expect, it } from "vitest";

const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => join(folder, file).split(sep).join("/"))
    .filter((file) => ending.test(file) && !/(^|\/)(node_modules|dist)\//.test(file));

const code = [...filesIn("src", /\.ts$/), ...filesIn("console", /(?<!\.gen)\.tsx?$/)];

/** Where each type is declared, by its name. */
const declarations = new Map<string, string[]>();
for (const file of code) {
  const text = readFileSync(file, "utf8");
  for (const [, name = ""] of text.matchAll(
    /^\s*(?:export )?(?:declare )?(?:abstract )?(?:type|interface|class|enum) ([A-Z]\w*[a-z]\w*)(?=[\s<=])/gm,
  ))
    declarations.set(name, [...(declarations.get(name) ?? []), file]);
}

/** Declared again on purpose: two files extend this type of the framework. */
const extended = new Set(["FastifyRequest"]);

it("a type's name is declared once, in the server and the console together", () => {
  const twice = [...declarations].filter(([name, files]) => files.length > 1 && !extended.has(name));
  expect(Object.fromEntries(twice)).toEqual({});
});

const emptyNames =
  /^(Asked|Deed|Found|Given|Happening|Held|Kept|Keeper|Maker|Moment|Parts|Place|Sight|Standing|Thing|Told|Wanted|Way|Whole|Words|Work)$/;

it("a type's name says what it is", () => {
  expect([...declarations.keys()].filter((name) => emptyNames.test(name))).toEqual([]);
});

const banned = /\b(whoever|tells of|is told|has its turn)\b/i;

it("nothing that people read has a banned phrase", () => {
  const texts = [
    ...code,
    ...filesIn("docs", /\.md$/),
    ...filesIn("src", /\.md$/),
    "README.md",
    "CONTRIBUTING.md",
    "test/goldens/openapi.json",
  ];
  const lines = texts.flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .flatMap((line, index) => (banned.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
  expect(lines).toEqual([]);
});
