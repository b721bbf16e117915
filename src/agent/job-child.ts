/**
 * A job's process as its agent sees it: started with limits, heard of every second, and killed when it hangs or needs too much memory.
 * The agent reads only short messages of it, never what belongs to the job.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { programBeside } from "../kernel/programs.ts";
import { findTools } from "../sandbox/choose.ts";
import { withDeathOfParent } from "../sandbox/launch.ts";
import type { JobBody } from "./client.ts";
import { aliveMs, type FromJobProcess, type JobOrder, type ToJobProcess } from "./job-channel.ts";

const program = fileURLToPath(programBeside(import.meta.url, "job-process.ts"));

/** What is parsed is small (see `phases.ts`); everything large goes through it in pieces. */
const heapMegabytes = 1024;
/** With its buffers; looked at every second. */
const residentMegabytes = 2048;
/** As long as the server waits for an agent. */
const silentTicksMax = 30;
/** Once the job is lost, the server gives it away in a moment: until then its engine has to be gone. */
const lostTicksMax = 2;

export class JobChild {
  /** Undefined when it did what it was started for, else why not, as the end of a sentence about it. */
  readonly ended: Promise<string | undefined>;
  readonly #child: ChildProcess;
  readonly #watch: NodeJS.Timeout;
  /** Counted and not timed: a machine that slept wakes up with one tick. */
  #silentTicks = 0;
  #silentTicksMax = silentTicksMax;
  #killedBecause: string | undefined;

  constructor(order: JobOrder, hear: (message: FromJobProcess) => void) {
    const flags = ["--disable-warning=ExperimentalWarning", "--expose-gc", `--max-old-space-size=${heapMegabytes}`];
    const [command = "", ...words] = withDeathOfParent(findTools(), [process.execPath, ...flags, program]);
    const child = spawn(command, words, {
      env: environment(),
      // In a session of its own: Ctrl+C at the agent's terminal is not for it.
      detached: true,
      stdio: ["pipe", "ignore", "inherit", "ipc"],
    });
    this.#child = child;
    child.stdin?.on("error", () => undefined);
    child.on("message", (message: FromJobProcess) => {
      this.#silentTicks = 0;
      hear(message);
    });
    this.ended = new Promise((resolve) => {
      child.once("error", (error) => resolve(`can't be started (${error.message})`));
      child.once("close", (code, signal) => resolve(this.#reasonOf(code, signal)));
    });
    this.#watch = setInterval(() => void this.#look(), aliveMs);
    void this.ended.then(() => clearInterval(this.#watch));
    this.tell({ order });
  }

  /** Hands the job over. Raises Unreachable where it does not arrive whole. */
  async feed(body: JobBody): Promise<void> {
    if (this.#child.stdin === null) return;
    try {
      await pipeline(Readable.from(body), this.#child.stdin);
    } catch (error) {
      this.kill("did not get its job whole");
      throw error;
    }
  }

  tell(message: ToJobProcess): void {
    if (message.lost !== undefined) this.#silentTicksMax = lostTicksMax;
    // It has ended, or is ending.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  kill(why: string): void {
    this.#killedBecause ??= why;
    this.#child.kill("SIGKILL");
  }

  async #look(): Promise<void> {
    this.#silentTicks += 1;
    if (this.#silentTicks > this.#silentTicksMax)
      this.kill(`did not answer for ${(this.#silentTicksMax * aliveMs) / 1000} seconds`);
    if ((await residentMegabytesOf(this.#child.pid)) > residentMegabytes)
      this.kill(`needed more than ${residentMegabytes} MB of memory`);
  }

  #reasonOf(code: number | null, signal: NodeJS.Signals | null): string | undefined {
    if (this.#killedBecause !== undefined) return `${this.#killedBecause}, and was killed`;
    if (code === 0) return undefined;
    if (signal === "SIGABRT") return `ended with the signal SIGABRT; its memory, ${heapMegabytes} MB, was used up`;
    return signal === null ? `ended with the code ${code}` : `ended with the signal ${signal}`;
  }
}

/** What Node and its connections go by; the settings come by the channel. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("CADASTRE_")));
}

async function residentMegabytesOf(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}
