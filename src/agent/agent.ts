/** The agent: registers with its pool, and runs claimed jobs in one process each until it is drained. It must not open a port. */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { SettingError } from "../kernel/settings.ts";
import { version } from "../version.ts";
import { AgentClient, type AgentStatus, type EngineReport } from "./client.ts";
import { countEngines, type Engines, findEngines } from "./engines.ts";
import {
  type ClaimedDirectory,
  cleanDirectory,
  createDirectories,
  claimDirectory,
  trustCertificates,
  writeCertificates,
} from "./agent-directory.ts";
import { EngineAvailability } from "./fetching/availability.ts";
import { EngineCache } from "./fetching/cache.ts";
import { checkEngineMirror } from "./fetching/settings.ts";
import { readSigningKeys } from "./fetching/signatures.ts";
import type { UnavailableEngine } from "./job-channel.ts";
import { JobSupervisor } from "./job-supervisor.ts";
import { logLine } from "./log-line.ts";
import { type CgroupTree, openCgroups } from "../sandbox/cgroup.ts";
import { chooseSandbox, isRoot } from "../sandbox/choose.ts";
import type { MountPaths, Sandbox } from "../sandbox/launch.ts";
import { killAllProcesses } from "../sandbox/process.ts";
import { claimUids, type ClaimedUids } from "../sandbox/uids.ts";
import { ServerRejection, ServerConnection } from "./server.ts";
import { products } from "./products.ts";
import type { AgentSettings } from "./settings.ts";
import { isAccessible, createAccessibleDirectory, accessiblePath } from "./accessible-paths.ts";

export const agentReady = "agent ready";

const claimSeconds = 25;
/** The server checks a claim against the engines that were unavailable when it began. */
const claimSecondsDuringOutage = 5;
const pingMs = 10_000;
const lastPingMs = 3000;
const stateUploadMs = 10_000;
const reachMsMin = 5000;

/** Of an agent that executes one job: how long it waits for the job. */
export interface SingleJob {
  readonly waitMs: number;
}

interface AgentResources {
  readonly directory: ClaimedDirectory;
  readonly sandbox: Sandbox;
  readonly cgroups: CgroupTree;
  readonly mounts: Omit<MountPaths, "job" | "engine">;
  readonly uids: ClaimedUids;
  readonly lostStatesDirectory: string;
  readonly fetchesEngines: boolean;
}

const noUids: ClaimedUids = { list: [], release: () => undefined };

/** The users of jobs must be able to reach it. Throws SettingError. */
function directoryForJobs(agentDirectory: string): string {
  if (isAccessible(join(agentDirectory, "jobs"))) return agentDirectory;
  const directory = createAccessibleDirectory(agentDirectory);
  createDirectories(directory);
  return directory;
}

function mountsOf({ agentDirectory, providerMirror, ca, knownHosts }: AgentSettings, hasJobUsers: boolean) {
  const accessible = (path: string | undefined) =>
    path === undefined || !hasJobUsers || path.startsWith("https://") ? path : accessiblePath(path, agentDirectory);
  return {
    mirror: accessible(providerMirror),
    ca: ca === undefined ? undefined : writeCertificates(agentDirectory, ca),
    knownHosts: accessible(knownHosts),
  };
}

/** Throws SettingError. */
async function checkFetching(settings: AgentSettings, say: (line: string) => void): Promise<boolean> {
  checkEngineMirror(settings);
  for (const product of products) await readSigningKeys(product, settings.engineKeys);
  const reason = new EngineCache(settings).whyNotFetching();
  const mirror = settings.engineMirror ?? "the publishers' addresses";
  say(
    reason === undefined
      ? logLine("missing engines are fetched", { mirror })
      : logLine("missing engines are not fetched", { reason }),
  );
  return reason === undefined;
}

async function enginesLine(directory: string, fetches: boolean): Promise<string> {
  const engines = await findEngines(directory);
  return countEngines(engines) === 0 && !fetches
    ? logLine("no engines found", { directory, expected: "terraform/VERSION/terraform or tofu/VERSION/tofu" })
    : logLine("engines found", { terraform: engines.terraform.join(","), tofu: engines.tofu.join(",") });
}

export class Agent {
  readonly #settings: AgentSettings;
  readonly #say: (line: string) => void;
  readonly #server: ServerConnection;
  readonly #client: AgentClient;
  readonly #resources: AgentResources;
  readonly #singleJob: SingleJob | undefined;
  #endsAt = Infinity;
  #lastFailure = "";
  readonly #draining = new AbortController();
  readonly #running = new Set<JobSupervisor>();
  readonly #availability: EngineAvailability;
  #id = "";
  #registering: Promise<void> | undefined;
  #fault: Error | undefined;
  #wasReached = true;
  #pinging: Promise<void> = Promise.resolve();

