/** Supervises the process of one job and renews its lease. It must not report a result for a lost job: the server decides. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { siblingProgramUrl } from "../kernel/programs.ts";
import { findTools } from "../sandbox/choose.ts";
import { killedWithParent } from "../sandbox/launch.ts";
import { logLine } from "./log-line.ts";
import { type AgentClient, JobLost, type JobBody, type JobSignal } from "./client.ts";
import {
  aliveIntervalMs,
  type ClaimedJob,
  type JobProcessOutput,
  type JobInstruction,
  type SlotSetup,
  type JobProcessInput,
  type UnavailableEngine,
} from "./job-channel.ts";

/** Cleaning up must end before the server gives the job to another agent. */
const cleanUpMsMax = 25_000;
const failedStartPauseMs = 2000;

export interface SupervisorOptions {
  readonly setup: SlotSetup;
  readonly client: AgentClient;
  readonly say: (line: string) => void;
  readonly onUnavailable: (engine: UnavailableEngine) => void;
}

export class JobSupervisor {
  readonly #options: SupervisorOptions;
  readonly #lost = new AbortController();
  readonly #heartbeat: Heartbeat;
  #child: JobChild | undefined;
  #job: ClaimedJob | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#heartbeat = new Heartbeat(this.#lost, (signal) => this.#child?.send({ signal }));
    this.#lost.signal.addEventListener("abort", () =>
      this.#child?.send({ lostReason: (this.#lost.signal.reason as Error).message }),
    );
  }

  async run(body: JobBody): Promise<void> {
    const { setup, say } = this.#options;
    const child = new JobChild({ setup, cleanUpAfter: undefined }, (message) => this.#handleMessage(message));
    this.#child = child;
    const feeding = child.feed(body).catch((error: Error) => error.message);
    const failure = await child.ended;
    this.#heartbeat.stop();
    if (failure === undefined) return;
    const job = this.#job;
    const reason = [`its process ${failure}`, await feeding].filter(Boolean).join("; ");
    say(logLine("job abandoned", { run: job?.runId ?? "unknown", phase: job?.phase, reason }));
    // If no process can be started, the next job would be lost immediately too.
    if (job === undefined) await pause(failedStartPauseMs);
    else await this.#cleanUpAfter(job);
  }

  /** The job's process still uploads the state. */
  stopNow(): void {
    this.#child?.send({ signal: "shutdown" });
  }

  #handleMessage({ claimed, line, unavailable }: JobProcessOutput): void {
    if (line !== undefined) this.#options.say(line);
    if (unavailable !== undefined) this.#options.onUnavailable(unavailable);
    if (claimed === undefined || this.#job !== undefined) return;
    this.#job = claimed;
    const { client } = this.#options;
    this.#heartbeat.start({ heartbeat: (wait, stop) => client.heartbeat(claimed, wait, stop) });
  }

  async #cleanUpAfter(job: ClaimedJob): Promise<void> {
    const { setup, say } = this.#options;
    const child = new JobChild({ setup, cleanUpAfter: job }, ({ line }) => line !== undefined && say(line));
    const timeout = setTimeout(() => child.kill("took too long"), cleanUpMsMax);
    const failure = await child.ended;
    clearTimeout(timeout);
    if (failure === undefined) return;
    say(logLine("job cleanup failed", { run: job.runId, phase: job.phase, reason: `the cleanup process ${failure}` }));
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
  readonly #timer: NodeJS.Timeout;
  /** Ticks instead of time: a machine that slept wakes up with one tick. */
  #silentTicks = 0;
  #silentTicksMax = silentTicksMax;
  #killReason: string | undefined;

  constructor(instruction: JobInstruction, onMessage: (message: JobProcessOutput) => void) {
    const flags = ["--disable-warning=ExperimentalWarning", "--expose-gc", `--max-old-space-size=${heapMegabytes}`];
    const [command = "", ...words] = killedWithParent(findTools(), [process.execPath, ...flags, program]);
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
      onMessage(message);
    });
    this.ended = new Promise((resolve) => {
      child.once("error", (error) => resolve(`can't be started (${error.message})`));
      child.once("close", (code, signal) => resolve(this.#reasonOf(code, signal)));
    });
    this.#timer = setInterval(() => void this.#checkLimits(), aliveIntervalMs);
    void this.ended.then(() => clearInterval(this.#timer));
    this.send({ instruction });
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
    if (message.lostReason !== undefined) this.#silentTicksMax = lostTicksMax;
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  kill(reason: string): void {
    this.#killReason ??= reason;
    this.#child.kill("SIGKILL");
  }

  async #checkLimits(): Promise<void> {
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
  readonly heartbeat: (wait: number, stop: AbortSignal) => Promise<JobSignal | null>;
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
    const timer = setInterval(() => {
      if (performance.now() - this.#contactAt > this.#silenceMs)
        this.#lose("the server could not be reached for too long");
    }, checkMs);
    this.#stopped.signal.addEventListener("abort", () => clearInterval(timer));
    void this.#beat(client);
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #beat(client: HeartbeatClient): Promise<void> {
    const stop = this.#stopped.signal;
    let wasReached = true;
    while (!stop.aborted && !this.#lost.signal.aborted) {
      const sentAt = performance.now();
      try {
        // After a failure, no long poll: the agent must learn immediately that the server is back.
        const jobSignal = await client.heartbeat(wasReached ? waitSeconds : 0, stop);
        this.#contactAt = sentAt;
        wasReached = true;
        if (jobSignal !== null) await this.#handleSignal(jobSignal, stop);
      } catch (error) {
        if (stop.aborted) return;
        wasReached = false;
        if (error instanceof JobLost) this.#lose(error.message);
        else await pause(500 + Math.random() * 1000, undefined, { signal: stop }).catch(() => undefined);
      }
    }
  }

  /** The server answers every heartbeat with the signal immediately, so the agent waits between them. */
  async #handleSignal(jobSignal: JobSignal, stop: AbortSignal): Promise<void> {
    if (jobSignal !== this.#signaled && this.#signaled !== "kill") {
      this.#signaled = jobSignal;
      this.#onSignal(jobSignal);
    }
    await pause(signaledPauseMs, undefined, { signal: stop }).catch(() => undefined);
  }

  #lose(reason: string): void {
    if (this.#stopped.signal.aborted || this.#lost.signal.aborted) return;
    this.#lost.abort(new JobLost(reason));
  }
}
