/** What neighbours ask of engine versions. */
import type { Tx } from "../../../database/database.ts";
import { candidatesIn, newestIn, newestOf } from "./rules.ts";
import { knownVersions } from "./store.ts";
import { isExactVersion } from "./versions.ts";

/** What was found in the versions that were known last. */
let last = { known: "", newest: newestOf([]) };

/** The newest release known: what a workspace gets that names no version. One statement. */
export async function newestRelease(tx: Tx): Promise<string> {
  const known = await knownVersions(tx);
  if (known !== last.known) last = { known, newest: newestOf(candidatesIn(known)) };
  return last.newest;
}

/** The exact version that a workspace's setting stands for now; undefined where none is known. A statement for a constraint alone. */
export async function exactVersionOf(tx: Tx, version: string): Promise<string | undefined> {
  if (isExactVersion(version)) return version;
  return newestIn(candidatesIn(await knownVersions(tx)), version);
}
