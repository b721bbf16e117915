/** Supervises the process of one job and renews its lease. It must not report a result for a lost job: the server decides. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { siblingProgramUrl } from "../kernel/programs.ts";
import { findTools } from "../sandbox/choose.ts";
import { withDeathOfParent } from "../sandbox/launch.ts";
import { logLine } from "./log-line.ts";
import { type AgentClient, Fenced, type JobBody, type JobSignal } from "./client.ts";
import {
  aliveIntervalMs,
  type ClaimedJob,
  type JobProcessOutput,
  type JobInstruction,
  type SlotSetup,
  type JobProcessInput,
} from "./job-channel.ts";

/** Cleaning up must end before the server gives the job to another agent. */
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
  readonly #pulse: Heartbeat;
  #child: JobChild | undefined;
  #job: ClaimedJob | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#pulse = new Heartbeat(this.#lost, (signal) => this.#child?.send({ signal }));
    this.#lost.signal.addEventListener("abort", () =>
      this.#child?.send({ lost: (this.#lost.signal.reason as Error).message }),
    );
  }

  async run(body: JobBody): Promise<void> {
    const { setup, say } = this.#options;
    const child = new JobChild({ setup, clears: undefined }, (message) => this.#hear(message));
    this.#child = child;
    const feeding = child.feed(body).catch((error: Error) => error.message);
    const trouble = await child.ended;
    this.#pulse.stop();
    if (trouble === undefined) return;
    const job = this.#job;
    const reason = [`its process ${trouble}`, await feeding].filter(Boolean).join("; ");
    say(logLine("job abandoned", { run: job?.runId ?? "unknown", phase: job?.phase, reason }));
    // If no process can be started, the next job would be lost immediately too.
    if (job === undefined) await pause(pauseMs);
    else await this.#clear(job);
  }

  /** The job's process still uploads the state. */
  stopNow(): void {
    this.#child?.send({ signal: "shutdown" });
  }

  #hear({ claimed, line }: JobProcessOutput): void {
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
    say(logLine("job cleanup failed", { run: job.runId, phase: job.phase, reason: `the cleanup process ${trouble}` }));
  }
}

const program = fileURLToPath(siblingProgramUrl(import.meta.url, "job-process.ts"));

/** Only small documents are parsed (see `phases.ts`); large ones are streamed. */
const heapMegabytes = 1024;
/** Including buffers; checked every second. */
const residentMegabytes = 2048;
/** As long as the server waits for a heartbeat. */
const silentTicksMax = 30;
/** The engine of a lost job must be gone before another agent gets the job. */
const lostTicksMax = 2;

class JobChild {
  /** Undefined on success, otherwise the predicate of a sentence: "exited with code 1". */
  readonly ended: Promise<string | undefined>;
  readonly #child: ChildProcess;
  readonly #watch: NodeJS.Timeout;
  /** Ticks instead of time: a machine that slept wakes up with one tick. */
  #silentTicks = 0;
  #silentTicksMax = silentTicksMax;
  #killReason: string | undefined;

