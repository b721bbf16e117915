/** The documents agree with the code, and their links resolve. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { commands } from "../src/cli/commands.ts";
import { commandHelp } from "../src/cli/help.ts";
import { describeApi } from "../src/http/server.ts";

interface Schema {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly description?: string;
  readonly readOnly?: boolean;
  readonly anyOf?: readonly Schema[];
}

const { components } = describeApi("0.0.0") as {
  components: { schemas: Record<string, { properties: { attributes: { properties: Record<string, Schema> } } }> };
};

/** The attribute's schema, with the rules of its first alternative if it is nullable. */
function schemaOf(attribute: string): Schema {
  const [type = "", name = ""] = attribute.split(".");
  const found = components.schemas[type]?.properties.attributes.properties[name] ?? {};
  return { ...found.anyOf?.[0], ...found };
}

const rows = readFileSync("docs/api.md", "utf8")
  .split("\n")
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .filter(([, , attribute = ""]) => /^`[a-z-]+\.[a-z-]+`$/.test(attribute))
  .map(([, kind = "", attribute = "", characters = "", length = "", unique = ""]) => ({
    kind,
    attribute: attribute.replaceAll("`", ""),
    characters,
    length,
    unique,
  }));

const printable = Array.from({ length: 0x7f - 0x20 }, (_, index) => String.fromCharCode(0x20 + index));

/** "letters, numbers, `-`; …" → the characters that it allows. */
function allowedCharacters(characters: string): string[] {
  const words = (characters.split(";")[0] ?? "").split(", ");
  if (words.includes("any")) return printable;
  return printable.filter((letter) =>
    words.some((word) =>
      word === "letters"
        ? /[A-Za-z]/.test(letter)
        : word === "numbers"
          ? /\d/.test(letter)
          : word === "spaces"
            ? letter === " "
            : word === `\`${letter}\``,
    ),
  );
}

describe("the names in docs/api.md", () => {
  it("cover every name attribute that can be written", () => {
    const writable = Object.entries(components.schemas).flatMap(([type, { properties }]) =>
      Object.entries(properties.attributes?.properties ?? {})
        .filter(([name, { readOnly }]) => /^(name|username)$/.test(name) && readOnly !== true)
        .map(([name]) => `${type}.${name}`),
    );
    expect(writable.length).toBeGreaterThan(8);
    const known = rows.map(({ attribute }) => attribute);
    const missing = writable.filter((attribute) => !known.includes(attribute));
    expect(missing, "add a row for each to the table of names in docs/api.md").toEqual([]);
  });

  it.each(rows)("$attribute has the documented length", ({ attribute, length }) => {
    const { minLength = 0, maxLength } = schemaOf(attribute);
    expect(length.split(",")[0]).toBe(`${minLength} to ${maxLength}`);
  });

  it.each(rows)("$attribute allows the documented characters", ({ attribute, characters }) => {
    const pattern = new RegExp(schemaOf(attribute).pattern ?? "", "s");
    expect(printable.filter((letter) => pattern.test(`aaa${letter}aaa`))).toEqual(allowedCharacters(characters));
  });

  it.each(rows.filter(({ unique }) => unique !== "no"))(
    "$attribute is documented as unique in the same scope",
    ({ attribute, unique }) => {
      expect(schemaOf(attribute).description?.toLowerCase()).toContain(`unique ${unique}`);
    },
  );
});

const roots = [
  "src",
  "console",
  "test",
  "bin",
  "bench",
  "conformance",
  "packaging",
  "deploy",
  "fuzz",
  "proof",
  "docs",
  ".ci",
];

/** The files of the repository, and its folders with a slash at the end. */
const files = [
  ...readdirSync(".").map((name) => `/${name}`),
  ...roots.map((root) => `/${root}/`),
  ...roots.flatMap((root) =>
    readdirSync(root, { recursive: true, withFileTypes: true }).map(
      (entry) => `/${entry.parentPath}/${entry.name}${entry.isDirectory() ? "/" : ""}`,
    ),
  ),
];

/** `src/{a,b}.ts` → `src/a.ts` and `src/b.ts` */
function expandBraces(path: string): string[] {
  const [, before, choices, after] = /^(.*)\{(.+)\}(.*)$/.exec(path) ?? [];
  return choices === undefined ? [path] : choices.split(",").map((choice) => `${before}${choice}${after}`);
}

/** Modules must have a README with their responsibility, files and rules. */
const modules = ["src", "src/resources"]
  .flatMap((parent) => readdirSync(parent, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory() && entry.name !== "resources")
  .map((entry) => `${entry.parentPath}/${entry.name}`)
  .concat("console");

const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;

describe.each([
  "docs/architecture.md",
  "docs/reference/security-controls.md",
  "docs/adding-a-resource.md",
  "CONTRIBUTING.md",
  ...modules.map((folder) => `${folder}/README.md`),
])("%s", (document) => {
  it("names only files and folders that exist", () => {
    const named = [...readFileSync(document, "utf8").matchAll(/`([\w./{},-]+(?:\.(?:tsx?|js|md|txt|json)|\/))`/g)]
      .flatMap(([, path = ""]) => expandBraces(path))
      // Files that the reader creates.
      .filter((path) => !path.includes("widgets"));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => !files.some((file) => file.endsWith(`/${path}`)))).toEqual([]);
  });
});

