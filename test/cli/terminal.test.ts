/** The output of a start on a terminal, and as a service. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { launcher } from "../support/launcher.ts";
import { account, cadastre, start, startService, stopService, tokenIn, useFolder } from "./support.ts";

const folder = useFolder();
let registers = 0;
const embedded = () => ({
  CADASTRE_DATABASE: `sqlite:${join(folder, `${(registers += 1)}.db`)}`,
  CADASTRE_LISTEN: "127.0.0.1:0",
  CADASTRE_CONSOLE: "off",
});

/** Creates a terminal; every Debian has it, and most other systems. */
const isWithoutScript = spawnSync("script", ["--version"]).error !== undefined;

/** On a separate terminal; `type` is the input. */
function onTerminal(environment: Record<string, string>) {
  // Without a shell in between, which Ctrl+C would end too.
  const command = `exec ${[process.execPath, launcher, "serve"].map((word) => `'${word}'`).join(" ")}`;
  const child = spawn("script", ["-qefc", command, "/dev/null"], {
    env: { PATH: process.env["PATH"] ?? "", NO_COLOR: "1", ...environment },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  child.stdout.on("data", (chunk) => (out += String(chunk).replaceAll("\r", "")));
  const ended = once(child, "close").then(([code]) => code as number | null);
  const said = async (pattern: RegExp) => {
    for (let found = pattern.exec(out); ; found = pattern.exec(out)) {
      if (found !== null) return found;
      await Promise.race([
        once(child.stdout, "data"),
        ended.then(() => {
          throw new Error(`it ended, and never said ${pattern}: ${out}`);
        }),
      ]);
    }
  };
  return { out: () => out, said, ended, type: (keys: string) => child.stdin.write(keys) };
}

describe.skipIf(isWithoutScript)("on a terminal", () => {
  test("the start prints what a person needs, requests are not logged, and Ctrl+C stops it", async () => {
    const terminal = onTerminal(embedded());
    const [, url = ""] = await terminal.said(/Address +(\S+)[\s\S]*Ctrl\+C\./);
    expect(terminal.out()).toMatch(/^\n {2}Cadastre \d/);
    const token = tokenIn(terminal.out()) ?? "";
    expect((await account(url, token)).status).toBe(200);
    expect((await fetch(`${url}/api/v2/nothing`)).status).toBe(401);
    terminal.type("\u0003");
    expect(await terminal.ended).toBe(0);
    expect(terminal.out()).toContain("Stopping: waiting for running requests.");
    expect(terminal.out()).not.toMatch(/[{}]|info|nothing/);
  });

  test("requests are logged as text if the log level asks for it", async () => {
    const terminal = onTerminal({ ...embedded(), CADASTRE_LOG_LEVEL: "info" });
    const [, url = ""] = await terminal.said(/Address +(\S+)[\s\S]*Ctrl\+C\./);
    await fetch(`${url}/api/v2/nothing`);
    await terminal.said(/^\d\d:\d\d:\d\d info {2}GET \/api\/v2\/nothing 401, [\d.]+ ms$/m);
    terminal.type("\u0003");
    expect(await terminal.ended).toBe(0);
    expect(terminal.out()).not.toContain('{"level"');
  });

  test("the second start prints how to create a token", async () => {
    const settings = embedded();
    for (const isFirst of [true, false]) {
      const terminal = onTerminal(settings);
      const [, url = ""] = await terminal.said(/Address +(\S+)[\s\S]*Ctrl\+C\./);
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      terminal.type("\u0003");
      expect(await terminal.ended).toBe(0);
      expect(/^ {4}.+ token create admin$/m.test(terminal.out())).toBe(!isFirst);
    }
  });
});

describe("in a service", () => {
  test("with CADASTRE_LOG_FORMAT=json all output is JSON without secrets", async () => {
    const service = start(["serve"], { ...embedded(), CADASTRE_LOG_FORMAT: "json" });
    while (!service.out().includes('"msg":"serving"') || !service.out().includes("first site admin"))
      await once(service.process.stdout!, "data");
    const { code, out, err } = await stopService(service);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.find(({ msg }) => msg === "serving")).toMatchObject({
      address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      data: expect.stringMatching(/\.db$/),
    });
    expect(out).toContain("create one with 'cadastre token create admin'");
    expect(out).not.toMatch(/cadastre-[\w-]{43}/);
  });

  test("with CADASTRE_LOG_FORMAT=text the log is text", async () => {
    const service = await startService({ ...embedded(), CADASTRE_LOG_FORMAT: "text" });
    await fetch(`${service.url}/readyz`);
    const { out } = await stopService(service);
    expect(out).toMatch(/^\d\d:\d\d:\d\d info {2}stopped$/m);
    expect(out).not.toContain('{"level"');
  });
});

describe("CADASTRE_FIRST_TOKEN_FILE", () => {
  test("contains the first admin's token with mode 0600; it is not printed, and later starts leave the file", async () => {
    const file = join(folder, "it's the first token");
    const settings = { ...embedded(), CADASTRE_FIRST_TOKEN_FILE: file };
    const first = await startService(settings);
    const token = readFileSync(file, "utf8").trim();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await account(first.url, token)).status).toBe(200);
    const pasted = /^ {4}(export TOKEN=.+)$/m.exec(first.out())?.[1] ?? "";
    const { stdout } = spawnSync("sh", ["-c", `${pasted}; printf %s "$TOKEN"`], { encoding: "utf8" });
    expect(stdout).toBe(token);
    const { code, out } = await stopService(first);
    expect(code).toBe(0);
    expect(out).not.toContain(token);
    expect(out).not.toContain("shown this once");
    const second = await startService(settings);
    expect((await account(second.url, token)).status).toBe(200);
    await stopService(second);
    expect(readFileSync(file, "utf8").trim()).toBe(token);
  });

  test("that can't be written prevents the start, and no admin is created", async () => {
    const settings = embedded();
    const taken = join(folder, "taken");
    writeFileSync(taken, "mine");
    for (const [file, reason] of [
      [taken, "(it already exists). Move the existing file away, or name"],
      [join(folder, "none", "token"), "'). Check the folder and its permissions, or name"],
    ] as const) {
      const { code, err } = await cadastre(["serve"], { ...settings, CADASTRE_FIRST_TOKEN_FILE: file });
      expect(code).toBe(1);
      expect(err).toMatch(/^The first admin's token can't be written to .*CADASTRE_FIRST_TOKEN_FILE\.$/);
      expect(err).toContain(reason);
    }
    expect(readFileSync(taken, "utf8")).toBe("mine");
    expect((await cadastre(["user", "list", "--json"], settings)).out).not.toContain("admin");
  });

  test("is not written if the operator sets the token", async () => {
    const file = join(folder, "not-needed");
    const chosen = { CADASTRE_ADMIN_TOKEN: "chosen-by-the-operator-2", CADASTRE_FIRST_TOKEN_FILE: file };
    await stopService(await startService({ ...embedded(), ...chosen }));
    expect(existsSync(file)).toBe(false);
  });
});

