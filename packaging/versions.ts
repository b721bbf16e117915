/** Checks that package.json, the lock file, the changelog and the tag have the same version. Pure. */

import { isHigher, isInDevelopment } from "./schema.ts";

export interface Told {
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

interface Section {
  /** Undefined for unreleased changes. */
  readonly version: string | undefined;
  readonly date: string | undefined;
  readonly text: string;
}

/** The sections of a changelog, newest first. */
function sectionsOf(changelog: string): Section[] {
  const [, ...parts] = changelog.split(/^## /m);
  return parts.map((part) => {
    const [head = "", ...rest] = part.split("\n");
    const [, version, date] = /^\[(\d[^\]]*)\] - (\d{4}-\d{2}-\d{2})$/.exec(head) ?? [];
    return { version, date, text: rest.join("\n").trim() };
  });
}

/** Checks for every commit. */
export function disagreements({ version, locked, changelog }: Told): string[] {
  const faults: string[] = [];
  if (locked !== version)
    faults.push(`package-lock.json says ${locked}, package.json ${version}. Run 'npm install --package-lock-only'.`);
  const [first, ...released] = sectionsOf(changelog);
  if (first === undefined || first.version !== undefined || !/^## \[Unreleased\]$/m.test(changelog))
    faults.push("CHANGELOG.md has to begin with '## [Unreleased]', empty or not.");
  const [newest] = released;
  const isAhead = isInDevelopment(version) && isHigher(version, newest?.version ?? "0.0.0");
  if (newest?.version !== version && !isAhead)
    faults.push(
      `The newest version in CHANGELOG.md is ${newest?.version ?? "none"}, that of package.json ${version}. 'npm version' sets both.`,
    );
  const dates = released.map(({ date = "?" }) => date);
  if (dates.some((date, at) => at > 0 && date > (dates[at - 1] ?? "")) || dates.includes("?"))
    faults.push("The versions in CHANGELOG.md have to be '## [VERSION] - YYYY-MM-DD', the newest first.");
  return faults;
}

/** Additional checks for a release. */
export function obstacles(told: Told, { tags, isClean }: Checkout): string[] {
  const faults = disagreements(told);
  if (isInDevelopment(told.version))
    faults.push(`${told.version} is not to be released. Make a version with 'npm version'.`);
  const tag = tagOf(told.version);
  if (!tags.includes(tag))
    faults.push(
      `This commit has no tag ${tag}. Check out the one that has, or make the next version with 'npm version'.`,
    );
  if (!isClean) faults.push("Not everything is committed, so nobody could tell what would be released.");
  if ((sectionsOf(told.changelog)[0]?.text ?? "") !== "")
    faults.push(`CHANGELOG.md tells of changes that are not released yet, though this is to be ${told.version}.`);
  return faults;
}

/** The version of a snapshot: above the last release, below the next, with the commit. */
export function snapshotVersion(version: string, commit: string): string {
  const ofCommit = `.g${commit.slice(0, 12)}`;
  if (isInDevelopment(version)) return `${version}${ofCommit}`;
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  return `${major}.${minor}.${Number(patch) + 1}-dev${ofCommit}`;
}

/** The newest released version in the changelog. */
export const newestReleased = (changelog: string): string | undefined =>
  sectionsOf(changelog).find(({ version }) => version !== undefined)?.version;

/** Moves the unreleased changes to the new version. Throws if there are none. */
export function cutChangelog(changelog: string, version: string, date: string): string {
  const [unreleased] = sectionsOf(changelog);
  if (unreleased === undefined || unreleased.version !== undefined || unreleased.text === "")
    throw new Error("CHANGELOG.md tells nothing under '## [Unreleased]': there is nothing to release.");
  return changelog.replace(/^## \[Unreleased\]\n/m, `## [Unreleased]\n\n## [${version}] - ${date}\n`);
}
