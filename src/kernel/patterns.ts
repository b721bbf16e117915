/**
 * Patterns that people write, matched in a time that grows with the text alone: whoever writes one can't make the service busy
 * with it. So expressions are RE2's: they know neither look-arounds nor back references.
 */
import { RE2JS, RE2JSSyntaxException } from "re2js";

export type Matches = (text: string) => boolean;

/** Why an expression can't be used, as the end of a sentence; undefined where it can. */
export function expressionFault(expression: string): string | undefined {
  try {
    RE2JS.compile(expression);
    return undefined;
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    return error.message.replace(/^error parsing regexp: /, "").replaceAll("`", "'");
  }
}

/** Found anywhere in a text, unless it is anchored. Raises what `expressionFault` tells of. */
export function expression(text: string): Matches {
  const compiled = RE2JS.compile(text);
  return (value) => compiled.test(value);
}

/** As one expression, so that a path is looked at once, however many there are. */
export function globs(patterns: readonly string[]): Matches {
  if (patterns.length === 0) return () => false;
  const compiled = RE2JS.compile(patterns.map((pattern) => `(?:${expressionOf(pattern)})`).join("|"), RE2JS.DOTALL);
  return (path) => compiled.testExact(path);
}

/**
 * Relative to the root, with or without a slash in front. `**` is any number of folders, `*` any characters of one name, `?` one of
 * them; everything else stands for itself.
 */
function expressionOf(pattern: string): string {
  const parts = /\/\*\*$|(?<=^|\/)\*\*\/|\*+|\?|[^*?/]+|\//g;
  return (pattern.replace(/^\/+/, "").match(parts) ?? [])
    .map((part) => {
      if (part === "**/") return "(?:.*/)?";
      if (part === "/**") return "/.*";
      if (part === "**" || (part.length > 1 && /^\*+$/.test(part))) return ".*";
      if (part === "*") return "[^/]*";
      if (part === "?") return "[^/]";
      return RE2JS.quote(part);
    })
    .join("");
}

/**
 * `*` any characters, `?` one, for texts without folders. All places of the pattern that the text so far leads to are kept as bits, so that
 * a character costs the same whatever both are: a word for 32 characters of the pattern.
 */
export function wildcard(pattern: string): Matches {
  const places = [...pattern.replace(/\*+/g, "*")];
  const words = (places.length >> 5) + 1;
  const stars = new Uint32Array(words);
  const anywhere = new Uint32Array(words);
  const byLetter = new Map<string, Uint32Array>();
  for (const [place, letter] of places.entries()) {
    const [word, bit] = [place >> 5, 1 << (place & 31)];
    if (letter === "*") stars[word]! |= bit;
    else if (letter === "?") anywhere[word]! |= bit;
    else {
      const own = byLetter.get(letter) ?? new Uint32Array(words);
      own[word]! |= bit;
      byLetter.set(letter, own);
    }
  }
  const none = new Uint32Array(words);
  /** A star may stand for nothing: whoever is at one is also at the place after it. No two stars are neighbours. */
  const passStars = (at: Uint32Array): void => {
    let carry = 0;
    for (let word = 0; word < words; word += 1) {
      const passed = (at[word]! & stars[word]!) >>> 0;
      at[word] = at[word]! | (passed << 1) | carry;
      carry = passed >>> 31;
    }
  };
  return (text) => {
    let [at, next] = [new Uint32Array(words), new Uint32Array(words)];
    at[0] = 1;
    passStars(at);
    for (const letter of text) {
      const own = byLetter.get(letter) ?? none;
      let [carry, isAnywhere] = [0, 0];
      for (let word = 0; word < words; word += 1) {
        const moved = (at[word]! & (own[word]! | anywhere[word]!)) >>> 0;
        next[word] = (moved << 1) | carry | (at[word]! & stars[word]!);
        carry = moved >>> 31;
        isAnywhere |= next[word]!;
      }
      if (isAnywhere === 0) return false;
      passStars(next);
      [at, next] = [next, at];
    }
    return (at[places.length >> 5]! & (1 << (places.length & 31))) !== 0;
  };
}
