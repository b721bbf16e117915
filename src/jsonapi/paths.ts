/** Parses and matches the paths of requests. */
import { notFound } from "../kernel/errors.ts";
import { camel } from "../kernel/names.ts";

/** A parameter that can't be a name or an id never reaches a store. Throws `not-found`. */
export function paramsOf(params: Readonly<Record<string, string>>): Record<string, string> {
  const named: Record<string, string> = {};
  for (const [name, value] of Object.entries(params)) {
    if (value === "" || value.length > 256 || value.includes("\0") || !value.isWellFormed()) throw notFound("resource");
    named[camel(name)] = value;
  }
  return named;
}

export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, sent] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== sent.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = sent[index] ?? "";
    if (!part.startsWith(":")) {
      if (part !== value) return undefined;
      continue;
    }
    const decoded = decode(value);
    if (decoded === undefined || decoded === "") return undefined;
    params[part.slice(1)] = decoded;
  }
  return params;
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
