/** Pure rules of Terraform versions. */
import type { EngineVersionTable } from "../../../database/schema/connections.ts";
import { changedColumns, createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { terraformVersions } from "./definition.ts";
import { compareVersions, isRelease, latest, satisfies } from "./versions.ts";

interface EngineArchive {
  readonly url: string;
  readonly sha: string;
  readonly os: string;
  readonly arch: string;
}

type EngineDownload = Pick<EngineVersionTable, "url" | "sha" | "archs">;
type EngineVersionInput = UpdateAttributes<typeof terraformVersions>;

const defaultPlatform = { os: "linux", arch: "amd64" } as const;

export function newVersion(
  attributes: CreateAttributes<typeof terraformVersions>,
  identity: { id: string; createdAt: string },
): EngineVersionTable {
  const row = { ...createdColumns(terraformVersions, attributes), ...identity, engineVersion: attributes.version };
  return { ...row, ...downloadAfter(attributes, row), ...deprecationAfter(row), version: 1 };
}

/** `version` on the wire is the engine version, not the row's version. */
export function changedVersion(
  attributes: EngineVersionInput,
  before: EngineVersionTable,
): Partial<EngineVersionTable> {
  const { version: engineVersion } = attributes;
  const columns = {
    ...changedColumns(terraformVersions, attributes),
    ...(engineVersion !== undefined && { engineVersion }),
  };
  const row = { ...before, ...columns };
  return { ...columns, ...downloadAfter(attributes, row), ...deprecationAfter(row) };
}

/** `url` and `sha` are the linux/amd64 entry of `archs`. `archs` in the request sets both; otherwise they replace the list. */
function downloadAfter({ archs, url, sha }: Partial<EngineVersionInput>, row: EngineDownload): Partial<EngineDownload> {
  if (archs !== undefined && archs.length > 0) {
    const all: EngineArchive[] = archs.map((one) => ({ ...defaultPlatform, ...one }));
    const linuxAmd64 = all.find(({ os, arch }) => os === defaultPlatform.os && arch === defaultPlatform.arch);
    return { archs: JSON.stringify(all), url: linuxAmd64?.url ?? null, sha: linuxAmd64?.sha || null };
  }
  if (archs === undefined && url === undefined && sha === undefined) return {};
  const all: EngineArchive[] = row.url === null ? [] : [{ url: row.url, sha: row.sha ?? "", ...defaultPlatform }];
  return { archs: JSON.stringify(all) };
}

function deprecationAfter({
  deprecated,
  deprecatedReason,
}: Pick<EngineVersionTable, "deprecated" | "deprecatedReason">): Pick<EngineVersionTable, "deprecatedReason"> {
  return { deprecatedReason: deprecated === 1 ? deprecatedReason : null };
}

export function versionTaken(): Fault {
  return attributeFault("version", "Version has already been taken");
}

export type VersionCandidate = Pick<EngineVersionTable, "engineVersion" | "enabled" | "beta">;

/** Falls back to disabled versions, because a workspace needs one, and to `latest` if no version is known. */
export function newestOf(known: readonly VersionCandidate[]): string {
  const releases = known.filter(({ engineVersion }) => isRelease(engineVersion));
  const eligible = releases.filter(({ enabled, beta }) => enabled === 1 && beta === 0);
  const candidates = (eligible.length > 0 ? eligible : releases).map(({ engineVersion }) => engineVersion);
  return candidates.reduce(
    (newest, version) => (newest === latest || compareVersions(version, newest) > 0 ? version : newest),
    latest,
  );
}

export function newestMatching(known: readonly VersionCandidate[], constraint: string): string | undefined {
  const matching = known.filter(({ engineVersion }) => satisfies(engineVersion, constraint));
  const enabled = matching.filter((one) => one.enabled === 1 && one.beta === 0);
  return (enabled.length > 0 ? enabled : matching)
    .map(({ engineVersion }) => engineVersion)
    .toSorted(compareVersions)
    .at(-1);
}
