/** The processes of a cluster: each has a log, runs without root, and is killed with all of its children. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root, so as root another user is chosen; undefined for the current user. */
export function ownerOfParts(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const user of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) => Number(execFileSync("id", [flag, user], { stdio: ["ignore", "pipe", "ignore"] }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // No such user.
    }
  }
  throw new Error(
    "Started as root, and there is neither a user 'postgres' nor 'nobody'. Start it as an ordinary user.",
  );
}

/** Writes a file that only the owner can read. */
export function writeFor(owner: Owner | undefined, path: string, text: string): string {
  folderFor(owner, dirname(path));
  writeFileSync(path, text, { mode: 0o600 });
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
  return path;
}

export function folderFor(owner: Owner | undefined, path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
  return path;
}

const taken = new Set<number>();

export async function freePort(): Promise<number> {
  for (;;) {
    const probe = createServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, "close");
    // Nothing listens on the port yet, so the system could return it again.
    if (!taken.has(port)) {
      taken.add(port);
      return port;
    }
  }
}

export interface Command {
  readonly program: string;
  readonly words: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export interface PartOptions {
  readonly name: string;
  readonly folder: string;
  readonly owner: Owner | undefined;
  /** Evaluated at each start. */
  readonly command: () => Command;
  /** The PID of a daemonized process, which is not a child. */
  readonly alsoPid?: () => number | undefined;
}

export class Part {
  readonly name: string;
  readonly logFile: string;
  readonly #options: PartOptions;
  #child: ChildProcess | undefined;
  /** Whether it should be running; if it exits then, it has failed. */
  #isWanted = false;

  constructor(options: PartOptions) {
    this.name = options.name;
    this.#options = options;
    this.logFile = join(options.folder, `${options.name}.log`);
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Whether it exited unexpectedly. */
  get hasFailed(): boolean {
    return this.#isWanted && !this.isRunning;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  start(): void {
    if (this.isRunning) return;
    const { owner, folder, command } = this.#options;
    const { program, words, environment } = command();
    const log = openSync(this.logFile, "a", 0o600);
    const child = spawn(program, words, {
      cwd: folder,
      env: { PATH: process.env["PATH"] ?? "", HOME: folder, LC_ALL: "C", TZ: "UTC", ...environment },
      stdio: ["ignore", log, log],
      ...owner,
    });
    closeSync(log);
    child.once("error", (error) => writeFileSync(this.logFile, `${error.message}\n`, { flag: "a" }));
    this.#child = child;
    this.#isWanted = true;
  }

  /** Signals all of its processes; by default SIGKILL. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    this.#isWanted = false;
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const exited = once(child, "exit");
    const family = this.family();
    if (signal === "SIGKILL") for (const pid of family) send(pid, "SIGKILL");
    else child.kill(signal);
    await exited;
    for (const pid of family) send(pid, "SIGKILL");
  }

  /** SIGTERM, then SIGKILL after a while. */
  async stop(patienceMs = 10_000): Promise<void> {
    await Promise.race([this.kill("SIGTERM"), sleep(patienceMs, undefined, { ref: false })]);
    await this.kill();
  }

  /** SIGSTOP. */
  pause(): void {
    for (const pid of this.family()) send(pid, "SIGSTOP");
  }

  resume(): void {
    for (const pid of this.family()) send(pid, "SIGCONT");
  }

  /** All of its processes, the parent first. */
  family(): number[] {
    return [...new Set([...familyOf(this.pid), ...familyOf(this.#options.alsoPid?.() ?? 0)])];
  }

  /** The end of its log. */
  said(): string {
    try {
      return readFileSync(this.logFile, "utf8").slice(-2_000);
    } catch {
      return "(no log)";
    }
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

/** A process and all of its descendants. */
export function familyOf(pid: number): number[] {
  if (pid === 0) return [];
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    try {
      // The name is in parentheses and can contain anything; state and parent follow it.
      const parent = Number(readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // It has ended meanwhile.
    }
  }
  const family = [pid];
  for (const each of family) family.push(...(children.get(each) ?? []));
  return family;
}

/** Rejects after the timeout, with what was expected. */
export async function until<T>(look: () => Promise<T | undefined | false>, what: string, seconds = 120): Promise<T> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > deadline) throw new Error(`This did not come to pass within ${seconds} seconds: ${what}`);
    await sleep(100);
  }
}
