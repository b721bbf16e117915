/** Every shell block of the documents is run by a test or listed with a reason, and every command in the documents is valid. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "../../src/cli/arguments.ts";
import { commands } from "../../src/cli/commands.ts";
import { blocksOf, plans, plansFor } from "./shell-blocks.ts";

describe.each(Object.entries(plans))("%s", (document, planned) => {
  test("has only shell blocks that are run or listed with a reason", () => {
    const blocks = blocksOf(document);
    expect(blocks.filter((block) => plansFor(document, block).length !== 1)).toEqual([]);
    expect(planned.filter(({ begins }) => !blocks.some((block) => block.startsWith(begins)))).toEqual([]);
    expect(planned.filter(({ run, cannot }) => (run === undefined) === (cannot === undefined))).toEqual([]);
  });
});

const firstWords = [...new Set(commands.map(({ name }) => name.split(" ")[0]))].join("|");
/** At the beginning it is the program; elsewhere it can be the name of a container or directory. */
const commandLine = new RegExp(`(?:^cadastre|[\\s/]cadastre(?= (?:${firstWords})\\b)|run cadastre --) ([a-z].*)$`);

/** `cadastre …` in a sentence or a block. */
function commandLinesIn(text: string): string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
  const blocks = [...text.matchAll(/^ *```\w*\n(.*?)^ *```/gms)].map(([, block = ""]) => block.replaceAll("\\\n", " "));
  return [...spans, ...blocks]
    .flatMap((part) => part.split(/\n|&&|\||;|\$\(|\)/))
    .flatMap((line) => commandLine.exec(line.replace(/\s#.*$/, "").trim())?.[1] ?? [])
    .filter((line) => !/^help\b/.test(line));
}

const documents = [
  "README.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith(".md") && !/^docs\/(?:decisions|reference\/cli)/.test(name));
const written = documents.flatMap((document) =>
  commandLinesIn(readFileSync(document, "utf8")).map((line) => [document, line] as const),
);

test("the documents contain commands", () => expect(written.length).toBeGreaterThan(30));

test.each(written)("%s: 'cadastre %s' is a valid command", (_document, line) => {
  const words = line.split(/\s+/).filter((word) => word !== "" && word !== "…");
  const command = commands.find(({ name }) => name.split(" ").every((word, position) => words[position] === word));
  // The name of a group of commands.
  if (command === undefined) return expect(commands.some(({ name }) => name.startsWith(`${line} `))).toBe(true);
  const rest = words.slice(command.name.split(" ").length);
  // In a sentence the arguments can be missing.
  if (rest.length > 0) parse(command, rest);
});
