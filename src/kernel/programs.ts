/** Locates a program that another one starts: its source in a checkout, its bundle in a package. */
import { basename } from "node:path";

export function siblingProgramUrl(importer: string, source: string): URL {
  return new URL(importer.endsWith(".ts") ? source : `${basename(source, ".ts")}.js`, importer);
}
