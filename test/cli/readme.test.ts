/** The README's quick start works unchanged, and each block stops at its first error. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Service, startService, stopService, useFolder } from "./support.ts";

const folder = useFolder();
const token = "the-reader-of-the-readme";
const readme = readFileSync("README.md", "utf8");
const quickStart = readme.split("\n## Quick start\n")[1]?.split("\n## ")[0] ?? "";
/** The blocks after the start itself. */
const blocks = [...quickStart.matchAll(/```sh\n(.*?)```/gs)].map(([, block = ""]) => block).slice(1);

const isThere = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const shells = ["sh", "bash", "zsh"].filter((shell) => shell === "sh" || isThere(shell));
const isWithoutCurl = !isThere("curl");

/** The service that the README starts, here on a free port. */
let service: Service;
beforeAll(async () => {
  service = await startService({
    CADASTRE_DATABASE: `sqlite:${join(folder, "readme.db")}`,
    CADASTRE_ADMIN_TOKEN: token,
    CADASTRE_LOG_LEVEL: "fatal",
  });
});
afterAll(() => stopService(service));

async function paste(shell: string, pasted: readonly string[], organization: string) {
  const script = pasted.join("\n").replaceAll("http://127.0.0.1:8080", service.url).replaceAll("acme", organization);
  const child = spawn(shell, ["-c", script], {
    env: { ...process.env, TOKEN: token },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, [code]] = await Promise.all([textOf(child.stdout), textOf(child.stderr), once(child, "close")]);
  return { out, err, code: code as number };
}

test("needs only curl and a shell", () => {
  expect(quickStart).not.toMatch(/\bjq\b|python/);
  expect(blocks.length).toBeGreaterThan(4);
});

describe.skipIf(isWithoutCurl).each(shells)("in %s", (shell) => {
  const [words = "", , project = "", workspace = ""] = blocks;

  test("every block works", async () => {
    const { code, out, err } = await paste(shell, blocks, `acme-${shell}`);
    expect(code).toBe(0);
    expect(out).toMatch(/^PROJECT is prj-\w+$/m);
    // Twice at the end: by its tag, and by its name.
    expect(out.match(/"name":"network-production"/g)).toHaveLength(3);
    expect(out + err).not.toContain('"errors"');
  });

  test("a failing block shows the reason and stops", async () => {
    const again = await paste(shell, [words, project], `acme-${shell}`);
    expect(again.code).not.toBe(0);
    expect(again.err).toContain("Name has already been taken");
    expect(again.out).not.toContain("PROJECT is");
    const tooEarly = await paste(shell, [words, workspace], `acme-${shell}`);
    expect(tooEarly.code).not.toBe(0);
    expect(tooEarly.err).toContain("create the project first");
  });
});
