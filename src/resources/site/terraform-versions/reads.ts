/** Reads of Terraform versions for other modules. */
import type { Tx } from "../../../database/database.ts";
import type { EngineOffers } from "../../shared/hooks.ts";
import { newestMatching, newestOf, type VersionCandidate } from "./rules.ts";
import { candidateRows, findFingerprint } from "./store.ts";
import { openTofuReleases } from "./opentofu.ts";
import { isExactVersion, latest } from "./versions.ts";

export { versionsFingerprint } from "./store.ts";

interface KnownVersions {
  readonly fingerprint: string;
  readonly known: readonly VersionCandidate[];
  readonly newest: string;
  /** Results of `newestExecutable`, by its arguments: parsing and sorting all versions would be a twentieth of a new workspace's cost. */
  readonly executable: Map<string, string | undefined>;
}

const executableMax = 100;

let cached: KnownVersions = { fingerprint: "", known: [], newest: newestOf([]), executable: new Map() };

/** Reads all versions only after a change. */
async function knownVersions(tx: Tx, fingerprint: string): Promise<KnownVersions> {
  if (fingerprint !== cached.fingerprint) {
    const known = await candidateRows(tx);
    cached = { fingerprint, known, newest: newestOf(known), executable: new Map() };
  }
  return cached;
}

export async function newestRelease(tx: Tx): Promise<string> {
  return (await knownVersions(tx, await findFingerprint(tx))).newest;
}

/**
 * The newest version that agents have or may fetch. If there is none, the newest known one: its run waits, and says for what.
 * OpenTofu releases are not in the table.
 */
export async function newestExecutable(
  tx: Tx,
  engine: string,
  offers: EngineOffers,
  constraint: string = latest,
): Promise<string | undefined> {
  const { known, executable } = await knownVersions(tx, offers.versionsFingerprint);
  const key = JSON.stringify([engine, offers, constraint]);
  if (!executable.has(key)) {
    if (executable.size === executableMax) executable.clear();
    executable.set(key, newestOffered(known, engine, offers, constraint));
  }
  return executable.get(key);
}

function newestOffered(
  table: readonly VersionCandidate[],
  engine: string,
  { versions, isAnyFetched }: EngineOffers,
  constraint: string,
): string | undefined {
  const known = engine === "tofu" ? openTofuReleases.map((version) => candidateOf(version, table)) : table;
  const offered = versions.filter(isExactVersion).map((version) => candidateOf(version, table));
  return (
    newestMatching(isAnyFetched ? [...offered, ...known] : offered, constraint) ?? newestMatching(known, constraint)
  );
}

/** Versions that are not in the table are enabled. */
const candidateOf = (engineVersion: string, table: readonly VersionCandidate[]): VersionCandidate =>
  table.find((known) => known.engineVersion === engineVersion) ?? { engineVersion, enabled: 1, beta: 0 };
