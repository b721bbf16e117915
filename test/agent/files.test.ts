/** Files in a job's directory can be malicious: through them, nothing outside is read, written or removed. */
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { copyOut, readInside, removeTree, sizeOf, writeInside } from "../../src/agent/files.ts";
import { openFolder } from "./support/agent.ts";

const base = openFolder();
afterAll(() => rmSync(base, { recursive: true, force: true }));
const outside = join(base, "outside");
const root = join(base, "job");
const at = (name: string) => join(root, name);
const read = (name: string) => readInside(root, at(name), 1000).then((bytes) => bytes && String(bytes));

beforeEach(() => {
  for (const path of [outside, root]) {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path);
  }
  writeFileSync(join(outside, "secret"), "secret");
  mkdirSync(at("deep"));
  writeFileSync(at("deep/file"), "content");
});

describe("reading", () => {
  it("returns a file's content", async () => {
    expect(await read("deep/file")).toBe("content");
    expect(await copyOut(root, at("deep/file"), join(outside, "copy"))).toBe(true);
    expect(readFileSync(join(outside, "copy"), "utf8")).toBe("content");
  });

  it.each([
    ["a link to a file outside", () => symlinkSync(join(outside, "secret"), at("trap"))],
    ["a link to a file inside", () => symlinkSync(at("deep/file"), at("trap"))],
    ["a hard link", () => linkSync(join(outside, "secret"), at("trap"))],
    ["a pipe", () => execFileSync("mkfifo", [at("trap")])],
    ["a directory", () => mkdirSync(at("trap"))],
    ["nothing", () => undefined],
    ["something too large", () => writeFileSync(at("trap"), "x".repeat(2000))],
  ])("ignores %s", async (_, make) => {
    make();
    expect(await read("trap")).toBeUndefined();
  });

  it("ignores files below a link", async () => {
    symlinkSync(outside, at("trap"));
    expect(await read("trap/secret")).toBeUndefined();
    expect(await copyOut(root, at("trap/secret"), join(base, "copy"))).toBe(false);
    expect(existsSync(join(base, "copy"))).toBe(false);
  });
});

describe("writing", () => {
  it("creates parent directories, and replaces an existing file", async () => {
    await writeInside(root, at("a/b/file"), "one", undefined);
    await writeInside(root, at("a/b/file"), "two", undefined);
    expect(await read("a/b/file")).toBe("two");
  });

  it("replaces a link instead of following it", async () => {
    symlinkSync(join(outside, "secret"), at("deep/trap"));
    await writeInside(root, at("deep/trap"), "ours", undefined);
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("secret");
    expect(await read("deep/trap")).toBe("ours");
  });

  it("does not write below a link", async () => {
    symlinkSync(outside, at("trap"));
    await expect(writeInside(root, at("trap/file"), "ours", undefined)).rejects.toThrow("trap is a link");
    expect(existsSync(join(outside, "file"))).toBe(false);
  });
});

describe("cleaning up", () => {
  it("removes directories without permissions, and does not follow links", async () => {
    symlinkSync(outside, at("trap"));
    chmodSync(at("deep"), 0);
    await removeTree(root);
    expect([existsSync(root), existsSync(join(outside, "secret"))]).toEqual([false, true]);
  });

  it("counts the size without following links", async () => {
    writeFileSync(join(outside, "large"), Buffer.alloc(2 ** 20));
    symlinkSync(outside, at("trap"));
    expect(await sizeOf(root)).toBeLessThan(2 ** 20);
    writeFileSync(at("large"), Buffer.alloc(2 ** 20));
    expect(await sizeOf(root)).toBeGreaterThanOrEqual(2 ** 20);
  });
});
