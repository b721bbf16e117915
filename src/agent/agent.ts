/** The agent: registers with its pool, and runs claimed jobs in one process each until it is drained. It must not open a port. */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { SettingError } from "../kernel/settings.ts";
import { version } from "../version.ts";
import { AgentClient, type AgentStatus } from "./client.ts";
import { countEngines, type Engines, findEngines } from "./engines.ts";
import {
  type ClaimedDirectory,
  cleanDirectory,
  createDirectories,
  claimDirectory,
  trustCertificates,
  writeCertificates,
} from "./agent-directory.ts";
import { JobSupervisor } from "./job-supervisor.ts";
import { logLine } from "./log-line.ts";
import { type CgroupTree, openCgroups } from "../sandbox/cgroup.ts";
import { chooseSandbox, isRoot } from "../sandbox/choose.ts";
import type { MountPaths, Sandbox } from "../sandbox/launch.ts";
import { killAllProcesses } from "../sandbox/process.ts";
import { claimUids, type ClaimedUids } from "../sandbox/uids.ts";
import { ServerRejection, ServerConnection } from "./server.ts";
import type { AgentSettings } from "./settings.ts";
import { isAccessible, createAccessibleDirectory, accessiblePath } from "./accessible-paths.ts";

export const agentReady = "agent ready";

const claimSeconds = 25;
const pingMs = 10_000;
const lastPingMs = 3000;
const stateUploadMs = 10_000;

interface AgentResources {
  readonly directory: ClaimedDirectory;
  readonly sandbox: Sandbox;
  readonly cgroups: CgroupTree;
  readonly mounts: Omit<MountPaths, "job" | "engine">;
  readonly uids: ClaimedUids;
  readonly lostStatesDirectory: string;
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

async function enginesLine(directory: string): Promise<string> {
  const engines = await findEngines(directory);
  return countEngines(engines) === 0
    ? logLine("no engines found", { directory, expected: "terraform/VERSION/terraform or tofu/VERSION/tofu" })
    : logLine("engines found", { terraform: engines.terraform.join(","), tofu: engines.tofu.join(",") });
}

export class Agent {
  readonly #settings: AgentSettings;
  readonly #say: (line: string) => void;
  readonly #server: ServerConnection;
  readonly #client: AgentClient;
  readonly #resources: AgentResources;
  readonly #draining = new AbortController();
  readonly #running = new Set<JobSupervisor>();
  #id = "";
  #registering: Promise<void> | undefined;
  #fault: Error | undefined;
  #wasReached = true;
  #pinging: Promise<void> = Promise.resolve();

  private constructor(settings: AgentSettings, say: (line: string) => void, resources: AgentResources) {
    this.#settings = settings;
    this.#say = say;
    this.#server = new ServerConnection(settings.agentServer);
    this.#client = new AgentClient(this.#server, settings.agentToken);
    this.#resources = resources;
  }

  /** Throws SettingError for every problem that is detectable before the first job. */
  static async open(configured: AgentSettings, say: (line: string) => void): Promise<Agent> {
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
      say(await enginesLine(settings.engines));
      return new Agent(settings, say, { directory, sandbox, cgroups, mounts, uids, lostStatesDirectory });
    } catch (error) {
      uids.release();
      directory.release();
      throw error;
    }
  }

  /** Throws SettingError if the server rejects the agent. */
  async run(): Promise<void> {
    await this.#register();
    const pings = setInterval(() => void this.#ping(this.#status), pingMs);
    try {
      await Promise.all(Array.from({ length: this.#settings.agentSlots }, (_, slot) => this.#runSlot(slot)));
    } finally {
      clearInterval(pings);
      this.#resources.uids.release();
      this.#resources.directory.release();
      if (this.#id !== "") await this.#ping(this.#fault === undefined ? "exited" : "errored", lastPingMs);
    }
    if (this.#fault !== undefined) throw this.#fault;
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
    while (!signal.aborted) {
      try {
        const engines = await findEngines(this.#settings.engines);
        const body = await this.#client.claim(this.#id, claimSeconds, engines, signal);
        this.#noteReached();
        if (body === undefined) continue;
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
    return new JobSupervisor({ setup, client: this.#client, say: this.#say });
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
        const registration = { name: agentName, version, engines, sandbox: this.#resources.sandbox.kind };
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
      await this.#client.ping(this.#id, status, await findEngines(this.#settings.engines), timeoutMs);
    } catch {
      // The next ping reports the status.
    }
  }
}
