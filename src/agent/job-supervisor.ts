/**
 * One job, as its agent takes care of it: started as a process of its own, its lease renewed and its signals passed on meanwhile. A
 * process that dies or hangs is no more reported: the server decides, as for every lost job, and what it left is cleared away.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { programBeside } from "../kernel/programs.ts";
import { findTools } from "../sandbox/choose.ts";
import { withDeathOfParent } from "../sandbox/launch.ts";
import { type AgentClient, Fenced, type JobBody, type Signal } from "./client.ts";
import {
  aliveMs,
  type ClaimedJob,
  type FromJobProcess,
  type JobOrder,
  type SlotSetup,
  type ToJobProcess,
} from "./job-channel.ts";

/** What may be left when the server gives the job to another. */
const clearMs = 25_000;
const pauseMs = 2000;

export interface SupervisorOptions {
  readonly setup: SlotSetup;
  readonly client: AgentClient;
  readonly say: (line: string) => void;
}

export class JobSupervisor {
  readonly #options: SupervisorOptions;
  readonly #lost = new AbortController();
  readonly #pulse: Pulse;
  #child: JobChild | undefined;
  #job: ClaimedJob | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#pulse = new Pulse(this.#lost, (signal) => this.#child?.tell({ signal }));
    this.#lost.signal.addEventListener("abort", () =>
      this.#child?.tell({ lost: (this.#lost.signal.reason as Error).message }),
    );
  }

  /** Until the job has ended and nothing of it is left. */
  async run(body: JobBody): Promise<void> {
    const { setup, say } = this.#options;
    const child = new JobChild({ setup, clears: undefined }, (message) => this.#hear(message));
    this.#child = child;
    const feeding = child.feed(body).catch((error: Error) => error.message);
    const trouble = await child.ended;
    this.#pulse.stop();
    if (trouble === undefined) return;
    const job = this.#job;
    const name = job === undefined ? "A job that had not begun" : `${job.runId} ${job.phase}`;
    const why = [`its process ${trouble}`, await feeding].filter(Boolean).join("; ");
    say(`${name}: given up (${why}). The server decides what becomes of it.`);
    // Where processes can't be started, the next job is not lost at once too.
    if (job === undefined) await pause(pauseMs);
    else await this.#clear(job);
  }

  /** The engine is killed, and what can still be saved in a moment is. */
  stopAtOnce(): void {
    this.#child?.tell({ signal: "shutdown" });
  }

  #hear({ claimed, line }: FromJobProcess): void {
    if (line !== undefined) this.#options.say(line);
    if (claimed === undefined || this.#job !== undefined) return;
    this.#job = claimed;
    const { client } = this.#options;
    this.#pulse.start({ heartbeat: (wait, signal) => client.heartbeat(claimed, wait, signal) });
  }

  async #clear(job: ClaimedJob): Promise<void> {
    const { setup, say } = this.#options;
    const child = new JobChild({ setup, clears: job }, ({ line }) => line !== undefined && say(line));
    const late = setTimeout(() => child.kill("took too long"), clearMs);
    const trouble = await child.ended;
    clearTimeout(late);
    if (trouble === undefined) return;
    say(`${job.runId} ${job.phase}: what it left can't be cleared away: the process for that ${trouble}.`);
  }
}

const program = fileURLToPath(programBeside(import.meta.url, "job-process.ts"));

/** What is parsed is small (see `phases.ts`); everything large goes through it in pieces. */
const heapMegabytes = 1024;
/** With its buffers; looked at every second. */
const residentMegabytes = 2048;
/** As long as the server waits for an agent. */
const silentTicksMax = 30;
/** Once the job is lost, the server gives it away in a moment: until then its engine has to be gone. */
const lostTicksMax = 2;

class JobChild {
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

const waitSeconds = 8;
/** The server waits 30 seconds from when it received the last beat; ours are counted from when it was sent. */
const silenceMsMax = 27_000;
const lookMs = 250;
const signaledPauseMs = 1000;

interface Heart {
  readonly heartbeat: (wait: number, signal: AbortSignal) => Promise<Signal | null>;
}

export class Pulse {
  readonly #lost: AbortController;
  readonly #stopped = new AbortController();
  readonly #onSignal: (signal: Signal) => void;
  readonly #silenceMs: number;
  #contactAt = performance.now();
  #told: Signal | null = null;

  constructor(lost: AbortController, onSignal: (signal: Signal) => void, silenceMs = silenceMsMax) {
    this.#silenceMs = silenceMs;
    this.#lost = lost;
    this.#onSignal = onSignal;
  }

  start(client: Heart): void {
    const look = setInterval(() => {
      if (performance.now() - this.#contactAt > this.#silenceMs)
        this.#lose("the server could not be reached for too long");
    }, lookMs);
    this.#stopped.signal.addEventListener("abort", () => clearInterval(look));
    void this.#beat(client);
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #beat(client: Heart): Promise<void> {
    const { signal } = this.#stopped;
    let wasReached = true;
    while (!signal.aborted && !this.#lost.signal.aborted) {
      const sentAt = performance.now();
      try {
        // A server that is back answers at once: to wait for a signal would be to wait for knowing that it is.
        const told = await client.heartbeat(wasReached ? waitSeconds : 0, signal);
        this.#contactAt = sentAt;
        wasReached = true;
        if (told !== null) await this.#hear(told, signal);
      } catch (error) {
        if (signal.aborted) return;
        wasReached = false;
        if (error instanceof Fenced) this.#lose(error.message);
        else await pause(500 + Math.random() * 1000, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** A signal stays, so that the next beat is answered with it at once: no need to ask at full speed. */
  async #hear(told: Signal, signal: AbortSignal): Promise<void> {
    if (told !== this.#told && this.#told !== "kill") {
      this.#told = told;
      this.#onSignal(told);
    }
    await pause(signaledPauseMs, undefined, { signal }).catch(() => undefined);
  }

  #lose(reason: string): void {
    if (this.#stopped.signal.aborted || this.#lost.signal.aborted) return;
    this.#lost.abort(new Fenced(reason));
  }
}
