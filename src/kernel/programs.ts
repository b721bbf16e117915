/**
 * Where a program of ours lies that another one of ours starts: its source in a checkout, its bundle in a package, in which all lie side
 * by side.
 */
import { basename } from "node:path";

/** `importer` is the `import.meta.url` of whoever asks, `source` the path from there to the program's source. */
export function programBeside(importer: string, source: string): URL {
  return new URL(importer.endsWith(".ts") ? source : `${basename(source, ".ts")}.js`, importer);
}
