/** What neighbours ask of engine versions. */
import type { Tx } from "../../../database/database.ts";
import { newestOf } from "./rules.ts";
import { knownVersions } from "./store.ts";

/** The newest release known: what a workspace gets that names no version. One statement. */
export async function newestRelease(tx: Tx): Promise<string> {
  return newestOf(await knownVersions(tx));
}
