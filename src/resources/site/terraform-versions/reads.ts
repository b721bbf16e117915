/** Reads of Terraform versions for other modules. */
import type { Tx } from "../../../database/database.ts";
import { newestMatching, newestOf } from "./rules.ts";
import { candidateRows, versionsFingerprint } from "./store.ts";
import { compareVersions, isExactVersion, satisfies } from "./versions.ts";

let cached = { fingerprint: "", newest: newestOf([]) };

/** The version of workspaces that don't name one. Reads all versions only after a change. */
export async function newestRelease(tx: Tx): Promise<string> {
  const fingerprint = await versionsFingerprint(tx);
  if (fingerprint !== cached.fingerprint) cached = { fingerprint, newest: newestOf(await candidateRows(tx)) };
  return cached.newest;
}

export async function exactVersionOf(tx: Tx, version: string): Promise<string | undefined> {
  if (isExactVersion(version)) return version;
  return newestMatching(await candidateRows(tx), version);
}

export const newestAmong = (versions: readonly string[], constraint: string): string | undefined =>
  versions
    .filter((version) => satisfies(version, constraint))
    .toSorted(compareVersions)
    .at(-1);
