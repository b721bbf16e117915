/** The npm package that `npm run build` creates, packed and started as a new user would, in an empty folder with only npm. */
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { beforeAll, describe, expect, test } from "vitest";
import { type Caller, callerOn } from "../support/api.ts";
import { data, details, resource } from "../support/builders.ts";
import { EngineMirror, mirrorCa } from "../support/engine-mirror.ts";
import { stateAttributes, lock, post, stateOfSize } from "../support/states.ts";
import { dropRegistersAfterwards, newRegister, tokenIn, useFolder } from "../cli/support.ts";

dropRegistersAfterwards();
const packed = process.env["CADASTRE_TEST_PACKAGE"] ?? "dist/package";
const folder = useFolder();
const home = join(folder, "fresh");
/** The file name of the packed archive. */
let archive: string;

/** Only the paths of programs, and npm's own settings. */
const bare = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(PATH|HOME|https?_proxy|no_proxy|npm_config_\w+)$/i.test(name)),
) as Record<string, string>;
// Without this checkout's programs, such as the pinned Node.
const environment = {
  ...bare,
  PATH: (bare["PATH"] ?? "")
    .split(":")
    .filter((place) => !place.includes("node_modules"))
    .join(":"),
};

const npx = (...words: string[]) => ["--yes", "--prefer-offline", `./${archive}`, ...words];

beforeAll(() => {
  mkdirSync(home, { recursive: true });
  const words = ["pack", packed, "--pack-destination", home, "--loglevel=error"];
  archive = execFileSync("npm", words, { encoding: "utf8" }).trim();
});

describe("the package", () => {
  test("is a few megabytes: a program, the console and third-party notices", () => {
    expect(statSync(join(home, archive)).size).toBeLessThan(4 * 2 ** 20);
    expect(readdirSync(packed).sort()).toEqual(
      ["CHANGELOG.md", "LICENSE", "README.md", "THIRD-PARTY.txt", "bin", "dist", "lib", "package.json"].sort(),
    );
    expect(readdirSync(join(packed, "lib")).sort()).toEqual([
      "@cedar-policy",
      "cadastre.js",
      "checkpointer.js",
      "job-process.js",
      "openpgp",
      "plan-worker.js",
      "policy-worker.js",
    ]);
    expect(readFileSync(join(packed, "lib/openpgp/LICENSE"), "utf8")).toContain("GNU LESSER GENERAL PUBLIC LICENSE");
    expect(readFileSync(join(packed, "lib/openpgp/GPL-3.0.txt"), "utf8")).toContain("GNU GENERAL PUBLIC LICENSE");
    for (const program of ["lib/cadastre.js", "lib/job-process.js"])
      expect(readFileSync(join(packed, program), "utf8").match(/import\("\.\/openpgp\/openpgp\.mjs"\)/g)).toHaveLength(
        1,
      );
    const notices = readFileSync(join(packed, "THIRD-PARTY.txt"), "utf8");
    // Packages of the server and of the console.
    for (const name of ["fastify", "pg", "react-dom", "@mantine/core", "openpgp", "@cedar-policy/cedar-wasm"])
      expect(notices).toContain(`\n${name} `);
    for (const tool of ["vitest", "typescript", "rolldown"]) expect(notices).not.toContain(`\n${tool} `);
  });

  test("contains no paths of the build machine", () => {
    for (const name of [
      "lib/cadastre.js",
      "lib/job-process.js",
      "lib/checkpointer.js",
      "lib/plan-worker.js",
      "lib/policy-worker.js",
    ])
      expect(readFileSync(join(packed, name), "utf8")).not.toContain(process.cwd());
  });
});

test("the worker that reads plans is complete", async () => {
  const plan = Buffer.from(
    '{"resource_changes":[{"type":"t","provider_name":"p","change":{"after":{"a":"hunter2"}}}]}',
  );
  const workerData = { kind: "redact", plan, schemas: undefined, secrets: [{ value: "hunter2", hcl: false }] };
  const worker = new Worker(resolve(packed, "lib/plan-worker.js"), { workerData, execArgv: [] });
  const [{ redacted }] = (await once(worker, "message")) as [{ redacted: Uint8Array }];
  expect(Buffer.from(redacted).toString()).toContain('"after":{"a":"(sensitive variable 1)"}');
});

