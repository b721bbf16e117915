/** Version, lock file, changelog and tag: what holds for every commit, what for a release, and what the next version does to them. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { cutChangelog, disagreements, obstacles, snapshotVersion, type Told } from "../../packaging/versions.ts";

const changelog = `# Changelog

Words.

## [Unreleased]

## [1.2.0] - 2026-02-01

### Added

- Something.

## [1.1.0] - 2026-01-01

- Older.
`;
const told: Told = { version: "1.2.0", locked: "1.2.0", changelog };
const checkout = { tags: ["latest", "v1.2.0"], isClean: true };
const unreleased = changelog.replace("[Unreleased]\n", "[Unreleased]\n\n- Next.\n");

it("this checkout agrees with itself", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const { version: locked } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  expect(disagreements({ version, locked, changelog: readFileSync("CHANGELOG.md", "utf8") })).toEqual([]);
});

it("a release may be made where all agree", () => {
  expect(obstacles(told, checkout)).toEqual([]);
});

it("between two releases the version is the next one's, in development, and can't be released", () => {
  const developed = { ...told, version: "1.3.0-dev", locked: "1.3.0-dev", changelog: unreleased };
  expect(disagreements(developed)).toEqual([]);
  expect(obstacles(developed, checkout)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^1\.3\.0-dev is not to be/)]),
  );
  expect(disagreements({ ...developed, version: "1.2.0-dev", locked: "1.2.0-dev" })).toHaveLength(1);
});

describe("a commit is refused whose", () => {
  it.each<[string, Partial<Told>, RegExp]>([
    ["lock file is of another version", { locked: "1.1.0" }, /^package-lock\.json says 1\.1\.0, package\.json 1\.2\.0/],
    [
      "changelog has no such version",
      { version: "1.3.0", locked: "1.3.0" },
      /newest version in CHANGELOG\.md is 1\.2\.0/,
    ],
    ["changelog has none", { changelog: "## [Unreleased]\n" }, /newest version in CHANGELOG\.md is none/],
    ["changelog begins with a version", { changelog: changelog.replace("## [Unreleased]\n", "") }, /has to begin/],
    ["changelog has no dates", { changelog: changelog.replace(" - 2026-01-01", "") }, /the newest first/],
    ["changelog is in disorder", { changelog: changelog.replace("2026-01-01", "2026-03-01") }, /the newest first/],
  ])("%s", (_, other, sentence) => {
    const faults = disagreements({ ...told, ...other });
    expect(faults.join(" ")).toMatch(sentence);
    expect(obstacles({ ...told, ...other }, checkout)).toEqual(expect.arrayContaining(faults));
  });
});

describe("a release is refused", () => {
  it.each<[string, Partial<Told>, Partial<typeof checkout>, RegExp]>([
    ["without its tag", {}, { tags: ["v1.1.0"] }, /^This commit has no tag v1\.2\.0\./],
    ["with something uncommitted", {}, { isClean: false }, /^Not everything is committed/],
    ["with changes of the next version", { changelog: unreleased }, {}, /^CHANGELOG\.md tells of changes/],
  ])("%s, and nothing else is wrong then", (_, other, at, sentence) => {
    const faults = obstacles({ ...told, ...other }, { ...checkout, ...at });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(sentence);
  });

  it("with all that is wrong at once", () => {
    expect(obstacles({ ...told, locked: "0", changelog: unreleased }, { tags: [], isClean: false })).toHaveLength(4);
  });
});

describe("the next version", () => {
  it("takes what was not released", () => {
    const cut = cutChangelog(unreleased, "1.3.0", "2026-03-01");
    expect(cut).toContain("## [Unreleased]\n\n## [1.3.0] - 2026-03-01\n\n- Next.\n\n## [1.2.0]");
    const next = { version: "1.3.0", locked: "1.3.0", changelog: cut };
    expect(obstacles(next, { tags: ["v1.3.0"], isClean: true })).toEqual([]);
  });

  it("needs something that was not released", () => {
    expect(() => cutChangelog(changelog, "1.3.0", "2026-03-01")).toThrow(/nothing to release/);
  });

  it("is higher than what is built before it, which names its commit", () => {
    expect(snapshotVersion("1.2.0", "0123456789abcdef")).toBe("1.2.1-dev.g0123456789ab");
    expect(snapshotVersion("1.3.0-dev", "0123456789abcdef")).toBe("1.3.0-dev.g0123456789ab");
  });
});
