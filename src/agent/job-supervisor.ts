/**
 * One job, as its agent takes care of it: started as a process of its own, its lease renewed and its signals passed on meanwhile. A
 * process that dies or hangs is no more reported: the server decides, as for every lost job, and what it left is cleared away.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { AgentClient, JobBody } from "./client.ts";
import { JobChild } from "./job-child.ts";
import type { ClaimedJob, FromJobProcess, SlotSetup } from "./job-channel.ts";
import { Pulse } from "./pulse.ts";

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