  private constructor(
    settings: AgentSettings,
    say: (line: string) => void,
    resources: AgentResources,
    singleJob: SingleJob | undefined,
  ) {
    this.#settings = settings;
    this.#say = say;
    this.#server = new ServerConnection(settings.agentServer);
    this.#client = new AgentClient(this.#server, settings.agentToken);
    this.#resources = resources;
    this.#availability = new EngineAvailability({
      source: settings,
      signal: this.#draining.signal,
      onChange: () => void this.#ping(this.#status),
    });
    this.#singleJob = singleJob;
  }

  /** Throws SettingError for every problem that is detectable before the first job. */
  static async open(configured: AgentSettings, say: (line: string) => void, singleJob?: SingleJob): Promise<Agent> {
    const directory = await claimDirectory(configured.agentDirectory);
    let uids = noUids;
    try {
      if (configured.ca !== undefined) trustCertificates(configured.ca);
      if (isRoot() && configured.sandbox !== "none")
        uids = await claimUids(configured.sandboxUid, configured.agentSlots);
      const { path } = directory;
      const lostStatesDirectory = join(path, "lost");
      const settings = { ...configured, agentDirectory: uids.list.length === 0 ? path : directoryForJobs(path) };
      const mounts = mountsOf(settings, uids.list.length > 0);
      // A killed agent can leave processes running.
      for (const uid of uids.list) killAllProcesses({ uid, mark: "" });
      await cleanDirectory(settings.agentDirectory, lostStatesDirectory, say);
      const sandbox = await chooseSandbox(settings, mounts, uids.list);
      say(logLine("sandbox selected", { sandbox: sandbox.kind, detail: sandbox.description }));
      const { jobMemoryMegabytes, jobProcesses: processes } = settings;
      const cgroups = openCgroups({ memoryBytes: jobMemoryMegabytes * 2 ** 20, processes });
      say(logLine("job limits", { detail: cgroups.description }));
      const fetchesEngines = await checkFetching(settings, say);
      say(await enginesLine(settings.engines, fetchesEngines));
      const resources = { directory, sandbox, cgroups, mounts, uids, lostStatesDirectory, fetchesEngines };
      return new Agent(settings, say, resources, singleJob);
    } catch (error) {
      uids.release();
      directory.release();
      throw error;
    }
  }

  /** Throws SettingError if the server rejects the agent, or can't be reached while the agent waits for a single job. */
  async run(): Promise<void> {
    const waiting = this.#limitWait();
    await this.#register();
    const pings = setInterval(() => void this.#ping(this.#status), pingMs);
    const slots = this.#singleJob === undefined ? this.#settings.agentSlots : 1;
    try {
      await Promise.all(Array.from({ length: slots }, (_, slot) => this.#runSlot(slot)));
    } finally {
      clearInterval(pings);
      clearTimeout(waiting);
      this.#resources.uids.release();
      this.#resources.directory.release();
      if (this.#id !== "") await this.#signOff();
    }
    if (this.#fault !== undefined) throw this.#fault;
  }

  #limitWait(): NodeJS.Timeout | undefined {
    if (this.#singleJob === undefined) return undefined;
    const secondsMax = Math.max(this.#singleJob.waitMs, reachMsMin) / 1000;
    this.#endsAt = performance.now() + this.#singleJob.waitMs;
    return setTimeout(() => {
      if (this.#id !== "") return;
      this.#fault = new SettingError(
        `The server ${this.#server.url} could not be reached for ${secondsMax} seconds: ${this.#lastFailure} Check CADASTRE_AGENT_SERVER and the network, or wait longer with --wait.`,
      );
      this.drain();
    }, secondsMax * 1000);
  }

  /**
   * An agent of a single job deletes itself: its pool would list one for each run. If it could not fetch an engine, it stays with its last
   * report, from which the server knows when it is worth starting another one.
   */
  async #signOff(): Promise<void> {
    const hasLeft = () => this.#pinging.then(() => this.#client.leave(this.#id, lastPingMs)).then(() => true);
    if (this.#singleJob === undefined) this.#availability.forget();
    else if (this.#availability.list.length === 0 && (await hasLeft().catch(() => false))) return;
    await this.#ping(this.#fault === undefined ? "exited" : "errored", lastPingMs);
  }

  /** Claims no more jobs; `run` returns when the running ones are done. */
  drain(): void {
    this.#draining.abort();
  }

  /** Waits a short time for the uploads of states. */
  async stopNow(): Promise<void> {
    this.drain();
    for (const job of this.#running) job.stopNow();
    await pause(stateUploadMs, undefined, { ref: false });
  }

  get jobCount(): number {
    return this.#running.size;
  }

  get #status(): AgentStatus {
    return this.#running.size > 0 ? "busy" : "idle";
  }

  async #runSlot(slot: number): Promise<void> {
    const { signal } = this.#draining;
    const cgroup = this.#resources.cgroups.slot?.(slot);
    for (let isFirst = true; !signal.aborted && (isFirst || performance.now() < this.#endsAt); isFirst = false) {
      try {
        const report = await this.#engineReport();
        const wait = Math.min(this.#claimSeconds, report.unavailable?.length ? claimSecondsDuringOutage : Infinity);
        const body = await this.#client.claim(this.#id, wait, report, signal);
        this.#noteReached();
        if (body === undefined) continue;
        if (this.#singleJob !== undefined) this.#endsAt = 0;
        const job = this.#supervisor(slot, cgroup?.path);
        this.#running.add(job);
        void this.#ping("busy");
        await job.run(body).finally(() => this.#running.delete(job));
        void this.#ping(this.#status);
      } catch (error) {
        if (!signal.aborted) await this.#recoverFrom(error);
      }
    }
  }

  get #claimSeconds(): number {
    const left = (this.#endsAt - performance.now()) / 1000;
    return Math.min(claimSeconds, Math.max(0, left));
  }

  #supervisor(slot: number, cgroup: string | undefined): JobSupervisor {
    const { sandbox, mounts, uids, lostStatesDirectory } = this.#resources;
    const setup = {
      slot,
      settings: this.#settings,
      sandbox: sandbox.kind,
      uids: uids.list,
      cgroup,
      mounts,
      lostStatesDirectory,
    };
    const onUnavailable = (engine: UnavailableEngine) => this.#availability.note(engine);
    return new JobSupervisor({ setup, client: this.#client, say: this.#say, onUnavailable });
  }

  async #engineReport(): Promise<EngineReport> {
    const engines = await findEngines(this.#settings.engines);
    return { engines, unavailable: this.#resources.fetchesEngines ? this.#availability.list : undefined };
  }

  async #recoverFrom(failure: unknown): Promise<void> {
    if (
      failure instanceof ServerRejection &&
      (failure.status === 404 || failure.status === 409 || failure.status === 410)
    ) {
      await pause(1000 + Math.random() * 1000);
      await this.#register().catch(() => undefined);
      return;
    }
    if (failure instanceof ServerRejection && (failure.status === 401 || failure.status === 403))
      return this.#failWith(failure);
    this.#lastFailure = (failure as Error).message;
    if (this.#wasReached) this.#say(logLine("server unreachable, retrying", { error: (failure as Error).message }));
    this.#wasReached = false;
    await pause(1000 + Math.random() * 3000, undefined, { signal: this.#draining.signal }).catch(() => undefined);
  }

  #noteReached(): void {
    if (!this.#wasReached) this.#say(logLine("server reachable again", { server: this.#server.url }));
    this.#wasReached = true;
  }

  #failWith(error: Error): void {
    this.#fault = new SettingError(
      `The server rejected this agent: ${error.message} Check CADASTRE_AGENT_TOKEN: it must be a token of an agent pool.`,
    );
    this.drain();
  }

  /** Only one registration runs, although several slots can request it. */
  #register(): Promise<void> {
    this.#registering ??= this.#registerUntilAccepted().finally(() => (this.#registering = undefined));
    return this.#registering;
  }

  async #registerUntilAccepted(): Promise<void> {
    const { agentName, engines: enginesDirectory } = this.#settings;
    const { signal } = this.#draining;
    while (!signal.aborted) {
      try {
        const engines: Engines = await findEngines(enginesDirectory);
        const { sandbox, fetchesEngines } = this.#resources;
        const registration = {
          name: agentName,
          version,
          engines,
          sandbox: sandbox.kind,
          "fetches-engines": fetchesEngines,
        };
        this.#id = await this.#client.register(registration, signal);
        this.#noteReached();
        this.#say(logLine("agent registered", { server: this.#server.url, name: agentName, agent: this.#id }));
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ServerRejection && error.status < 500 && error.status !== 429) {
          this.#failWith(error);
          return;
        }
        await this.#recoverFrom(error);
      }
    }
  }

  /** Sequential, so that the last status arrives last. */
  #ping(status: AgentStatus, timeoutMs?: number): Promise<void> {
    this.#pinging = this.#pingAfter(this.#pinging, status, timeoutMs);
    return this.#pinging;
  }

  async #pingAfter(earlier: Promise<void>, status: AgentStatus, timeoutMs: number | undefined): Promise<void> {
    await earlier;
    try {
      await this.#client.ping(this.#id, status, await this.#engineReport(), timeoutMs);
    } catch {
      // The next ping reports the status.
    }
  }
}