describe("the README of a module", () => {
  it.each(modules)("is short: %s", (folder) => {
    const words = wordsIn(readFileSync(`${folder}/README.md`, "utf8"));
    expect(words).toBeGreaterThanOrEqual(80);
    expect(words).toBeLessThanOrEqual(250);
  });
});

it("docs/architecture.md has at most 1,500 words and one diagram", () => {
  const text = readFileSync("docs/architecture.md", "utf8");
  expect(wordsIn(text)).toBeLessThanOrEqual(1500);
  expect(text.match(/^```mermaid$/gm)).toHaveLength(1);
});

it("docs/reference/cli.md has the help of every command", async () => {
  const head = `# Commands

\`cadastre COMMAND --help\` prints the same, and the settings that the command reads ([settings](settings.md)). A test writes this page from the code.
`;
  const sections = commands.map((command) => {
    const help = commandHelp({ ...command, settings: [], ownSettings: {} });
    return `## \`cadastre ${command.name}\`\n\n\`\`\`\n${help}\n\`\`\`\n`;
  });
  await expect([head, ...sections].join("\n")).toMatchFileSnapshot("../docs/reference/cli.md");
});

/** Every document, also those of modules. */
const documents = files
  .map((file) => file.slice(1))
  .filter((file) => /^((docs|src|console|deploy)\/.*|[^/]+)\.md$/.test(file));

/** The anchors that GitHub generates from headings. */
function anchorsIn(document: string): Set<string> {
  const text = readFileSync(document, "utf8").replaceAll(/^ *```.*?^ *```/gms, "");
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.matchAll(/^#+ (.+)$/gm)) {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count += 1) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

describe("headings", () => {
  it.each(documents)("%s links only to existing headings", (document) => {
    const links = [...readFileSync(document, "utf8").matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)]
      .map(([, path = "", anchor = ""]) => ({ file: path === "" ? document : join(dirname(document), path), anchor }))
      .filter(({ file }) => file.endsWith(".md") && existsSync(file));
    expect(links.filter(({ file, anchor }) => !anchorsIn(file).has(anchor))).toEqual([]);
  });
});

describe("the documents", () => {
  it.each(documents)("%s links only to existing files", (document) => {
    const text = readFileSync(document, "utf8");
    const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g), ...text.matchAll(/ (?:src|srcset)="([^":]+)"/g)];
    const targets = links.map(([, target = ""]) => join(dirname(document), target));
    expect(targets.filter((target) => !existsSync(target))).toEqual([]);
  });
});

describe("the decisions", () => {
  const folder = "docs/decisions";
  const index = readFileSync(`${folder}/README.md`, "utf8");
  const decisions = readdirSync(folder).filter((file) => /^\d{4}-/.test(file));
  const listed = index.split("\n").flatMap((line) => {
    const [, number, file, subject] = /^\| \[(\d{4})\]\(([^)]+)\) \| (.+?) \|/.exec(line) ?? [];
    return file === undefined ? [] : [{ file, title: `# ${number}. ${subject}` }];
  });

  /** Ranges of the numbers that were used up to 0186. Every later number has a file. */
  const usedNumbers = (
    [
      [1, 57],
      [60, 63],
      [65, 65],
      [70, 72],
      [75, 78],
      [80, 91],
      [95, 95],
      [100, 118],
      [120, 154],
      [156, 157],
      [159, 173],
      [175, 176],
      [178, 178],
      [180, 180],
      [186, 186],
    ] as const
  ).flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, offset) => String(first + offset).padStart(4, "0")),
  );

  /** Text files that can link to a decision, without the decisions themselves. */
  const texts = files
    .map((file) => file.slice(1))
    .filter((file) => /\.(tsx?|js|md|go|sh|ya?ml|css|html)$/.test(file) && !/(^|\/)(node_modules|dist)\//.test(file))
    .map((file) => ({ file, text: readFileSync(file, "utf8") }));
  const links = texts.flatMap(({ file, text }) =>
    [...text.matchAll(/decisions\/(\d{4}-[\w-]+\.md)/g)].map(([, decision = ""]) => ({ file, decision })),
  );

  it("are each in the index once", () => {
    expect(decisions.length).toBeGreaterThan(30);
    expect(listed.map(({ file }) => file).toSorted()).toEqual(decisions.toSorted());
  });

  it.each(listed)("$file has the title that the index gives it", ({ file, title }) => {
    expect(readFileSync(`${folder}/${file}`, "utf8").split("\n")[0]).toBe(title);
  });

  it("are in the index by every number that was ever used", () => {
    expect(usedNumbers).toHaveLength(158);
    const named = new Set(index.match(/\b\d{4}\b/g));
    expect(usedNumbers.filter((number) => !named.has(number))).toEqual([]);
  });

  it("are all linked from the code or from a document other than a decision", () => {
    const linked = new Set(links.filter(({ file }) => !file.startsWith(folder)).map(({ decision }) => decision));
    expect(decisions.filter((decision) => !linked.has(decision))).toEqual([]);
  });

  it("exist wherever a file links to one or names its number", () => {
    expect(links.filter(({ decision }) => !decisions.includes(decision))).toEqual([]);
    const numbers = new Set(decisions.map((decision) => decision.slice(0, 4)));
    const named = texts.flatMap(({ file, text }) =>
      [...text.matchAll(/\bdecision (\d{4})\b/gi)].map(([, number = ""]) => ({ file, number })),
    );
    expect(named.filter(({ number }) => !numbers.has(number))).toEqual([]);
  });
});
