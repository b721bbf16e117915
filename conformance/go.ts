/** Builds Go modules from the module proxy, and runs test binaries test by test. */
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startChild } from "./child.ts";
import { say } from "./script.ts";
import { readVerbose, type TestOutput } from "./verbose.ts";
import { scaled } from "../test/support/waiting.ts";

/** The directory whose go.mod has the client's version. */
const here = fileURLToPath(new URL(".", import.meta.url));
/** Kept until `npm ci` removes it. */
export const cache = fileURLToPath(new URL("../node_modules/.cache/cadastre/", import.meta.url));
const testMs = 240_000;
/** Extra time after a timeout, in which a test prints its stack. */
const graceMs = 5_000;

/** Returns the output. Throws, also if Go is missing. */
export async function go(words: readonly string[], folder = here): Promise<string> {
  if (!hasGo()) throw new Error("This needs Go. Install it with `.ci/install-go`.");
  const { stdout } = await promisify(execFile)("go", words, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

function hasGo(): boolean {
  try {
    execFileSync("go", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export interface Module {
  readonly path: string;
  readonly version: string;
}

export interface Built {
  /** The module's files. */
  readonly source: string;
  readonly binary: string;
}

/**
 * Builds a module in a copy of it, once: Go's own copy is read-only, and a module's `replace` directives hold only where it is the
 * main one. Throws on failure.
 */
export async function build({ path, version }: Module, make: (built: Built) => Promise<unknown>): Promise<Built> {
  const name = path.split("/").at(-1);
  const folder = join(cache, `${name}-${version}`);
  const built = { source: join(folder, "source"), binary: join(folder, `${name}`) };
  if (existsSync(built.binary)) return built;
  say(`Building ${name} ${version} with Go, once. This takes some minutes.`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { Dir: original } = JSON.parse(await go(["mod", "download", "-json", `${path}@v${version}`]));
  cpSync(original, built.source, { recursive: true });
  chmodSync(built.source, 0o755);
  for (const entry of readdirSync(built.source, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  // Renamed when complete, so that an interrupted build isn't used.
  const partial = `${built.binary}.partial`;
  await make({ ...built, binary: partial });
  renameSync(partial, built.binary);
  return built;
}

/** A test binary and its working directory. */
export interface GoTests {
  readonly binary: string;
  readonly home: string;
}

/** All test names in order. */
export async function testsOf({ binary, home }: GoTests): Promise<string[]> {
  const { stdout } = await promisify(execFile)(binary, ["-test.list", "."], { cwd: home });
  return stdout.split("\n").filter((line) => line.startsWith("Test"));
}

export interface Invocation {
  readonly test: string;
  /** Subtests to skip, as in Go: `TestA/b`. */
  readonly skipped: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Runs one test with its subtests in a separate process, so that a panic or a hang affects only this test. */
export async function runTest({ binary, home }: GoTests, { test, skipped, env }: Invocation): Promise<TestOutput> {
  const limitMs = scaled(testMs);
  const words = ["-test.v=test2json", `-test.timeout=${limitMs}ms`, "-test.parallel=2", `-test.run=${exactly(test)}`];
  if (skipped.length > 0) words.push(`-test.skip=${skipped.map(exactly).join("|")}`);
  const child = startChild({ binary, words, folder: home, env, limitMs: limitMs + graceMs });
  child.process.stdin.end();
  await child.ended;
  return readVerbose(child.text());
}

/** `TestA/b (c)` → `^TestA$/^b \(c\)$`, the pattern that matches nothing else. */
function exactly(test: string): string {
  return test
    .split("/")
    .map((part) => `^${part.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}$`)
    .join("/");
}
