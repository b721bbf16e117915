/** Matches user-supplied patterns in linear time, so that no pattern can block the service. */
import { RE2JS, RE2JSSyntaxException } from "re2js";

export type TextMatcher = (text: string) => boolean;

/** The end of a sentence; undefined if the expression is valid. */
export function expressionFault(expression: string): string | undefined {
  try {
    RE2JS.compile(expression);
    return undefined;
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    return error.message.replace(/^error parsing regexp: /, "").replaceAll("`", "'");
  }
}

/** RE2 syntax, not anchored. Throws if `expressionFault` returns a fault. */
export function expression(text: string): TextMatcher {
  const compiled = RE2JS.compile(text);
  return (value) => compiled.test(value);
}

/** Characters are code points; every other token is negative. */
const token = { one: -1, star: -2, anything: -3, maybeFolders: -4, end: -5 };
const slash = 47;

/**
 * `**` matches any number of folders, `*` any characters of one name, `?` one character; a leading slash is optional. After
 * `stepsMax` comparisons over all calls every path counts as a match.
 */
export function globs(patterns: readonly string[], stepsMax = Number.POSITIVE_INFINITY): TextMatcher {
  const tokens = Int32Array.from(patterns.flatMap((pattern) => [...tokensOf(pattern), token.end]));
  const starts = tokens.keys().filter((at) => at === 0 || tokens[at - 1] === token.end);
  const first = new Positions(tokens).addAll([...starts]);
  let [states, next] = [new Positions(tokens), new Positions(tokens)];
  let steps = 0;
  return (path) => {
    states.clear().addAll(first.list());
    for (const character of path) {
      if (states.count === 0) return false;
      steps += states.count;
      if (steps > stepsMax) return true;
      advance(states, next.clear(), character.codePointAt(0) ?? 0);
      [states, next] = [next, states];
    }
    return states.list().some((at) => tokens[at] === token.end);
  };
}

function tokensOf(pattern: string): number[] {
  const parts = pattern.replace(/^\/+/, "").match(/(?<=^|\/)\*\*\/|\*+|[^*]/gu) ?? [];
  return parts.flatMap((part) => {
    if (part === "**/") return [token.maybeFolders, token.anything, slash];
    if (part.startsWith("*")) return [part === "*" ? token.star : token.anything];
    return [part === "?" ? token.one : (part.codePointAt(0) ?? 0)];
  });
}

class Positions {
  readonly tokens: Int32Array;
  count = 0;
  readonly #positions: Int32Array;
  readonly #addedIn: Int32Array;
  #generation = 1;

  constructor(tokens: Int32Array) {
    this.tokens = tokens;
    this.#positions = new Int32Array(tokens.length);
    this.#addedIn = new Int32Array(tokens.length);
  }

  clear(): this {
    this.count = 0;
    this.#generation += 1;
    return this;
  }

  list(): Int32Array {
    return this.#positions.subarray(0, this.count);
  }

  addAll(positions: Iterable<number>): this {
    for (const at of positions) this.add(at);
    return this;
  }

  add(at: number): void {
    if (this.#addedIn[at] === this.#generation) return;
    this.#addedIn[at] = this.#generation;
    this.#positions[this.count] = at;
    this.count += 1;
    const each = this.tokens[at];
    if (each === token.star || each === token.anything || each === token.maybeFolders) this.add(at + 1);
    // Without folders there is no slash after them.
    if (each === token.maybeFolders) this.add(at + 3);
  }
}

function advance(from: Positions, to: Positions, character: number): void {
  for (const at of from.list()) {
    const each = from.tokens[at];
    if (each === character || (each === token.one && character !== slash)) to.add(at + 1);
    else if (each === token.anything || (each === token.star && character !== slash)) to.add(at);
  }
}

/** Matches `*` (any characters) and `?` (one) in texts without folders. Positions are bits: one operation per 32 of them. */
export function wildcard(pattern: string): TextMatcher {
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
  /** A star can be empty, so a position at a star is also a position after it. Stars are never adjacent. */
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
