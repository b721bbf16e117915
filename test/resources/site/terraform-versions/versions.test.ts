/** Parsing and comparing versions and constraints, and the newest release. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shippedReleases as knownReleases } from "../../../../src/database/migrations/0008-identity.ts";
import { newestOf } from "../../../../src/resources/site/terraform-versions/rules.ts";
import {
  compareVersions,
  isConstraint,
  isExactVersion,
  isOlder,
  isRelease,
} from "../../../../src/resources/site/terraform-versions/versions.ts";

describe("isExactVersion", () => {
  it.each([
    "0.12.0",
    "1.5.7",
    "1.10.0",
    "1.9.0-beta1",
    "1.9.0-rc.2",
    "1.14.0-alpha20250813",
    "1.2.3+build.5",
    "999999999.0.0",
    "1.0.4941869997571237407",
  ])("takes %j", (text) => expect(isExactVersion(text)).toBe(true));
  it.each(
    [
      "",
      "1",
      "1.5",
      "v1.5.7",
      "1.5.7.1",
      "01.5.7",
      "1.05.7",
      "1.5.7-",
      "1.5.7+",
      "1.5.7 ",
      " 1.5.7",
      "~> 1.5.7",
      "latest",
      "1.5.x",
      "1.5.7-beta_1",
      "1.5.7-a..b",
      "1.5.7\n",
      "-1.0.0",
      "9999999999.0.0",
      `1.0.0-${"a".repeat(300)}`,
    ].map((text) => [text]),
  )("refuses %j", (text) => expect(isExactVersion(text)).toBe(false));
});

describe("isConstraint", () => {
  it.each([
    "latest",
    "~> 1.0.0",
    "~>1.0",
    ">= 1.2, < 2.0",
    ">=1.2,<2.0,!=1.3.1",
    "!= 1.3.1",
    "= 1.2.3",
    "1.2.3",
    "1.2",
    "1",
    "> 0.12",
    "<= 1.14.0-beta1",
    " >= 1.2 ",
  ])("takes %j", (text) => expect(isConstraint(text)).toBe(true));
  it.each(
    [
      "",
      ",",
      ">= 1.2,",
      ", < 2.0",
      "~",
      "~> ",
      "=> 1.2",
      "== 1.2",
      "^1.2",
      "1.x",
      "1.2.3.4",
      ">= 1.2 < 2.0",
      ">= 1.2 || < 1",
      "latest, >= 1",
      "Latest",
      "v1.2",
      "-1",
      `>= 1.0, ${"< 2.0, ".repeat(60)}< 3`,
    ].map((text) => [text]),
  )("refuses %j", (text) => expect(isConstraint(text)).toBe(false));
});

describe("compareVersions", () => {
  const ordered = [
    "0.9.11",
    "0.12.0-alpha1",
    "0.12.0-beta1",
    "0.12.0-beta1.1",
    "0.12.0-beta1.2",
    "0.12.0-beta1.11",
    "0.12.0-beta1.x",
    "0.12.0-rc1",
    "0.12.0",
    "0.12.2",
    "0.12.31",
    "0.13.0",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-a",
    "1.0.0",
    "1.2.0",
    "1.10.0",
    "2.0.0",
  ];

  it("orders every pair", () => {
    for (const [left, older] of ordered.entries()) {
      for (const [right, newer] of ordered.entries()) {
        expect(Math.sign(compareVersions(older, newer)), `${older} and ${newer}`).toBe(Math.sign(left - right));
        expect(isOlder(older, newer)).toBe(left < right);
      }
    }
  });

  it("ignores build metadata", () => expect(compareVersions("1.2.3+one", "1.2.3+two")).toBe(0));

  it("compares numerically", () => {
    const part = fc.nat(999_999_999);
    const version = fc.tuple(part, part, part);
    fc.assert(
      fc.property(version, version, (left, right) => {
        const position = left.findIndex((number, index) => number !== right[index]);
        const expected = position === -1 ? 0 : Math.sign((left[position] ?? 0) - (right[position] ?? 0));
        expect(Math.sign(compareVersions(left.join("."), right.join(".")))).toBe(expected);
      }),
    );
  });

  it("compares long patch numbers exactly", () => {
    expect(compareVersions("1.0.4941869997571237408", "1.0.4941869997571237407")).toBeGreaterThan(0);
    expect(compareVersions("1.0.4941869997571237407", "1.0.11")).toBeGreaterThan(0);
    expect(compareVersions("1.0.4941869997571237407", "1.1.0")).toBeLessThan(0);
  });

  it("throws for a version that is not exact", () => expect(() => compareVersions("1.2", "1.2.3")).toThrow("1.2"));
});

describe("the releases that ship", () => {
  it("are exact releases, oldest first, each once", () => {
    expect(knownReleases.filter((version) => !isRelease(version))).toEqual([]);
    expect([...knownReleases].sort(compareVersions)).toEqual(knownReleases);
    expect(new Set(knownReleases).size).toBe(knownReleases.length);
  });

  it("have the first of every minor version from 0.12 to 1.14", () => {
    const minors = [12, 13, 14, 15].map((minor) => `0.${minor}.0`);
    for (let minor = 0; minor <= 14; minor += 1) minors.push(`1.${minor}.0`);
    expect(minors.filter((version) => !knownReleases.includes(version))).toEqual([]);
  });
});

describe("newestOf", () => {
  const added = (engineVersion: string, flags: object = {}) => ({ engineVersion, enabled: 1, beta: 0, ...flags });
  const known = ["1.9.0", "1.10.0"].map((version) => added(version));

  it("is the newest that ships, by number", () => expect(newestOf(known)).toBe("1.10.0"));
  it("is an added one that is newer", () => expect(newestOf([...known, added("1.11.0")])).toBe("1.11.0"));
  it("is not an added one that is older", () => expect(newestOf([...known, added("1.2.0")])).toBe("1.10.0"));
  it.each([{ enabled: 0 }, { beta: 1 }])("is not one with %j", (flags) =>
    expect(newestOf([...known, added("1.11.0", flags)])).toBe("1.10.0"),
  );
  it("is no prerelease", () => expect(newestOf([...known, added("1.11.0-rc1")])).toBe("1.10.0"));
  it("is not one that ships and was disabled", () =>
    expect(newestOf([added("1.9.0"), added("1.10.0", { enabled: 0 })])).toBe("1.9.0"));
  it("is one that ships if all are disabled", () =>
    expect(newestOf(known.map((version) => ({ ...version, enabled: 0 })))).toBe("1.10.0"));
  it("is latest if none is known", () => expect(newestOf([])).toBe("latest"));
});
