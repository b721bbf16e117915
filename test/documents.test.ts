/** What the documents say of the code is so. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
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

/** With the rules of what may be sent, where null may be sent too. */
function schemaOf(attribute: string): Schema {
  const [type = "", name = ""] = attribute.split(".");
  const found = components.schemas[type]?.properties.attributes.properties[name] ?? {};
  return { ...found.anyOf?.[0], ...found };
}

const rows = readFileSync("docs/api.md", "utf8")
  .split("\n")
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .filter(([, , attribute = ""]) => /^`[a-z-]+\.[a-z-]+`$/.test(attribute))
  .map(([, thing = "", attribute = "", characters = "", length = "", unique = ""]) => ({
    thing,
    attribute: attribute.replaceAll("`", ""),
    characters,
    length,
    unique,
  }));

const printable = Array.from({ length: 0x7f - 0x20 }, (_, index) => String.fromCharCode(0x20 + index));

/** "letters, numbers, `-`; …" → the characters that it means. */
function meant(characters: string): string[] {
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
  it("are all that can be given", () => {
    const given = Object.entries(components.schemas).flatMap(([type, { properties }]) =>
      Object.entries(properties.attributes?.properties ?? {})
        .filter(([name, { readOnly }]) => /^(name|username)$/.test(name) && readOnly !== true)
        .map(([name]) => `${type}.${name}`),
    );
    expect(given.length).toBeGreaterThan(8);
    expect(rows.map(({ attribute }) => attribute)).toEqual(expect.arrayContaining(given));
  });

  it.each(rows)("$attribute is as long as it says", ({ attribute, length }) => {
    const { minLength = 0, maxLength } = schemaOf(attribute);
    expect(length.split(",")[0]).toBe(`${minLength} to ${maxLength}`);
  });

  it.each(rows)("$attribute may hold the characters that it says", ({ attribute, characters }) => {
    const pattern = new RegExp(schemaOf(attribute).pattern ?? "", "s");
    expect(printable.filter((letter) => pattern.test(`aaa${letter}aaa`))).toEqual(meant(characters));
  });

  it.each(rows.filter(({ unique }) => unique !== "no"))(
    "$attribute is as unique as it says",
    ({ attribute, unique }) => {
      expect(schemaOf(attribute).description?.toLowerCase()).toContain(`unique ${unique}`);
    },
  );
});
