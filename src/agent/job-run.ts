/** Runs one job, reports the result once, and cleans up. It must not report a lost job, which another agent can have. */
import { realpathSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { ArchiveFault } from "../archive/faults.ts";
import { JobLost, JobClient, type PhaseResult, type JobSignal } from "./client.ts";
import { JobDirectory } from "./job-directory.ts";
import { type EngineName, engineText, titleOf } from "./products.ts";
import { EngineFault, Execution, sayHeader } from "./execution.ts";
import { EngineCache, type EngineInUse } from "./fetching/cache.ts";
import { EngineRefusal, EngineUnavailable } from "./fetching/faults.ts";
import type { FetchedRelease } from "./fetching/release.ts";
import type { UnavailableEngine } from "./job-channel.ts";
import { sizeOf } from "./files.ts";
import type { JobDocument } from "./job.ts";
import { RunLog } from "./log.ts";
import { logLine } from "./log-line.ts";
import { masked } from "./masking.ts";
import { ConfigurationFault } from "./overrides.ts";
import { apply, plan } from "./phases.ts";
import type { Cgroup } from "../sandbox/cgroup.ts";
import type { MountPaths, Sandbox } from "../sandbox/launch.ts";
import { ServerRejection, type ServerConnection } from "./server.ts";
import type { AgentSettings } from "./settings.ts";
import { accessiblePath } from "./accessible-paths.ts";
import { saveLostState } from "./state.ts";
import { Stopper, type StopReason } from "./stopper.ts";
import { secretsOf } from "./variables.ts";

/** See `#delayFailedApply`. */
const failureMsMin = 3_000;

export interface AgentJobRunOptions {
  readonly slot: number;
  readonly settings: AgentSettings;
  readonly server: ServerConnection;
  readonly sandbox: Sandbox;
  readonly cgroup: Cgroup | undefined;
  readonly mounts: Omit<MountPaths, "job" | "engine">;
  /** For states that the server no longer accepts. */
  readonly lostStatesDirectory: string;
  readonly say: (line: string) => void;
  readonly reportUnavailable: (engine: UnavailableEngine) => Promise<void>;
}

const diskCheckMs = 3000;

/** Engines can be links; the sandbox needs their targets. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

export class AgentJobRun {
  readonly #job: JobDocument;
  readonly #options: AgentJobRunOptions;
  readonly #engine: EngineName;
  readonly #lost = new AbortController();
  readonly #stopper: Stopper;
  readonly #client: JobClient;
  readonly #directory: JobDirectory;
  readonly #log: RunLog;
  readonly #secrets: readonly string[];

  constructor(job: JobDocument, options: AgentJobRunOptions) {
    const { settings, server, sandbox, slot, mounts } = options;
    this.#job = job;
    this.#options = options;
    this.#secrets = secretsOf(job);
    this.#stopper = new Stopper(job.phase);
    this.#client = new JobClient(server, settings.agentToken, job, this.#lost.signal);
    this.#engine = { product: job.engine ?? settings.engine, version: job.engineVersion };
    this.#directory = new JobDirectory(job, { base: settings.agentDirectory, sandbox, slot, mounts });
    this.#log = new RunLog({
      send: (offset, bytes) => this.#client.log(offset, bytes),
      // The server adds one byte at each end.
      bytesMax: job.logBytesMax - 2,
      secrets: this.#secrets,
    });
  }

  /** `shutdown` kills the engine; the state is still uploaded. */
  handleSignal(signal: JobSignal | "shutdown"): void {
    if (signal === "shutdown") this.#stopper.kill("shutdown");
    else if (signal === "kill") this.#stopper.kill("canceled");
    else this.#stopper.interrupt("canceled");
  }

  abandon(reason: string): void {
    this.#lost.abort(new JobLost(reason));
  }

  async execute(): Promise<void> {
    const { say } = this.#options;
    const { runId: run, phase, organizationName, workspaceName } = this.#job;
    this.#lost.signal.addEventListener("abort", () => this.#stopper.kill("lost"));
    const stopWatchingLimits = this.#watchLimits();
    const startedAt = performance.now();
    say(logLine("job started", { run, phase, workspace: `${organizationName}/${workspaceName}` }));
    try {
      const outcome = await this.#runPhase();
      await this.#log.end();
      await this.#delayFailedApply(outcome, startedAt);
      await this.#client.finish({ ...outcome, errorMessage: this.#masked(outcome.errorMessage) });
      say(logLine("job finished", { run, phase, result: outcome.result }));
    } catch (error) {
      await this.#abandon(error);
    } finally {
      this.#stopper.end();
      stopWatchingLimits();
      await this.#directory
        .remove()
        .catch((error: Error) => say(logLine("job directory not removed", { run, phase, error: error.message })));
    }
  }

  async #runPhase(): Promise<PhaseResult> {
    let engine: EngineInUse | undefined;
    try {
      engine = await this.#acquireEngine();
      await this.#directory.create();
      const execution = new Execution(this.#executionOptions(engine.fetched));
      await execution.prepare();
      return await (this.#job.phase === "plan" ? plan(execution) : apply(execution));
    } catch (error) {
      if (this.#lost.signal.aborted || error instanceof JobLost) throw error;
      return await this.#failureResult(error);
    } finally {
      engine?.release();
    }
  }

  async #acquireEngine(): Promise<EngineInUse> {
    const { settings, sandbox, slot } = this.#options;
    const engine = await new EngineCache(settings).use(this.#engine, this.#stopper.stopped);
    const program = realPath(engine.program);
    this.#directory.engine =
      sandbox.uidOf(slot) === undefined ? program : accessiblePath(program, settings.agentDirectory);
    return engine;
  }

  #executionOptions(fetched: FetchedRelease | undefined) {
    const { settings, server, sandbox, cgroup } = this.#options;
    return {
      job: this.#job,
      engine: this.#engine,
      fetched,
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

  async #failureResult(error: unknown): Promise<PhaseResult> {
    const { reason } = this.#stopper;
    if (reason === "canceled") return { result: "canceled" };
    if (reason === undefined && error instanceof EngineUnavailable) return this.#returnedResult(error);
    if (reason === undefined && error instanceof EngineRefusal) await sayHeader(this.#log, this.#engine);
    const message = reason === undefined ? this.#messageOf(error) : this.#stopMessage(reason);
    const isLogged = reason === undefined && error instanceof EngineFault && error.isLogged;
    if (!isLogged) await this.#log.say(`\n${message}`);
    return { result: "errored", errorMessage: message };
  }

  /** The agent learns it first, so that it doesn't claim the job again. */
  async #returnedResult({ message }: EngineUnavailable): Promise<PhaseResult> {
    const { runId: run, phase } = this.#job;
    this.#options.say(
      logLine("engine not available", { run, phase, engine: engineText(this.#engine), reason: message }),
    );
    await this.#options.reportUnavailable({ ...this.#engine, reason: message });
    return { result: "returned", errorMessage: message };
  }

  #messageOf(error: unknown): string {
    const { message, stack } = error as Error;
    const expected = [ConfigurationFault, EngineFault, EngineRefusal, ArchiveFault, ServerRejection];
    if (expected.some((kind) => error instanceof kind)) return message;
    const { runId: run, phase } = this.#job;
    this.#options.say(logLine("job failed unexpectedly", { run, phase, error: this.#masked(stack ?? message) }));
    return `The agent failed to run this job (${message}). See the agent's log.`;
  }

  #stopMessage(reason: StopReason): string {
    const { settings } = this.#options;
    const title = titleOf(this.#engine.product);
    if (reason === "timed-out")
      return `${title} was stopped: the ${this.#job.phase} took longer than its timeout of ${this.#job.timeoutSeconds} seconds.`;
    if (reason === "disk")
      return `${title} was stopped: the job's directory exceeded its limit of ${settings.jobDiskMegabytes} MB.`;
    return `${title} was stopped: the agent was shut down.`;
  }

  #watchLimits(): () => void {
    const timeout = setTimeout(() => this.#stopper.interrupt("timed-out"), this.#job.timeoutSeconds * 1000);
    let checking: Promise<void> | undefined;
    const timer = setInterval(() => {
      checking ??= this.#checkDisk().finally(() => (checking = undefined));
    }, diskCheckMs);
    return () => {
      clearTimeout(timeout);
      clearInterval(timer);
    };
  }

  async #checkDisk(): Promise<void> {
    const bytesMax = this.#options.settings.jobDiskMegabytes * 2 ** 20;
    if ((await sizeOf(this.#directory.root, bytesMax)) > bytesMax) this.#stopper.kill("disk");
  }

  /** CLIs read the run once more before an automatic apply; if it has errored by then, they report a failed plan. */
  async #delayFailedApply({ result }: PhaseResult, startedAt: number): Promise<void> {
    if (this.#job.phase === "apply" && result === "errored")
      await pause(startedAt + failureMsMin - performance.now(), undefined, { signal: this.#lost.signal });
  }

  async #abandon(error: unknown): Promise<void> {
    const { say, lostStatesDirectory } = this.#options;
    const { runId: run, phase } = this.#job;
    const { root, stateFile } = this.#directory;
    const reason = this.#lost.signal.aborted ? (this.#lost.signal.reason as Error).message : (error as Error).message;
    say(logLine("job abandoned", { run, phase, reason }));
    try {
      const file = await saveLostState(lostStatesDirectory, this.#job, root, stateFile);
      if (file !== undefined) say(logLine("state saved", { run, file, reason }));
    } catch (failure) {
      say(logLine("state not saved", { run, phase, error: (failure as Error).message }));
    }
  }

  #masked<Text extends string | null | undefined>(text: Text): Text {
    return (typeof text === "string" ? masked(this.#secrets, text) : text) as Text;
  }
}
