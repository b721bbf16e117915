/** User-supplied patterns: what they match, and that none takes long. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expression, expressionFault, globs, wildcard } from "../../src/kernel/patterns.ts";
import { deep, seed } from "../support/depth.ts";

describe("globs", () => {
  it.each([
    ["*.tf", "main.tf", true],
    ["*.tf", "a/main.tf", false],
    ["/*.tf", "main.tf", true],
    ["**/*.tf", "main.tf", true],
    ["**/*.tf", "a/b/main.tf", true],
    ["a/**", "a/b/c", true],
    ["a/**", "a", false],
    ["a/**", "ab/c", false],
    ["a/**/c", "a/c", true],
    ["a/**/c", "a/b/b/c", true],
    ["a/**/c", "a/bc", false],
    ["**", "anything/at/all", true],
    ["main.?f", "main.tf", true],
    ["main.?f", "main.f", false],
    ["a?c", "a/c", false],
    ["*", ".hidden", true],
    ["a/*", "a/.hidden", true],
    ["a+b.tf", "a+b.tf", true],
    ["a+b.tf", "aab.tf", false],
    ["[ab].tf", "a.tf", false],
    ["A.tf", "a.tf", false],
    ["a**b", "a/x/b", true],
    ["ä/*.tf", "ä/ö.tf", true],
    ["line*", "line\nbreak", true],
  ])("%s on %s: %s", (pattern, path, matches) => {
    expect(globs([pattern])(path)).toBe(matches);
  });

  it("match nothing without patterns, and match if one of several does", () => {
    expect(globs([])("a")).toBe(false);
    expect(globs(["b", "a"])("a")).toBe(true);
  });

  it("match the same as a backtracking matcher", () => {
    const piece = fc.constantFrom("a", "b", ".", "/", "*", "**", "**/", "/**", "?");
    const pattern = fc.array(piece, { minLength: 1, maxLength: 7 }).map((pieces) => pieces.join(""));
    const path = fc.array(fc.constantFrom("a", "b", ".", "/"), { maxLength: 7 }).map((letters) => letters.join(""));
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 3 }), path, (patterns, text) => {
        expect(globs(patterns)(text)).toBe(patterns.some((each) => slowly(each.replace(/^\/+/, ""), text)));
      }),
      { seed, numRuns: deep(2000, 100_000) },
    );
  });
});

/** A backtracking matcher. `**` can match no folder, then without its slash. */
function slowly(pattern: string, text: string, atStart = true): boolean {
  if (pattern === "") return text === "";
  if (pattern === "/**") return text.startsWith("/");
  if (atStart && pattern.startsWith("**/"))
    return (
      slowly(pattern.slice(3), text) ||
      [...text].some((letter, at) => letter === "/" && slowly(pattern.slice(3), text.slice(at + 1)))
    );
  const [stars] = /^\*+/.exec(pattern) ?? [];
  if (stars !== undefined) {
    const rest = pattern.slice(stars.length);
    for (let taken = 0; taken <= text.length; taken++) {
      if (stars.length === 1 && text.slice(0, taken).includes("/")) break;
      if (slowly(rest, text.slice(taken), false)) return true;
    }
    return false;
  }
  const [first = "", letter] = [pattern[0], text[0]];
  if (letter === undefined || (first === "?" ? letter === "/" : first !== letter)) return false;
  return slowly(pattern.slice(1), text.slice(1), first === "/");
}

describe("expressions", () => {
  it("match anywhere unless anchored", () => {
    expect(expression("v\\d+")("release-v12")).toBe(true);
    expect(expression("^v\\d+$")("release-v12")).toBe(false);
  });

  it.each(["(", "(?=a)", "a**", "\\1"])("%s is refused with a reason", (text) => {
    expect(expressionFault(text)).toMatch(/\w+ \w+/);
  });

  it("take linear time where backtracking would be exponential", () => {
    // Some engines would need 2 to the power of 10,000 steps.
    expect(expression("^(a+)+$")(`${"a".repeat(10_000)}b`)).toBe(false);
    expect(globs([`${"*a".repeat(100)}b`])("a".repeat(4000))).toBe(false);
  });
});

describe("wildcard", () => {
  it.each([
    ["repo:acme/*:ref:refs/heads/main", "repo:acme/app:ref:refs/heads/main", true],
    ["repo:acme/*:ref:refs/heads/main", "repo:acme/app:ref:refs/heads/mainly", false],
    ["*", "", true],
    ["", "", true],
    ["", "a", false],
    ["a?c", "a🍄c", true],
    ["a**c", "ac", true],
    [`${"a".repeat(40)}*${"b".repeat(40)}`, `${"a".repeat(40)}x${"b".repeat(40)}`, true],
    [`${"a".repeat(31)}*`, "a".repeat(31), true],
    [`${"a".repeat(32)}*`, "a".repeat(31), false],
  ])("%s on %s: %s", (pattern, text, matches) => {
    expect(wildcard(pattern)(text)).toBe(matches);
  });

  it("matches the same as the equivalent expression", () => {
    const letters = (unit: string) => fc.string({ unit: fc.constantFrom(...unit), maxLength: 80 });
    fc.assert(
      fc.property(letters("ab*?"), letters("ab"), (pattern, text) => {
        const same = expression(`^${pattern.replaceAll("*", ".*").replaceAll("?", ".")}$`);
        expect(wildcard(pattern)(text)).toBe(same(text));
      }),
      { numRuns: deep(500, 20_000), seed },
    );
  });
});
