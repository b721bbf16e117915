/** What neighbours ask of engine versions. */
import type { Tx } from "../../../database/database.ts";
import { newestIn, newestOf } from "./rules.ts";
import { candidateRows, stateOfVersions } from "./store.ts";
import { compareVersions, isExactVersion, satisfies } from "./versions.ts";

/** What was found when they were last read. */
let last = { state: "", newest: newestOf([]) };

/** The newest release known: what a workspace gets that names no version. One statement, where they are as they were. */
export async function newestRelease(tx: Tx): Promise<string> {
  const state = await stateOfVersions(tx);
  if (state !== last.state) last = { state, newest: newestOf(await candidateRows(tx)) };
  return last.newest;
}

/** The exact version that a workspace's setting stands for now; undefined where none is known. A statement for a constraint alone. */
export async function exactVersionOf(tx: Tx, version: string): Promise<string | undefined> {
  if (isExactVersion(version)) return version;
  return newestIn(await candidateRows(tx), version);
}

/** The newest of these that fulfils a constraint, if any does. */
export const newestAmong = (versions: readonly string[], constraint: string): string | undefined =>
  versions
    .filter((version) => satisfies(version, constraint))
    .toSorted(compareVersions)
    .at(-1);
