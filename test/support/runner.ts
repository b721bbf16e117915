/** Imports a test file by its plain name. Vitest adds the time, which defeats Node's compile cache and makes it grow with every run. */
import { pathToFileURL } from "node:url";
import { TestRunner } from "vitest";

export default class PlainImports extends TestRunner {
  override importFile(path: string): unknown {
    return import(pathToFileURL(path).href);
  }
}
