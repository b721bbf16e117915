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
