/** The target of a backup: a new or existing file, and nothing else. */
import { execFileSync } from "node:child_process";
import { lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cadastre, dropRegistersAfterwards, newRegister, useFolder } from "./support.ts";

dropRegistersAfterwards();
const folder = useFolder();

test("replaces only a file: no device, pipe or link", async () => {
  const register = await newRegister("sqlite", true);
  const [pipe, link, target] = ["a-pipe", "a-link", "behind-the-link"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  execFileSync("mkfifo", [pipe]);
  writeFileSync(target, "old");
  symlinkSync(target, link);
  for (const path of [pipe, link, "/dev/null", folder]) {
    const { code, err } = await cadastre(["backup", path], register);
    expect({ code, err }).toEqual({
      code: 1,
      err: `The backup can't be written to ${path}, because it exists and is not a regular file. Use another path, or remove it.`,
    });
  }
  expect(lstatSync(pipe).isFIFO()).toBe(true);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(target, "utf8")).toBe("old");
});

test("reports an inaccessible path in one line", async () => {
  const register = await newRegister("sqlite", true);
  const path = join(folder, "no-folder", "in-a-file.backup");
  writeFileSync(join(folder, "no-folder"), "but a file");
  const { code, err } = await cadastre(["backup", path], register);
  expect(code).toBe(1);
  expect(err).toMatch(/^The backup can't be written to .*in-a-file\.backup \(ENOTDIR.*\)\. Check the directory/);
});
