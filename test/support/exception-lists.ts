/** Reads exception lists, which must only shrink: each exception to a rule has a reason. */
import { readFileSync } from "node:fs";

/** Lines of `name: reason`; `#` starts a comment. */
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
