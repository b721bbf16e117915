/** What jobs can get to that are executed as other users than the agent. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isAccessible, createAccessibleDirectory, accessiblePath } from "../../src/agent/accessible-paths.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cadastre-shelter-"));
  chmodSync(folder, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("a path", () => {
  it("is open while everybody may pass every folder above it", () => {
    mkdirSync(join(folder, "a/b"), { recursive: true });
    expect(isAccessible(join(folder, "a/b"))).toBe(true);
    chmodSync(join(folder, "a"), 0o700);
    expect(isAccessible(join(folder, "a/b"))).toBe(false);
    expect(isAccessible(join(folder, "a"))).toBe(true);
  });
});

describe("what lies behind a closed folder", () => {
  const make = () => {
    mkdirSync(join(folder, "closed/mirror/deep"), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, "closed/program"), "one", { mode: 0o700 });
    writeFileSync(join(folder, "closed/mirror/deep/file"), "text", { mode: 0o600 });
    chmodSync(join(folder, "closed"), 0o700);
    const shelter = join(folder, "shelter");
    mkdirSync(shelter);
    return shelter;
  };

  it("is brought to the shelter, whole and open; a program can still be executed", () => {
    const shelter = make();
    const program = accessiblePath(join(folder, "closed/program"), shelter);
    expect(program.startsWith(shelter)).toBe(true);
    expect([readFileSync(program, "utf8"), statSync(program).mode & 0o777]).toEqual(["one", 0o755]);
    const mirror = accessiblePath(join(folder, "closed/mirror"), shelter);
    expect(statSync(join(mirror, "deep/file")).mode & 0o777).toBe(0o644);
    expect(isAccessible(join(mirror, "deep/file"))).toBe(true);
  });

  it("is brought once, and again when it has changed", () => {
    const shelter = make();
    const path = join(folder, "closed/program");
    const first = accessiblePath(path, shelter);
    expect(accessiblePath(path, shelter)).toBe(first);
    writeFileSync(path, "another");
    const second = accessiblePath(path, shelter);
    expect(second).not.toBe(first);
    expect(readFileSync(second, "utf8")).toBe("another");
  });

  it("stays where it is when it is open already, or not there", () => {
    mkdirSync(join(folder, "open"));
    expect(accessiblePath(join(folder, "open"), folder)).toBe(join(folder, "open"));
    expect(accessiblePath(join(folder, "absent"), folder)).toBe(join(folder, "absent"));
  });
});

it("the shelter is the same for the same directory, and nobody else can list it", () => {
  const shelter = createAccessibleDirectory(folder);
  try {
    expect(createAccessibleDirectory(folder)).toBe(shelter);
    expect(statSync(shelter).mode & 0o777).toBe(0o711);
    expect(existsSync(shelter)).toBe(true);
  } finally {
    rmSync(shelter, { recursive: true });
  }
});
