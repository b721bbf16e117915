/** What neighbours ask of engine versions. */
import type { Tx } from "../../../database/database.ts";
import { candidatesIn, newestOf } from "./rules.ts";
import { knownVersions } from "./store.ts";

/** What was found in the versions that were known last. */
let last = { known: "", newest: newestOf([]) };

/** The newest release known: what a workspace gets that names no version. One statement. */
export async function newestRelease(tx: Tx): Promise<string> {
  const known = await knownVersions(tx);
  if (known !== last.known) last = { known, newest: newestOf(candidatesIn(known)) };
  return last.newest;
}
