/** Starts, interrupts and kills a program in a sandbox. Once `ended` resolves, none of its processes is left. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { Cgroup } from "./cgroup.ts";
import type { Launch } from "./launch.ts";

export interface ProcessOptions {
  /** Standard error goes to standard output, in order. */
  readonly merged: boolean;
  readonly uid: number | undefined;
  readonly cgroup: Cgroup | undefined;
  /** An environment variable that identifies all processes of the job. */
  readonly mark: string;
}

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The line on descriptor 5 is written once the process is in its cgroup. Exits if the agent dies before that. */
const script = 'read -r go <&5 || exit 126; exec 5<&-; exec "$@"';

export class SandboxedProcess {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly ended: Promise<ProcessExit>;
  readonly #child: ChildProcess;
  readonly #options: ProcessOptions;
  /** The program itself, which is a child of bubblewrap if that is used. */
  readonly #programPid: Promise<number | undefined>;
  #hasEnded = false;

  constructor(launch: Launch, options: ProcessOptions) {
    this.#options = options;
    const { uid } = options;
    const child = spawn("/bin/sh", ["-c", options.merged ? `${script} 2>&1` : script, "sh", ...launch.words], {
      ...(uid === undefined ? {} : { uid, gid: uid }),
      ...(launch.directory === undefined ? { cwd: "/" } : { cwd: launch.directory }),
      env: { ...launch.environment },
      // Ctrl+C in the agent's terminal must not reach it.
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe", "pipe"],
    });
    this.#child = child;
    this.stdout = child.stdout as Readable;
    this.stderr = child.stderr as Readable;
    for (const stream of child.stdio) stream?.on("error", () => undefined);
    (child.stdio[3] as Writable).end(launch.secretArguments ?? "");
    this.#programPid = launch.reportsProcessId
      ? readProgramPid(child.stdio[4] as Readable)
      : Promise.resolve(child.pid);
    if (!launch.reportsProcessId) (child.stdio[4] as Readable).resume();
    this.ended = this.#waitForEnd();
    void this.#start((child.stdio as readonly unknown[])[5] as Writable);
  }

  /** Signals only the engine, which then stops its own children. */
  interrupt(): void {
    void this.#signalProgram("SIGINT");
  }

  kill(): void {
    if (this.#hasEnded) return;
    const { pid } = this.#child;
    if (pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) signal(pid, "SIGKILL");
    void this.#signalProgram("SIGKILL");
    this.#killRemaining();
  }

  async #signalProgram(name: NodeJS.Signals): Promise<void> {
    const pid = await this.#programPid;
    const hasEnded = this.#child.exitCode !== null || this.#child.signalCode !== null;
    if (pid !== undefined && !hasEnded) signal(pid, name);
  }

  async #start(go: Writable): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      await this.#options.cgroup?.add(pid);
      go.end("go\n");
    } catch {
      // The program must not start without its limits.
      go.destroy();
    }
  }

  async #waitForEnd(): Promise<ProcessExit> {
    const closed = once(this.#child, "close");
    closed.catch(() => undefined);
    const [code, name] = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null];
    // Remaining children would keep running and keep the output open.
    this.#killRemaining();
    await closed;
    this.#hasEnded = true;
    return { code, signal: name };
  }

  /** Signals the process group, not the program, whose PID can be reused. */
  #killRemaining(): void {
    const { pid } = this.#child;
    if (pid !== undefined) signal(-pid, "SIGKILL");
    this.#options.cgroup?.kill();
    killAllProcesses(this.#options);
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has already exited.
  }
}

/** Reads to the end, or bubblewrap would die of SIGPIPE. Undefined if bubblewrap exits first. */
function readProgramPid(info: Readable): Promise<number | undefined> {
  return new Promise((resolve) => {
    let text = "";
    info.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const [, pid] = /"child-pid"\s*:\s*(\d+)\D/.exec(text) ?? [];
      if (pid !== undefined) resolve(Number(pid));
    });
    info.on("close", () => resolve(undefined));
  });
}

export interface ProcessOwner {
  readonly uid: number | undefined;
  readonly mark: string;
}

export const runMark = (runId: string): string => `TFE_RUN_ID=${runId}`;

const roundsMax = 50;

/** Repeats until no process is left, because processes can fork meanwhile. */
export function killAllProcesses(owner: ProcessOwner): void {
  for (let round = 0; round < roundsMax; round += 1) {
    const found = processesOf(owner);
    if (found.length === 0) return;
    for (const pid of found) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has already exited.
      }
    }
  }
}

function processesOf(owner: ProcessOwner): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isOwnedBy(pid, owner));
}

function isOwnedBy(pid: number, { uid, mark }: ProcessOwner): boolean {
  try {
    if (hasExited(pid)) return false;
    if (uid !== undefined) return statSync(`/proc/${pid}`).uid === uid;
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(mark);
  } catch {
    return false;
  }
}

const hasExited = (pid: number) => /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
