/** Checks that package.json, the lock file, the changelog and the tag have the same version. Pure. */

import { isHigher, isInDevelopment } from "./schema.ts";

export interface VersionSources {
  /** From package.json. */
  readonly version: string;
  /** From package-lock.json. */
  readonly locked: string | undefined;
  readonly changelog: string;
}

export interface Checkout {
  /** Of the current commit. */
  readonly tags: readonly string[];
  /** Whether everything is committed. */
  readonly isClean: boolean;
}

export const tagOf = (version: string): string => `v${version}`;

interface ChangelogSection {
  /** Undefined for unreleased changes. */
  readonly version: string | undefined;
  readonly date: string | undefined;
  readonly text: string;
}

/** The sections of a changelog, newest first. */
function sectionsOf(changelog: string): ChangelogSection[] {
  const [, ...parts] = changelog.split(/^## /m);
  return parts.map((part) => {
    const [head = "", ...rest] = part.split("\n");
    const [, version, date] = /^\[(\d[^\]]*)\] - (\d{4}-\d{2}-\d{2})$/.exec(head) ?? [];
    return { version, date, text: rest.join("\n").trim() };
  });
}

/** Checks for every commit. */
export function versionFaults({ version, locked, changelog }: VersionSources): string[] {
  const faults: string[] = [];
  if (locked !== version)
    faults.push(
      `package-lock.json has version ${locked}, but package.json has ${version}. Run 'npm install --package-lock-only'.`,
    );
  const [first, ...released] = sectionsOf(changelog);
  if (first === undefined || first.version !== undefined || !/^## \[Unreleased\]$/m.test(changelog))
    faults.push("CHANGELOG.md must begin with '## [Unreleased]', even if the section is empty.");
  const [newest] = released;
  const isAhead = isInDevelopment(version) && isHigher(version, newest?.version ?? "0.0.0");
  if (newest?.version !== version && !isAhead)
    faults.push(
      `The newest version in CHANGELOG.md is ${newest?.version ?? "none"}, but package.json has ${version}. 'npm version' sets both.`,
    );
  const dates = released.map(({ date = "?" }) => date);
  if (dates.some((date, at) => at > 0 && date > (dates[at - 1] ?? "")) || dates.includes("?"))
    faults.push("The headings in CHANGELOG.md must be '## [VERSION] - YYYY-MM-DD', the newest first.");
  return faults;
}

/** Additional checks for a release. */
export function releaseFaults(sources: VersionSources, { tags, isClean }: Checkout): string[] {
  const faults = versionFaults(sources);
  if (isInDevelopment(sources.version))
    faults.push(
      `${sources.version} is a development version and can't be released. Make a version with 'npm version'.`,
    );
  const tag = tagOf(sources.version);
  if (!tags.includes(tag))
    faults.push(
      `This commit has no tag ${tag}. Check out the commit that has it, or make the next version with 'npm version'.`,
    );
  if (!isClean) faults.push("The checkout has uncommitted changes. Commit or stash them before a release.");
  if ((sectionsOf(sources.changelog)[0]?.text ?? "") !== "")
    faults.push(
      `CHANGELOG.md lists unreleased changes, but this is the release ${sources.version}. Make the next version with 'npm version'.`,
    );
  return faults;
}

/** The version of a snapshot: above the last release, below the next, with the commit. */
export function snapshotVersion(version: string, commit: string): string {
  const commitSuffix = `.g${commit.slice(0, 12)}`;
  if (isInDevelopment(version)) return `${version}${commitSuffix}`;
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  return `${major}.${minor}.${Number(patch) + 1}-dev${commitSuffix}`;
}

/** The newest released version in the changelog. */
export const newestReleased = (changelog: string): string | undefined =>
  sectionsOf(changelog).find(({ version }) => version !== undefined)?.version;

/** Moves the unreleased changes to the new version. Throws if there are none. */
export function cutChangelog(changelog: string, version: string, date: string): string {
  const [unreleased] = sectionsOf(changelog);
  if (unreleased === undefined || unreleased.version !== undefined || unreleased.text === "")
    throw new Error("CHANGELOG.md has no changes under '## [Unreleased]': there is nothing to release.");
  return changelog.replace(/^## \[Unreleased\]\n/m, `## [Unreleased]\n\n## [${version}] - ${date}\n`);
}
