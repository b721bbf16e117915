/**
 * One job from its claim to its end: executed under a time-out and an eye on the disk, reported once, and cleared away. A job that
 * was lost is not reported: that would contradict the agent that has it now.
 */
import { realpathSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { ArchiveFault } from "../archive/faults.ts";
import { Fenced, JobClient, type Outcome, type Signal } from "./client.ts";
import { JobDirectory } from "./directory.ts";
import { programOf, titleOf } from "./engines.ts";
import { EngineFault, Execution } from "./execution.ts";
import { sizeOf } from "./files.ts";
import type { Job } from "./job.ts";
import { RunLog } from "./log.ts";
import { masked } from "./masking.ts";
import { ConfigurationFault } from "./overrides.ts";
import { apply, plan } from "./phases.ts";
import type { Cgroup } from "../sandbox/cgroup.ts";
import type { Mounts, Sandbox } from "../sandbox/launch.ts";
import { Refused, type Server } from "./server.ts";
import type { AgentSettings } from "./settings.ts";
import { reachable } from "./shelter.ts";
import { keepLostState } from "./state.ts";
import { Stopper, type StopReason } from "./stopper.ts";
import { secretsOf } from "./variables.ts";

/** An apply that fails is told to have no sooner than this after it began. */
const failureMsMin = 3_000;

export interface SlotOptions {
  readonly slot: number;
  readonly settings: AgentSettings;
  readonly server: Server;
  readonly sandbox: Sandbox;
  readonly cgroup: Cgroup | undefined;
  readonly mounts: Omit<Mounts, "job" | "engine">;
  /** Where states are kept that nobody takes any more. */
  readonly lost: string;
  readonly say: (line: string) => void;
}

const diskLookMs = 3000;

/** A folder of engines may be made of links; what they lead to is what must be there in a sandbox. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

export class JobRun {
  readonly #job: Job;
  readonly #options: SlotOptions;
  readonly #lost = new AbortController();
  readonly #stopper: Stopper;
  readonly #client: JobClient;
  readonly #directory: JobDirectory;
  readonly #log: RunLog;
  readonly #secrets: readonly string[];

  constructor(job: Job, options: SlotOptions) {
    const { settings, server, sandbox, slot, mounts } = options;
    this.#job = job;
    this.#options = options;
    this.#secrets = secretsOf(job);
    this.#stopper = new Stopper(job.phase);
    this.#client = new JobClient(server, settings.agentToken, job, this.#lost.signal);
    const program = realPath(programOf(settings.engines, job.engine ?? settings.engine, job.engineVersion));
    const base = settings.agentDirectory;
    const engine = sandbox.uidOf(slot) === undefined ? program : reachable(program, base);
    this.#directory = new JobDirectory(job, { base, sandbox, slot, mounts: { ...mounts, engine } });
    this.#log = new RunLog({
      send: (offset, bytes) => this.#client.log(offset, bytes),
      // The server adds a mark at each end.
      bytesMax: job.logBytesMax - 2,
      secrets: this.#secrets,
    });
  }

  /** At `shutdown` everything is killed, and what can still be saved in a moment is. */
  obey(signal: Signal | "shutdown"): void {
    if (signal === "shutdown") this.#stopper.atOnce("shutdown");
    else if (signal === "kill") this.#stopper.atOnce("canceled");
    else this.#stopper.gently("canceled");
  }

  lose(why: string): void {
    this.#lost.abort(new Fenced(why));
  }

  async execute(): Promise<void> {
    const { say } = this.#options;
    const name = `${this.#job.runId} ${this.#job.phase}`;
    this.#lost.signal.addEventListener("abort", () => this.#stopper.atOnce("lost"));
    const limits = this.#watchLimits();
    const startedAt = performance.now();
    say(`${name}: begun for ${this.#job.organizationName}/${this.#job.workspaceName}.`);
    try {
      const outcome = await this.#outcome();
      await this.#log.end();
      await this.#holdBack(outcome, startedAt);
      await this.#client.finish({ ...outcome, errorMessage: this.#shown(outcome.errorMessage) });
      say(`${name}: ${outcome.result}.`);
    } catch (error) {
      await this.#tellLoss(name, error);
    } finally {
      this.#stopper.end();
      limits();
      await this.#directory
        .remove()
        .catch((error: Error) => say(`${name}: its directory can't be removed (${error.message}).`));
    }
  }

  async #outcome(): Promise<Outcome> {
    try {
      await this.#directory.make();
      const execution = new Execution(this.#executionOptions());
      await execution.prepare();
      return await (this.#job.phase === "plan" ? plan(execution) : apply(execution));
    } catch (error) {
      if (this.#lost.signal.aborted || error instanceof Fenced) throw error;
      return this.#failed(error);
    }
  }

  #executionOptions() {
    const { settings, server, sandbox, cgroup } = this.#options;
    const engine = { product: this.#job.engine ?? settings.engine, version: this.#job.engineVersion };
    return {
      job: this.#job,
      engine,
      client: this.#client,
      log: this.#log,
      directory: this.#directory,
      sandbox,
      cgroup,
      stopper: this.#stopper,
      serverUrl: server.url,
      providerDirect: settings.providerDirect ?? settings.providerMirror === undefined,
    };
  }

  /** What is told of an end that is none of the engine's. */
  async #failed(error: unknown): Promise<Outcome> {
    const { reason } = this.#stopper;
    if (reason === "canceled") return { result: "canceled" };
    const sentence = reason === undefined ? this.#sentenceOf(error) : this.#stopSentence(reason);
    const isTold = reason === undefined && error instanceof EngineFault && error.isTold;
    if (!isTold) await this.#log.say(`\n${sentence}`);
    return { result: "errored", errorMessage: sentence };
  }

  #sentenceOf(error: unknown): string {
    const { message, stack } = error as Error;
    const foreseen = [ConfigurationFault, EngineFault, ArchiveFault, Refused];
    if (foreseen.some((kind) => error instanceof kind)) return message;
    this.#options.say(`${this.#job.runId} ${this.#job.phase}: ${this.#shown(stack ?? message)}`);
    return `The agent could not execute this (${message}). Its own output tells more.`;
  }

  #stopSentence(reason: StopReason): string {
    const { settings } = this.#options;
    const title = titleOf(this.#job.engine ?? settings.engine);
    if (reason === "timed-out")
      return `${title} was stopped: the ${this.#job.phase} took longer than the ${this.#job.timeoutSeconds} seconds that it may take.`;
    if (reason === "disk")
      return `${title} was stopped: the job's directory holds more than the ${settings.jobDiskMegabytes} MB that it may hold.`;
    return `${title} was stopped: the agent was told to end at once.`;
  }

  #watchLimits(): () => void {
    const timeout = setTimeout(() => this.#stopper.gently("timed-out"), this.#job.timeoutSeconds * 1000);
    let looking: Promise<void> | undefined;
    const look = setInterval(() => {
      looking ??= this.#lookAtDisk().finally(() => (looking = undefined));
    }, diskLookMs);
    return () => {
      clearTimeout(timeout);
      clearInterval(look);
    };
  }

  async #lookAtDisk(): Promise<void> {
    const bytesMax = this.#options.settings.jobDiskMegabytes * 2 ** 20;
    if ((await sizeOf(this.#directory.root, bytesMax)) > bytesMax) this.#stopper.atOnce("disk");
  }

  /**
   * CLIs read the run once more between a plan and the apply that follows by itself. One that finds it errored already takes it for the
   * plan's failure, and never shows why the apply failed.
   */
  async #holdBack({ result }: Outcome, startedAt: number): Promise<void> {
    if (this.#job.phase === "apply" && result === "errored")
      await pause(startedAt + failureMsMin - performance.now(), undefined, { signal: this.#lost.signal });
  }

  async #tellLoss(name: string, error: unknown): Promise<void> {
    const { say, lost } = this.#options;
    const why = this.#lost.signal.aborted ? (this.#lost.signal.reason as Error).message : (error as Error).message;
    say(`${name}: given up (${why}).`);
    const kept = await keepLostState(lost, this.#job, this.#directory.root, this.#directory.stateFile).catch(
      (failure: Error) => {
        say(`${name}: its state can't be kept (${failure.message}).`);
        return undefined;
      },
    );
    if (kept !== undefined) say(`${name}: the state that it left is in ${kept}; the server may have an earlier one.`);
  }

  #shown<Text extends string | null | undefined>(text: Text): Text {
    return (typeof text === "string" ? masked(this.#secrets, text) : text) as Text;
  }
}
