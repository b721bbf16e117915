/**
 * Imports a file of tests by its plain name. Vitest adds the time to it, so that a worker that goes on loads a file anew when it has changed;
 * but then nothing that Node keeps of it (without its types, compiled) is ever found again, and what is kept grows with every run. In
 * a run that ends, each worker imports a file once.
 */
import { pathToFileURL } from "node:url";
import { TestRunner } from "vitest";

export default class PlainImports extends TestRunner {
  override importFile(path: string): unknown {
    return import(pathToFileURL(path).href);
  }
}
