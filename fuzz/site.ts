/** The fuzzed server: a real process with its own database and without network access. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Database } from "../src/database/database.ts";
import { openDatabase } from "../src/database/engines/open.ts";
import { requireAuditEvents } from "../src/resources/shared/audit-events/required.ts";
import { type Api, callerOn } from "../test/support/api.ts";
import { buildersOn } from "../test/support/builders.ts";
import { startPostgres, type TestPostgres } from "../test/support/postgres.ts";

const fileBeside = (name: string) => fileURLToPath(new URL(name, import.meta.url));
export const adminToken = "the-admin-of-a-fuzzed-server";
/** The key of the tests, whose builders encrypt with it. */
export const encryptionKey = Buffer.alloc(32, 7);

export interface FuzzedSite {
  readonly url: string;
  readonly address: string;
  readonly database: Database;
  readonly api: Api;
  readonly folder: string;
  /** Errors in its log. */
  errors(): string[];
  /** How it exited; undefined while it runs. */
  ended(): string | undefined;
  /** Stops it; returns how that went. */
  stop(): Promise<string>;
  /** Removes its files. */
  remove(): Promise<void>;
}

export async function openSite(engine: string): Promise<FuzzedSite> {
  const folder = mkdtempSync(join(tmpdir(), "cadastre-fuzz-"));
  const postgres = engine === "postgres" ? await startPostgres() : undefined;
  const address = postgres?.url("postgres") ?? `sqlite:${join(folder, "cadastre.db")}`;
  const log = join(folder, "server.log");
  const { child, url } = await start(address, log);
  const database = openDatabase(address);
  const as = (token: string | undefined) => callerOn(url, token);
  // The tests' builders need this, because the server runs in another process.
  const audited = requireAuditEvents(database);
  const served = { url, address, database, audited, as, admin: as(adminToken), nobody: as(undefined) } as Api;
  const api: Api = { ...served, ...buildersOn(served) };
  const endedAs = () =>
    child.exitCode === null && child.signalCode === null
      ? undefined
      : `${child.signalCode ?? `code ${child.exitCode}`}`;
  return {
    url,
    address,
    database,
    api,
    folder,
    errors: () => errorsIn(readFileSync(log, "utf8")),
    ended: endedAs,
    stop: async () => {
      const exited = endedAs() === undefined ? once(child, "exit") : undefined;
      child.kill("SIGTERM");
      await exited;
      return endedAs() ?? "";
    },
    remove: () => remove({ child, database, postgres, folder }),
  };
}

async function start(address: string, log: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [fileBeside("../bin/cadastre.js"), "serve"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      NODE_OPTIONS: `--import=${fileBeside("offline.ts")}`,
      CADASTRE_DATABASE: address,
      CADASTRE_ENCRYPTION_KEY: encryptionKey.toString("hex"),
      CADASTRE_ADMIN_TOKEN: adminToken,
      CADASTRE_LISTEN: "127.0.0.1:0",
      CADASTRE_CONSOLE: "off",
      CADASTRE_LOG_LEVEL: "warn",
      // A small response cache, so that growing memory is a leak and not the cache.
      CADASTRE_CACHE_MB: "8",
      // Each request has its own client address, otherwise wrong tokens would soon block all callers.
      CADASTRE_TRUSTED_PROXIES: "127.0.0.1",
      CADASTRE_WORKERS: "0",
      // For the webhook receiver in the fuzzing process.
      CADASTRE_ALLOW_PRIVATE_ADDRESSES: "127.0.0.1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  const file = createWriteStream(log);
  let out = "";
  child.stdout.on("data", (piece: Buffer) => (out += out.includes("Ctrl+C") ? "" : String(piece)));
  for (const stream of [child.stdout, child.stderr]) stream.pipe(file, { end: false });
  const deadline = performance.now() + 300_000;
  for (;;) {
    const url = /Address +(\S+)[\s\S]*Ctrl\+C/.exec(out)?.[1];
    if (url !== undefined) return { child, url };
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`the server did not start: ${readFileSync(log, "utf8")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function errorsIn(log: string): string[] {
  return (
    log
      .split("\n")
      .filter((line) => /"level":(50|60)|unhandled|uncaught|MaxListenersExceeded/i.test(line))
      // Expected, because it has no network.
      .filter((line) => !line.includes("is not looked up here"))
      .map((line) => line.slice(0, 1_500))
  );
}

interface SiteParts {
  readonly child: ChildProcess;
  readonly database: Database;
  readonly postgres: TestPostgres | undefined;
  readonly folder: string;
}

async function remove({ child, database, postgres, folder }: SiteParts): Promise<void> {
  child.kill("SIGKILL");
  await database.close();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}
