/**
 * One program of a job while it runs: started in its sandbox and its cgroup, interrupted alone, killed with everything that it
 * started. When `ended` is told, nothing of it runs any more.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { Cgroup } from "./cgroup.ts";
import type { Launch } from "./launch.ts";

export interface ProcessOptions {
  /** Whether errors go where the output goes, in the order in which they were written. */
  readonly merged: boolean;
  readonly uid: number | undefined;
  readonly cgroup: Cgroup | undefined;
  /** Something in the environment of everything that this job starts, to find it by. */
  readonly mark: string;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** It waits for a word on descriptor 5: until then it is not yet in its cgroup. Without the word, because the agent died, it ends. */
const script = 'read -r go <&5 || exit 126; exec 5<&-; exec "$@"';

export class JobProcess {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #options: ProcessOptions;
  readonly #inner: Promise<number | undefined>;
  #isOver = false;

  constructor(launch: Launch, options: ProcessOptions) {
    this.#options = options;
    const { uid } = options;
    const child = spawn("/bin/sh", ["-c", options.merged ? `${script} 2>&1` : script, "sh", ...launch.words], {
      ...(uid === undefined ? {} : { uid, gid: uid }),
      ...(launch.directory === undefined ? { cwd: "/" } : { cwd: launch.directory }),
      env: { ...launch.environment },
      // A session of its own: Ctrl+C at the agent's terminal is not for it.
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe", "pipe"],
    });
    this.#child = child;
    this.stdout = child.stdout as Readable;
    this.stderr = child.stderr as Readable;
    for (const stream of child.stdio) stream?.on("error", () => undefined);
    (child.stdio[3] as Writable).end(launch.secretArguments ?? "");
    this.#inner = launch.tellsProcess ? innerProcess(child.stdio[4] as Readable) : Promise.resolve(child.pid);
    if (!launch.tellsProcess) (child.stdio[4] as Readable).resume();
    this.ended = this.#watch();
    void this.#begin((child.stdio as readonly unknown[])[5] as Writable);
  }

  /** The engine alone is told: it stops what it started in its own time. */
  interrupt(): void {
    void this.#tellInner("SIGINT");
  }

  kill(): void {
    if (this.#isOver) return;
    const { pid } = this.#child;
    if (pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) signal(pid, "SIGKILL");
    void this.#tellInner("SIGKILL");
    this.#killRest();
  }

  async #tellInner(name: NodeJS.Signals): Promise<void> {
    const pid = await this.#inner;
    const hasEnded = this.#child.exitCode !== null || this.#child.signalCode !== null;
    if (pid !== undefined && !hasEnded) signal(pid, name);
  }

  async #begin(go: Writable): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      await this.#options.cgroup?.add(pid);
      go.end("go\n");
    } catch {
      // Without its limits it does not begin.
      go.destroy();
    }
  }

  async #watch(): Promise<Ended> {
    const closed = once(this.#child, "close");
    closed.catch(() => undefined);
    const [code, name] = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null];
    // What it left behind would go on, and hold its output open.
    this.#killRest();
    await closed;
    this.#isOver = true;
    return { code, signal: name };
  }

  /** All but the program itself, whose number may be another's by now. */
  #killRest(): void {
    const { pid } = this.#child;
    if (pid !== undefined) signal(-pid, "SIGKILL");
    this.#options.cgroup?.kill();
    killEverythingOf(this.#options);
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/**
 * Bubblewrap tells the id that its first process has out here; undefined when it ends without. It is heard to its end: it would die
 * of a reader that goes away.
 */
function innerProcess(info: Readable): Promise<number | undefined> {
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

export interface Belongings {
  readonly uid: number | undefined;
  readonly mark: string;
}

/** What everything that a run's job starts has in its environment. */
export const runMark = (runId: string): string => `TFE_RUN_ID=${runId}`;

const roundsMax = 50;

/** Everything that can be found is killed, again and again while there is more: it may be multiplying. */
export function killEverythingOf(belongings: Belongings): void {
  for (let round = 0; round < roundsMax; round += 1) {
    const found = processesOf(belongings);
    if (found.length === 0) return;
    for (const pid of found) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended, or is ending.
      }
    }
  }
}

function processesOf(belongings: Belongings): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && belongs(pid, belongings));
}

function belongs(pid: number, { uid, mark }: Belongings): boolean {
  try {
    if (isEnding(pid)) return false;
    if (uid !== undefined) return statSync(`/proc/${pid}`).uid === uid;
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(mark);
  } catch {
    return false;
  }
}

/** A zombie has ended already; its parent has only not asked yet. */
const isEnding = (pid: number) => /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
