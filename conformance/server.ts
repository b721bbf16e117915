/** Runs a server on a free port with an empty temporary database. */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { startPostgres } from "../test/support/postgres.ts";
import { scaled } from "../test/support/waiting.ts";

export const engines = ["sqlite", "postgres"] as const;
export type Engine = (typeof engines)[number];
export const editions = ["hosted", "self-hosted"] as const;
export type Edition = (typeof editions)[number];

export interface Server {
  readonly url: string;
  readonly token: string;
  /** Logged errors, which explain a 500. */
  errors(): readonly string[];
  stop(): Promise<void>;
}

const launcher = fileURLToPath(new URL("../bin/cadastre.js", import.meta.url));
/** Generous, because a machine may be busy. */
const startMs = scaled(180_000);

export async function startServer(
  engine: Engine,
  edition: Edition,
  settings: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const postgres = engine === "postgres" ? await emptyPostgres() : undefined;
  const folder = mkdtempSync(join(tmpdir(), "cadastre-conformance-"));
  const token = `conformance-${randomBytes(24).toString("hex")}`;
  const child = spawn(process.execPath, [launcher, "serve"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...without(process.env, /^CADASTRE_/),
      CADASTRE_LISTEN: "127.0.0.1:0",
      CADASTRE_CONSOLE: "off",
      CADASTRE_DATABASE: postgres?.url ?? `sqlite:${join(folder, "cadastre.db")}`,
      CADASTRE_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
      CADASTRE_ADMIN_TOKEN: token,
      CADASTRE_EDITION: edition,
      CADASTRE_LOG_LEVEL: "error",
      ...settings,
    },
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const abandon = () => {
    child.kill("SIGKILL");
    remove();
  };
  process.once("exit", abandon);
  const printed = collect(child);
  const stop = async () => {
    await ended(child);
    process.removeListener("exit", abandon);
    remove();
    await postgres?.stop();
  };
  try {
    const url = await untilAnnounced(child, printed);
    return { url, token, errors: () => printed().split("\n").filter(isError), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export interface Agent {
  stop(): Promise<void>;
}

/** Runs an agent. */
export async function startAgent(settings: Readonly<Record<string, string>>): Promise<Agent> {
  const folder = mkdtempSync(join(tmpdir(), "cadastre-agent-"));
  const child = spawn(process.execPath, [launcher, "agent"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...without(process.env, /^CADASTRE_/), ...settings },
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  return {
    stop: async () => {
      await ended(child);
      process.removeListener("exit", kill);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The environment without the matching variables. */
export function without(environment: NodeJS.ProcessEnv, pattern: RegExp): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !pattern.test(name)));
}

const isError = (line: string) => /^\{.*"level":(50|60)/.test(line);

async function emptyPostgres(): Promise<{ url: string; stop(): Promise<void> }> {
  const postgres = await startPostgres();
  const client = new pg.Client({ connectionString: postgres.url("postgres") });
  await client.connect();
  await client.query("create database conformance");
  await client.end();
  return { url: postgres.url("conformance"), stop: () => postgres.stop() };
}

function collect(child: ChildProcess): () => string {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (bytes: Buffer) => (text += bytes.toString()));
  return () => text;
}

/** Resolves with the server's address from its output. */
function untilAnnounced(child: ChildProcess, printed: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`The server ${why}. It printed:\n${printed()}`));
    const timer = setTimeout(() => fail(`did not start within ${startMs / 1000} seconds`), startMs);
    child.once("exit", (code) => {
      clearTimeout(timer);
      fail(`ended with ${code} instead of starting`);
    });
    child.stdout?.on("data", () => {
      const [, url] = /Address +(\S+)[\s\S]*Ctrl\+C/.exec(printed()) ?? [];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  await exit;
}
