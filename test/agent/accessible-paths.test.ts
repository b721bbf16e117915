/** Paths for jobs that run as other users than the agent. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isAccessible, createAccessibleDirectory, accessiblePath } from "../../src/agent/accessible-paths.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cadastre-accessible-"));
  chmodSync(folder, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("isAccessible", () => {
  it("is true if all users can traverse every parent directory", () => {
    mkdirSync(join(folder, "a/b"), { recursive: true });
    expect(isAccessible(join(folder, "a/b"))).toBe(true);
    chmodSync(join(folder, "a"), 0o700);
    expect(isAccessible(join(folder, "a/b"))).toBe(false);
    expect(isAccessible(join(folder, "a"))).toBe(true);
  });
});

describe("a file behind a closed directory", () => {
  const make = () => {
    mkdirSync(join(folder, "closed/mirror/deep"), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, "closed/program"), "one", { mode: 0o700 });
    writeFileSync(join(folder, "closed/mirror/deep/file"), "text", { mode: 0o600 });
    chmodSync(join(folder, "closed"), 0o700);
    const accessible = join(folder, "accessible");
    mkdirSync(accessible);
    return accessible;
  };

  it("is copied to the accessible directory, readable by all; programs stay executable", () => {
    const accessible = make();
    const program = accessiblePath(join(folder, "closed/program"), accessible);
    expect(program.startsWith(accessible)).toBe(true);
    expect([readFileSync(program, "utf8"), statSync(program).mode & 0o777]).toEqual(["one", 0o755]);
    const mirror = accessiblePath(join(folder, "closed/mirror"), accessible);
    expect(statSync(join(mirror, "deep/file")).mode & 0o777).toBe(0o644);
    expect(isAccessible(join(mirror, "deep/file"))).toBe(true);
  });

  it("is copied once, and again when it has changed", () => {
    const accessible = make();
    const path = join(folder, "closed/program");
    const first = accessiblePath(path, accessible);
    expect(accessiblePath(path, accessible)).toBe(first);
    writeFileSync(path, "another");
    const second = accessiblePath(path, accessible);
    expect(second).not.toBe(first);
    expect(readFileSync(second, "utf8")).toBe("another");
  });

  it("is not copied if it is accessible or missing", () => {
    mkdirSync(join(folder, "open"));
    expect(accessiblePath(join(folder, "open"), folder)).toBe(join(folder, "open"));
    expect(accessiblePath(join(folder, "absent"), folder)).toBe(join(folder, "absent"));
  });
});

it("an agent directory always gets the same accessible directory, which other users can't list", () => {
  const accessible = createAccessibleDirectory(folder);
  try {
    expect(createAccessibleDirectory(folder)).toBe(accessible);
    expect(statSync(accessible).mode & 0o777).toBe(0o711);
    expect(existsSync(accessible)).toBe(true);
  } finally {
    rmSync(accessible, { recursive: true });
  }
});
