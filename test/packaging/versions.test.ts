/** Version, lock file, changelog and tag: the rules for every commit and for a release, and how the next version changes them. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  cutChangelog,
  versionFaults,
  releaseFaults,
  snapshotVersion,
  type VersionSources,
} from "../../packaging/versions.ts";

const changelog = `# Changelog

Words.

## [Unreleased]

## [1.2.0] - 2026-02-01

### Added

- Something.

## [1.1.0] - 2026-01-01

- Older.
`;
const consistent: VersionSources = { version: "1.2.0", locked: "1.2.0", changelog };
const checkout = { tags: ["latest", "v1.2.0"], isClean: true };
const unreleased = changelog.replace("[Unreleased]\n", "[Unreleased]\n\n- Next.\n");

it("this checkout is consistent", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const { version: locked } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  expect(versionFaults({ version, locked, changelog: readFileSync("CHANGELOG.md", "utf8") })).toEqual([]);
});

it("a consistent checkout can be released", () => {
  expect(releaseFaults(consistent, checkout)).toEqual([]);
});

it("between two releases the version is the next one with -dev, which can't be released", () => {
  const developed = { ...consistent, version: "1.3.0-dev", locked: "1.3.0-dev", changelog: unreleased };
  expect(versionFaults(developed)).toEqual([]);
  expect(releaseFaults(developed, checkout)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^1\.3\.0-dev is a development version/)]),
  );
  expect(versionFaults({ ...developed, version: "1.2.0-dev", locked: "1.2.0-dev" })).toHaveLength(1);
});

describe("a commit is rejected whose", () => {
  it.each<[string, Partial<VersionSources>, RegExp]>([
    [
      "lock file has another version",
      { locked: "1.1.0" },
      /^package-lock\.json has version 1\.1\.0, but package\.json has 1\.2\.0/,
    ],
    [
      "changelog lacks the version",
      { version: "1.3.0", locked: "1.3.0" },
      /newest version in CHANGELOG\.md is 1\.2\.0/,
    ],
    ["changelog has no version", { changelog: "## [Unreleased]\n" }, /newest version in CHANGELOG\.md is none/],
    ["changelog begins with a version", { changelog: changelog.replace("## [Unreleased]\n", "") }, /must begin/],
    ["changelog has no dates", { changelog: changelog.replace(" - 2026-01-01", "") }, /the newest first/],
    ["changelog is not sorted", { changelog: changelog.replace("2026-01-01", "2026-03-01") }, /the newest first/],
  ])("%s", (_, other, sentence) => {
    const faults = versionFaults({ ...consistent, ...other });
    expect(faults.join(" ")).toMatch(sentence);
    expect(releaseFaults({ ...consistent, ...other }, checkout)).toEqual(expect.arrayContaining(faults));
  });
});

describe("a release is rejected", () => {
  it.each<[string, Partial<VersionSources>, Partial<typeof checkout>, RegExp]>([
    ["without its tag", {}, { tags: ["v1.1.0"] }, /^This commit has no tag v1\.2\.0\./],
    ["with uncommitted changes", {}, { isClean: false }, /^The checkout has uncommitted changes/],
    ["with changes of the next version", { changelog: unreleased }, {}, /^CHANGELOG\.md lists unreleased changes/],
  ])("%s, as the only problem", (_, other, at, sentence) => {
    const faults = releaseFaults({ ...consistent, ...other }, { ...checkout, ...at });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(sentence);
  });

  it("with all problems together", () => {
    expect(
      releaseFaults({ ...consistent, locked: "0", changelog: unreleased }, { tags: [], isClean: false }),
    ).toHaveLength(4);
  });
});

describe("the next version", () => {
  it("takes the unreleased changes", () => {
    const cut = cutChangelog(unreleased, "1.3.0", "2026-03-01");
    expect(cut).toContain("## [Unreleased]\n\n## [1.3.0] - 2026-03-01\n\n- Next.\n\n## [1.2.0]");
    const next = { version: "1.3.0", locked: "1.3.0", changelog: cut };
    expect(releaseFaults(next, { tags: ["v1.3.0"], isClean: true })).toEqual([]);
  });

  it("needs unreleased changes", () => {
    expect(() => cutChangelog(changelog, "1.3.0", "2026-03-01")).toThrow(/nothing to release/);
  });

  it("is higher than snapshot builds before it, which name their commit", () => {
    expect(snapshotVersion("1.2.0", "0123456789abcdef")).toBe("1.2.1-dev.g0123456789ab");
    expect(snapshotVersion("1.3.0-dev", "0123456789abcdef")).toBe("1.3.0-dev.g0123456789ab");
  });
});