describe("npx in an empty folder", () => {
  test("serves the API and the console, stores its data in data/, and checkpoints the WAL in its own thread", async () => {
    const child = spawn("npx", npx("serve", "--listen", "127.0.0.1:0"), {
      cwd: home,
      env: environment,
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    let out = "";
    child.stdout.on("data", (chunk) => (out += chunk));
    const ended = once(child, "close");
    try {
      while (!/Ctrl\+C/.test(out)) await Promise.race([once(child.stdout, "data"), ended.then(() => expect.fail(out))]);
      const [, url = ""] = /Address +(\S+)/.exec(out) ?? [];
      const page = await fetch(`${url}/app/`, { headers: { accept: "text/html" } });
      expect(page.status).toBe(200);
      const [, script = ""] = /src="(\/app\/assets\/[^"]+\.js)"/.exec(await page.text()) ?? [];
      expect((await fetch(`${url}${script}`)).status).toBe(200);
      const admin = callerOn(url, tokenIn(out) ?? "");
      await writeLargeStates(admin);
      await refuseByRule(admin);
      // Only that thread copies pages from the WAL to the file while the server runs.
      const database = join(home, "data/cadastre.db");
      while (statSync(database).size < 8 * 2 ** 20) await pause(50);
    } finally {
      if (child.exitCode === null) process.kill(-(child.pid ?? 0), "SIGTERM");
      await ended;
    }
  });

  test("creates and restores backups, and migrates PostgreSQL", async () => {
    const run = (words: readonly string[], settings: Record<string, string> = {}) =>
      execFileSync("npx", npx(...words), { cwd: home, env: { ...environment, ...settings }, encoding: "utf8" });
    run(["backup", "first.backup"]);
    const postgres = await newRegister("postgres");
    const key = readFileSync(join(home, "data/cadastre.db.key"), "utf8").trim();
    const settings = { ...postgres, CADASTRE_ENCRYPTION_KEY: key };
    expect(run(["migrate"], settings)).toMatch(/^The database is up to date; applied 0001/);
    expect(run(["migrate"], settings)).toBe("The database is up to date.\n");
    const restored = await newRegister("postgres");
    run(["restore", "first.backup"], { ...restored, CADASTRE_ENCRYPTION_KEY: key });
    expect(run(["user", "list"], { ...restored, CADASTRE_ENCRYPTION_KEY: key })).toContain("admin");
    const { version } = JSON.parse(readFileSync(join(packed, "package.json"), "utf8")) as { version: string };
    expect(run(["version"]).trim()).toBe(version);
    expect(run(["agent", "--help"])).toContain("CADASTRE_AGENT_TOKEN");
    expect(existsSync(join(home, "node_modules"))).toBe(false);
  });
});

test("fetches engines, verified by the separate module", async () => {
  const mirror = await EngineMirror.start();
  try {
    await mirror.publish({ product: "tofu", version: "1.10.6" });
    const keys = mirror.writeKeys(join(folder, "keys.asc"));
    const fetchEngine = (settings: Record<string, string>) =>
      promisify(execFile)("npx", npx("engine", "fetch", "tofu", "1.10.6"), {
        cwd: home,
        env: {
          ...environment,
          CADASTRE_ENGINES: join(home, "engines"),
          CADASTRE_ENGINE_MIRROR: mirror.url,
          CADASTRE_AGENT_CA: mirrorCa,
          ...settings,
        },
      });
    // By the keys that ship with it.
    await expect(fetchEngine({})).rejects.toThrow(/was refused.* is not one that signs engines here/s);
    expect((await fetchEngine({ CADASTRE_ENGINE_KEYS: keys })).stdout).toContain(
      `signed with the key ${mirror.key.fingerprint}.`,
    );
  } finally {
    await mirror.close();
  }
});

/** Writes more than the limit of the WAL, as incompressible data. */
async function writeLargeStates(admin: Caller): Promise<void> {
  data(await admin.post("/organizations", resource("organizations", { name: "acme", email: "a@acme.example" })));
  const workspace = data(await admin.post("/organizations/acme/workspaces", resource("workspaces", { name: "w" })));
  await lock(admin, workspace.id);
  for (let serial = 1; serial <= 3; serial += 1) {
    const state = stateOfSize(8 * 2 ** 20, { serial });
    expect((await post(admin, workspace.id, stateAttributes(state))).status).toBe(201);
  }
}

/** The Cedar engine is a file of its own. */
async function refuseByRule(admin: Caller): Promise<void> {
  const policy = '@message("Ask first.") forbid (principal, action, resource);';
  const rule = resource("access-rules", { name: "nothing", enforcement: "forbid", policy });
  data(await admin.post("/organizations/acme/access-rules", rule));
  const refused = await admin.post("/organizations/acme/authentication-token");
  expect([refused.status, details(refused)[0]]).toEqual([403, expect.stringContaining("Ask first.")]);
}
