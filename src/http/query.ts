/** The query string of a URL: plain and percent-encoded brackets alike, bounded, and refused when it can't be decoded. */
import type { RawQuery } from "../jsonapi/query.ts";
import { AppError } from "../kernel/errors.ts";

export const queryBytesMax = 8 * 1024;

/** Raises `bad-request`. */
export function parseQueryString(text: string): RawQuery {
  if (text.length > queryBytesMax)
    throw new AppError("bad-request", `The query is longer than ${queryBytesMax} bytes; ask for less at once.`);
  const values = new Map<string, string[]>();
  if (text === "") return values;
  for (const part of text.split("&")) {
    if (part === "") continue;
    const [name = "", ...rest] = part.split("=");
    const key = decode(name);
    const value = decode(rest.join("="));
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.push(value);
  }
  return values;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new AppError("bad-request", "The query is not valid percent-encoded UTF-8.");
  }
}
