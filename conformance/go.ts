/** Go as a tool: what is built from modules of the module proxy, and test binaries run test by test. */
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startChild } from "./child.ts";
import { say } from "./script.ts";
import { readVerbose, type TestOutput } from "./verbose.ts";
import { scaled } from "../test/support/waiting.ts";

/** Whose go.mod names the client. */
const here = fileURLToPath(new URL(".", import.meta.url));
/** Beside the other tools' caches: kept until `npm ci` removes it. */
export const cache = fileURLToPath(new URL("../node_modules/.cache/cadastre/", import.meta.url));
const testMs = 240_000;
/** Past its own timeout a test's process gets this long to say where it hung. */
const graceMs = 5_000;

/** Gives back what it wrote. Raises an Error, also where there is no Go. */
export async function go(words: readonly string[], folder = here): Promise<string> {
  if (!hasGo()) throw new Error("This needs Go, and there is none on this machine. `.ci/install-go` brings it.");
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
 * main one. Raises an Error.
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
  // A build that is interrupted leaves nothing that looks like a whole one.
  const partial = `${built.binary}.partial`;
  await make({ ...built, binary: partial });
  renameSync(partial, built.binary);
  return built;
}

/** A test binary, and the folder that its tests expect to run in. */
export interface GoTests {
  readonly binary: string;
  readonly home: string;
}

/** The names of all tests, in their order. */
export async function testsOf({ binary, home }: GoTests): Promise<string[]> {
  const { stdout } = await promisify(execFile)(binary, ["-test.list", "."], { cwd: home });
  return stdout.split("\n").filter((line) => line.startsWith("Test"));
}

export interface Invocation {
  readonly test: string;
  /** Subtests to leave out, as Go writes them: `TestA/b`. */
  readonly skipped: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Runs one test with its subtests in a process of its own: a panic or a hang costs one test. */
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
