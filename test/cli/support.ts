/** The command line for tests: in this process for its output and effects, as a real process for start and stop. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { run } from "../../src/cli/run.ts";
import { type Engine, newAddress } from "../support/database.ts";
import { newFolder } from "../support/folder.ts";
import { launcher } from "../support/launcher.ts";

export const encryptionKey = "0123456789abcdef".repeat(4);
export const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

type Environment = Readonly<Record<string, string>>;

/** Tests must not reach the publishers of engines. */
const noDownloads = { CADASTRE_ENGINE_MIRROR: "off" };

/** Runs a command in this process, without logging, which would appear among the test results. */
export async function cadastre(words: readonly string[], environment: Environment = {}): Promise<Outcome> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(
    words,
    { CADASTRE_LOG_LEVEL: "fatal", ...noDownloads, ...environment },
    { out: (line) => out.push(line), note: (line) => err.push(line) },
  );
  return { code, out: out.join("\n"), err: err.join("\n") };
}

/** A folder for the tests of one file, removed after them. */
export function useFolder(): string {
  const folder = newFolder("cadastre-cli-");
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The settings of a new database as environment variables; without a schema unless `migrated`, and dropped after the file's tests. */
export async function newRegister(
  engine: Engine,
  migrated = false,
): Promise<Record<"CADASTRE_DATABASE" | "CADASTRE_ENCRYPTION_KEY", string>> {
  const { address, drop } = await newAddress(engine, migrated);
  dropping.push(drop);
  return { CADASTRE_DATABASE: address, CADASTRE_ENCRYPTION_KEY: encryptionKey };
}

const dropping: (() => Promise<void>)[] = [];

/** Call once in a file that uses `newRegister`. */
export function dropRegistersAfterwards(): void {
  afterAll(async () => {
    for (const drop of dropping.splice(0)) await drop();
  });
}

export interface Running {
  readonly process: ChildProcess;
  /** The output so far. */
  readonly out: () => string;
  readonly ended: Promise<Outcome>;
}

/** Runs a command as a separate process, with the minimum of our environment. */
export const start = (words: readonly string[], environment: Environment): Running =>
  startNode(launcher, { ...noDownloads, ...environment }, words);

/** The same for any program of Node. */
export function startNode(program: string, environment: Environment, words: readonly string[] = []): Running {
  const child = spawn(process.execPath, [program, ...words], {
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // A failing test must not leave it running.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("close", () => process.off("exit", kill));
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, out, err }));
  return { process: child, out: () => out, ended };
}

export interface Service extends Running {
  readonly url: string;
}

/** Starts the service on a free port and waits until it prints its address. */
export async function startService(environment: Environment, words: readonly string[] = []): Promise<Service> {
  const running = start(["serve", ...words], {
    CADASTRE_LISTEN: "127.0.0.1:0",
    CADASTRE_CONSOLE: "off",
    ...environment,
  });
  const said = new Promise<string>((resolve) => {
    running.process.stdout?.on("data", () => {
      const url = /Address +(\S+)[\s\S]*Ctrl\+C/.exec(running.out())?.[1];
      if (url !== undefined) resolve(url);
    });
  });
  const url = await Promise.race([
    said,
    running.ended.then(({ err }) => {
      throw new Error(`the service ended instead of starting: ${err}`);
    }),
  ]);
  return { ...running, url };
}

export async function stopService({ process: child, ended }: Running): Promise<Outcome> {
  child.kill("SIGTERM");
  return ended;
}

/** The token that a first start prints. */
export const tokenIn = (text: string) => /^ +export TOKEN=(cadastre-[\w-]{43})$/m.exec(text)?.[1];

/** The account of a token's holder. */
export const account = (url: string, token: string): Promise<Response> =>
  fetch(`${url}/api/v2/account/details`, { headers: { authorization: `Bearer ${token}` } });

/** A separate connection to a service. */
export async function connection(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  // These tests don't care whether the service ends or resets a connection.
  socket.on("error", () => {});
  return socket;
}
