/** Starts agents of a single job by the numbers of their pool's queue, as KEDA does with strategy `accurate`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Caller } from "./api.ts";
import { data } from "./builders.ts";
import { launcher } from "./launcher.ts";

export interface SchedulerOptions {
  readonly pool: string;
  /** With the agents' token. */
  readonly caller: Caller;
  readonly agentsMax: number;
  readonly waitSeconds: number;
  /** Each agent gets a directory in it. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly onOutput: (text: string) => void;
}

const pollMs = 300;

export class Scheduler {
  /** Of the agents that ended without being killed. */
  readonly exitCodes: (number | null)[] = [];
  started = 0;
  readonly #options: SchedulerOptions;
  readonly #agents = new Set<ChildProcess>();
  readonly #stopped = new AbortController();
  readonly #polling: Promise<void>;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#polling = this.#poll();
  }

  get pids(): number[] {
    return [...this.#agents].flatMap(({ pid }) => pid ?? []);
  }

  async kill(): Promise<void> {
    this.#stopped.abort();
    await this.#polling;
    await Promise.all(
      [...this.#agents].map(async (agent) => {
        const ended = once(agent, "close");
        agent.kill("SIGKILL");
        await ended;
      }),
    );
  }

  async #poll(): Promise<void> {
    const { pool, caller, agentsMax } = this.#options;
    while (!this.#stopped.signal.aborted) {
      const answer = await caller.get(`/agent-pools/${pool}/queue`).catch(() => undefined);
      if (answer?.status === 200) {
        const { waiting, running } = data(answer).attributes;
        const alive = this.#agents.size;
        const pending = Math.max(0, alive - running);
        for (let count = Math.min(waiting - pending, agentsMax - alive); count > 0; count -= 1) this.#start();
      }
      await pause(pollMs);
    }
  }

  #start(): void {
    const { folder, environment, waitSeconds, onOutput } = this.#options;
    this.started += 1;
    const home = mkdtempSync(join(folder, "once-"));
    chmodSync(home, 0o711);
    const agent = spawn(process.execPath, [launcher, "agent", "--once", "--wait", String(waitSeconds)], {
      env: { ...environment, CADASTRE_AGENT_DIRECTORY: home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#agents.add(agent);
    const kill = () => agent.kill("SIGKILL");
    process.once("exit", kill);
    for (const stream of [agent.stdout, agent.stderr]) stream.on("data", (chunk: Buffer) => onOutput(String(chunk)));
    agent.once("close", (code, signal) => {
      process.off("exit", kill);
      this.#agents.delete(agent);
      if (signal === null) this.exitCodes.push(code);
    });
  }
}
