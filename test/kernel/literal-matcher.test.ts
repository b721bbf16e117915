/** Compares the matcher with a separate search for each text. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { appendSpan, type ByteSpan, LiteralMatcher } from "../../src/kernel/literal-matcher.ts";
import { deep, seed } from "../support/depth.ts";

const covered = (texts: readonly string[], text: string): string => {
  const hidden = [...text];
  for (const each of texts)
    for (let at = text.indexOf(each); at !== -1; at = text.indexOf(each, at + 1))
      hidden.fill("#", at, at + each.length);
  return hidden.join("");
};
const found = (texts: readonly string[], text: string): string => {
  const hidden = [...text];
  for (const [from, to] of new LiteralMatcher(texts.map((each) => Buffer.from(each))).spans(Buffer.from(text)))
    hidden.fill("#", from, to);
  return hidden.join("");
};

describe("LiteralMatcher", () => {
  it("covers what separate searches cover, with any overlap", () => {
    const word = (max: number) => fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: max });
    fc.assert(
      fc.property(fc.array(word(5), { maxLength: 6 }), word(60), (texts, text) => {
        expect(found(texts, text)).toBe(covered(texts, text));
      }),
      { numRuns: deep(1000, 50_000), seed },
    );
  });

  it("returns disjoint spans in order", () => {
    const spans = new LiteralMatcher([Buffer.from("aba"), Buffer.from("b")]).spans(Buffer.from("ababa-b"));
    expect(spans).toEqual([
      [0, 5],
      [6, 7],
    ]);
  });

  it("counts a long text as found by its first bytes", () => {
    const long = Array.from({ length: 600 }, (_, index) => index).join(",");
    expect(found([long], `a${long}b`)).toBe(`a${"#".repeat(long.length)}b`);
    expect(found([long], `a${long.slice(0, 500)}b`)).toBe(`a${long.slice(0, 500)}b`);
  });

  it("compares a long text completely if requested", () => {
    const long = Array.from({ length: 600 }, (_, index) => index).join(",");
    const matcher = new LiteralMatcher([Buffer.from(long)], Number.POSITIVE_INFINITY);
    expect(matcher.spans(Buffer.from(`a${long}b`))).toEqual([[1, 1 + long.length]]);
    expect(matcher.spans(Buffer.from(`a${long.slice(0, -1)}b`))).toEqual([]);
  });

  it("scans a stream piece by piece, and returns how many last bytes may become part of a text", () => {
    const word = (max: number) => fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: max });
    fc.assert(
      fc.property(fc.array(word(5), { maxLength: 6 }), fc.array(word(6), { maxLength: 8 }), (texts, pieces) => {
        const matcher = new LiteralMatcher(texts.map((each) => Buffer.from(each)));
        const spans: ByteSpan[] = [];
        let [state, read] = [0, ""];
        for (const piece of pieces) {
          state = matcher.scan(Buffer.from(piece), state, (from, to) =>
            appendSpan(spans, read.length + from, read.length + to),
          );
          read += piece;
          const open = texts.flatMap((text) =>
            [...text].flatMap((_, length) => (read.endsWith(text.slice(0, length)) ? [length] : [])),
          );
          expect(matcher.openBytes(state)).toBe(Math.max(0, ...open));
        }
        expect(spans).toEqual(matcher.spans(Buffer.from(read)));
      }),
      { numRuns: deep(1000, 50_000), seed },
    );
  });

  it("is empty without texts", () => {
    expect(new LiteralMatcher([]).isEmpty).toBe(true);
    expect(new LiteralMatcher([]).spans(Buffer.from("a"))).toEqual([]);
  });
});
