/** Lists that only shrink: what a rule does not hold for yet, or never will, with the reason in a sentence. */
import { readFileSync } from "node:fs";

/** A golden of lines `name: reason`; lines that begin with `#` are comments. */
export function readReasons(path: string): ReadonlyMap<string, string> {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const [, name, reason] = /^([\w.-]+): (\S.*)$/.exec(line) ?? [];
      if (name === undefined || reason === undefined) throw new Error(`${path}: this line has no reason: ${line}`);
      return [name, reason];
    }),
  );
}