  constructor(order: JobInstruction, hear: (message: JobProcessOutput) => void) {
    const flags = ["--disable-warning=ExperimentalWarning", "--expose-gc", `--max-old-space-size=${heapMegabytes}`];
    const [command = "", ...words] = withDeathOfParent(findTools(), [process.execPath, ...flags, program]);
    const child = spawn(command, words, {
      env: environment(),
      // A separate session, so that Ctrl+C in the agent's terminal doesn't reach it.
      detached: true,
      stdio: ["pipe", "ignore", "inherit", "ipc"],
    });
    this.#child = child;
    child.stdin?.on("error", () => undefined);
    child.on("message", (message: JobProcessOutput) => {
      this.#silentTicks = 0;
      hear(message);
    });
    this.ended = new Promise((resolve) => {
      child.once("error", (error) => resolve(`can't be started (${error.message})`));
      child.once("close", (code, signal) => resolve(this.#reasonOf(code, signal)));
    });
    this.#watch = setInterval(() => void this.#look(), aliveIntervalMs);
    void this.ended.then(() => clearInterval(this.#watch));
    this.send({ order });
  }

  /** Throws ServerUnreachable if the transfer is interrupted. */
  async feed(body: JobBody): Promise<void> {
    if (this.#child.stdin === null) return;
    try {
      await pipeline(Readable.from(body), this.#child.stdin);
    } catch (error) {
      this.kill("received an incomplete job");
      throw error;
    }
  }

  send(message: JobProcessInput): void {
    if (message.lost !== undefined) this.#silentTicksMax = lostTicksMax;
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  kill(reason: string): void {
    this.#killReason ??= reason;
    this.#child.kill("SIGKILL");
  }

  async #look(): Promise<void> {
    this.#silentTicks += 1;
    if (this.#silentTicks > this.#silentTicksMax)
      this.kill(`was unresponsive for ${(this.#silentTicksMax * aliveIntervalMs) / 1000} seconds`);
    if ((await residentMegabytesOf(this.#child.pid)) > residentMegabytes)
      this.kill(`used more than ${residentMegabytes} MB of memory`);
  }

  #reasonOf(code: number | null, signal: NodeJS.Signals | null): string | undefined {
    if (this.#killReason !== undefined) return `${this.#killReason}, and was killed`;
    if (code === 0) return undefined;
    if (signal === "SIGABRT") return `exited with signal SIGABRT, out of its ${heapMegabytes} MB of memory`;
    return signal === null ? `exited with code ${code}` : `exited with signal ${signal}`;
  }
}

/** The agent's settings are sent as a message. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("CADASTRE_")));
}

async function residentMegabytesOf(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

const waitSeconds = 8;
/** The server waits 30 seconds from when it received the last heartbeat; the agent counts from when it sent it. */
const silenceMsMax = 27_000;
const checkMs = 250;
const signaledPauseMs = 1000;

interface HeartbeatClient {
  readonly heartbeat: (wait: number, signal: AbortSignal) => Promise<JobSignal | null>;
}

export class Heartbeat {
  readonly #lost: AbortController;
  readonly #stopped = new AbortController();
  readonly #onSignal: (signal: JobSignal) => void;
  readonly #silenceMs: number;
  #contactAt = performance.now();
  #signaled: JobSignal | null = null;

  constructor(lost: AbortController, onSignal: (signal: JobSignal) => void, silenceMs = silenceMsMax) {
    this.#silenceMs = silenceMs;
    this.#lost = lost;
    this.#onSignal = onSignal;
  }

  start(client: HeartbeatClient): void {
    const look = setInterval(() => {
      if (performance.now() - this.#contactAt > this.#silenceMs)
        this.#lose("the server could not be reached for too long");
    }, checkMs);
    this.#stopped.signal.addEventListener("abort", () => clearInterval(look));
    void this.#beat(client);
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #beat(client: HeartbeatClient): Promise<void> {
    const { signal } = this.#stopped;
    let wasReached = true;
    while (!signal.aborted && !this.#lost.signal.aborted) {
      const sentAt = performance.now();
      try {
        // After a failure, no long poll: the agent must learn immediately that the server is back.
        const received = await client.heartbeat(wasReached ? waitSeconds : 0, signal);
        this.#contactAt = sentAt;
        wasReached = true;
        if (received !== null) await this.#hear(received, signal);
      } catch (error) {
        if (signal.aborted) return;
        wasReached = false;
        if (error instanceof Fenced) this.#lose(error.message);
        else await pause(500 + Math.random() * 1000, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** The server answers every heartbeat with the signal immediately, so the agent waits between them. */
  async #hear(received: JobSignal, signal: AbortSignal): Promise<void> {
    if (received !== this.#signaled && this.#signaled !== "kill") {
      this.#signaled = received;
      this.#onSignal(received);
    }
    await pause(signaledPauseMs, undefined, { signal }).catch(() => undefined);
  }

  #lose(reason: string): void {
    if (this.#stopped.signal.aborted || this.#lost.signal.aborted) return;
    this.#lost.abort(new Fenced(reason));
  }
}
