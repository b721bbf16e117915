/** A released version has one schema. */
import { describe, expect, it } from "vitest";
import { formatReleases, isHigher, parseReleases, releaseOf, schemaFaults } from "../../packaging/schema.ts";
import type { Migration } from "../../src/database/migrations/migration.ts";

const [first, second, third] = ["0001-one", "0002-two", "0003-three"].map((name): Migration => ({
  name,
  kind: "adds",
  statements: [`CREATE TABLE t${name.slice(0, 4)} (id TEXT)`],
})) as [Migration, Migration, Migration];
const releases = [releaseOf("1.0.0", [first]), releaseOf("1.1.0", [first, second])];

describe("a schema", () => {
  it.each<[string, string, readonly Migration[]]>([
    ["of a release", "1.1.0", [first, second]],
    ["of the next version under development", "1.2.0-dev", [first, second, third]],
    ["without changes, in a version under development", "1.1.1-dev", [first, second]],
  ])("%s is accepted", (_, version, migrations) => {
    expect(schemaFaults(version, migrations, releases)).toEqual([]);
  });

  it.each<[string, string, readonly Migration[], RegExp]>([
    [
      "that changed after the release of its version",
      "1.1.0",
      [first, second, third],
      /^The schema has changed since 1\.1\.0 was/,
    ],
    ["of a version that is not listed", "1.2.0", [first, second, third], /does not list 1\.2\.0\. Run 'node packaging/],
    [
      "of a version that is already released",
      "1.1.0-dev",
      [first, second, third],
      /not higher than the released 1\.1\.0/,
    ],
    [
      "whose released migrations changed",
      "1.2.0-dev",
      [first, { ...second, statements: [] }],
      /not those that 1\.1\.0 was/,
    ],
    ["that lacks a released migration", "1.2.0-dev", [first], /not those that 1\.1\.0 was/],
  ])("%s is rejected", (_, version, migrations, sentence) => {
    const faults = schemaFaults(version, migrations, releases);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(sentence);
  });

  it("survives formatting and parsing", () => {
    expect(parseReleases(formatReleases(releases))).toEqual(releases);
  });
});

it("versions are compared by their numbers", () => {
  expect(isHigher("0.10.0", "0.9.1")).toBe(true);
  expect(isHigher("0.3.0-dev", "0.2.0-2026-11-17")).toBe(true);
  expect(isHigher("0.3.0-dev", "0.3.0")).toBe(false);
  expect(isHigher("0.2.9", "0.3.0")).toBe(false);
});
