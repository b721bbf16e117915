/** Reads the state of the checkout from Git and npm. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { readManifest } from "./manifest.ts";
import { root } from "./paths.ts";
import type { Checkout, VersionSources } from "./versions.ts";

const run = promisify(execFile);

/** Runs a program and returns its trimmed output. Throws with its error output. */
export async function output(program: string, ...words: string[]): Promise<string> {
  const { stdout } = await run(program, words, { cwd: root, maxBuffer: 2 ** 28 });
  return stdout.trimEnd();
}

const git = (...words: string[]) => output("git", ...words);

export interface PackageLock {
  readonly version: string;
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

export const readLock = async (): Promise<PackageLock> =>
  JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as PackageLock;

export async function readVersionSources(): Promise<VersionSources> {
  const [{ version }, lock, changelog] = await Promise.all([
    readManifest(),
    readLock(),
    readFile(join(root, "CHANGELOG.md"), "utf8"),
  ]);
  return { version, locked: lock.version, changelog };
}

export interface ReleasedCommit extends Checkout {
  readonly id: string;
  /** Seconds since 1970. Artifacts get the commit's time, so that builds are reproducible. */
  readonly seconds: number;
}

export async function readCommit(): Promise<ReleasedCommit> {
  const [id, seconds, tags, changes] = await Promise.all([
    git("rev-parse", "HEAD"),
    git("log", "-1", "--format=%ct"),
    git("tag", "--points-at", "HEAD"),
    git("status", "--porcelain"),
  ]);
  return { id, seconds: Number(seconds), tags: tags.split("\n").filter(Boolean), isClean: changes === "" };
}