describe("on all addresses without a public URL", () => {
  test("uses a working local address, and prints what to set for others", async () => {
    const service = await startService(embedded(), ["--listen", "0.0.0.0:0"]);
    expect(service.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(service.out()).toContain("Set CADASTRE_PUBLIC_URL to the address by which others reach it");
    await stopService(service);
    const jsonService = start(["serve"], { ...embedded(), CADASTRE_LISTEN: "0.0.0.0:0", CADASTRE_LOG_FORMAT: "json" });
    while (!jsonService.out().includes('"msg":"serving"')) await once(jsonService.process.stdout!, "data");
    expect(jsonService.out()).toMatch(
      /"level":(?:40|"warn").*Set CADASTRE_PUBLIC_URL to the address by which others reach it/,
    );
    await stopService(jsonService);
    const known = await startService(embedded(), ["--listen", "0.0.0.0:0", "--public-url", "https://cadastre.example"]);
    expect(known.out()).not.toContain("Set CADASTRE_PUBLIC_URL");
    await stopService(known);
  });
});

describe("cadastre health", () => {
  test("reports by its exit code whether the server is ready", async () => {
    const service = await startService(embedded());
    const listen = new URL(service.url).host;
    expect(await cadastre(["health", "--listen", listen])).toEqual({ code: 0, out: "ready", err: "" });
    const everywhere = `0.0.0.0:${new URL(service.url).port}`;
    expect((await cadastre(["health"], { CADASTRE_LISTEN: everywhere })).code).toBe(0);
    await stopService(service);
    const { code, out, err } = await cadastre(["health", "--listen", listen]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/^The server is not ready \(.*ECONNREFUSED.*\)\. See the server's log\.$/);
  });

  test("waits for a starting server for the given time", async () => {
    const settings = embedded();
    const before = await startService(settings);
    await stopService(before);
    const listen = new URL(before.url).host;
    const waiting = cadastre(["health", "--listen", listen, "--wait", "60"]);
    const service = await startService(settings, ["--listen", listen]);
    expect(await waiting).toEqual({ code: 0, out: "ready", err: "" });
    await stopService(service);
    const { code, err } = await cadastre(["health", "--listen", listen, "--wait", "0.2"]);
    expect(code).toBe(1);
    expect(err).toMatch(/^The server is not ready after 0\.2 seconds \(.*ECONNREFUSED.*\)\. See the server's log\.$/);
  });

  test.each(["soon", "", "86401"])("--wait %j is refused", async (words) => {
    expect(await cadastre(["health", "--wait", words])).toMatchObject({
      code: 2,
      err: "--wait takes a number of seconds, from 0 to 86400.",
    });
  });
});
