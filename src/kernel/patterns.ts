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

/** Characters have their code point; everything else a pattern consists of is below zero. */
const token = { one: -1, star: -2, anything: -3, maybeFolders: -4, end: -5 };
const slash = 47;

/**
 * Whether a path matches one of the patterns. Patterns are relative to the root, with or without a leading slash. `**` is any number
 * of folders, `*` any characters of one name, `?` one of them; everything else stands for itself. All patterns are compared at once,
 * character by character, so that the time is at most proportional to the length of the path times that of the patterns. After
 * `stepsMax` comparisons, over all calls, every path counts as a match.
 */
export function globs(patterns: readonly string[], stepsMax = Number.POSITIVE_INFINITY): Matches {
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

/** Positions in the patterns, each once, with those reached without a character: a wildcard may stand for nothing. */
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
    // Without folders there is no slash behind them either.
    if (each === token.maybeFolders) this.add(at + 3);
  }
}

/** The positions after one more character. */
function advance(from: Positions, to: Positions, character: number): void {
  for (const at of from.list()) {
    const each = from.tokens[at];
    if (each === character || (each === token.one && character !== slash)) to.add(at + 1);
    else if (each === token.anything || (each === token.star && character !== slash)) to.add(at);
  }
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
  /** A star may stand for nothing: a position at one is also at the place after it. No two stars are neighbours. */
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
