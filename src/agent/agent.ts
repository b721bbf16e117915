/**
 * The agent: registers with its pool, waits for jobs in each of its slots, has each executed by a process of its own, and ends when it is
 * told to, with its jobs done. It opens no port: all that it does begins with a question to the server.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { SettingError } from "../kernel/settings.ts";
import { version } from "../version.ts";
import { AgentClient, type AgentStatus } from "./client.ts";
import { countEngines, type Engines, findEngines, tellEngines } from "./engines.ts";
import { type AgentHome, clearHome, makeRooms, openHome, trustCertificates, writeCertificates } from "./home.ts";
import { JobSupervisor } from "./job-supervisor.ts";
import { type CgroupTree, openCgroups } from "../sandbox/cgroup.ts";
import { chooseSandbox, isRoot } from "../sandbox/choose.ts";
import type { Mounts, Sandbox } from "../sandbox/launch.ts";
import { killEverythingOf } from "../sandbox/process.ts";
import { claimUids, type Uids } from "../sandbox/uids.ts";
import { Refused, Server } from "./server.ts";
import type { AgentSettings } from "./settings.ts";
import { isOpen, openShelter, reachable } from "./shelter.ts";

/** The message by which the program says that it could be opened. */
export const agentOpened = "the agent is open";

const claimSeconds = 25;
const pingMs = 10_000;
const farewellMs = 3000;
/** How long the rest of a job that was killed may take: its state is worth a moment. */
const lastWordsMs = 10_000;

/** What is there once it is open. */
interface Opened {
  readonly home: AgentHome;
  readonly sandbox: Sandbox;
  readonly cgroups: CgroupTree;
  readonly mounts: Omit<Mounts, "job" | "engine">;
  readonly uids: Uids;
  readonly lost: string;
}

const noUids: Uids = { list: [], release: () => undefined };

/** Where jobs can be whose users are others: the agent's directory, or a shelter. Raises SettingError. */
function openTo(home: string): string {
  if (isOpen(join(home, "jobs"))) return home;
  const shelter = openShelter(home);
  makeRooms(shelter);
  return shelter;
}

function mountsOf({ agentDirectory, providerMirror, ca, knownHosts }: AgentSettings, areOthers: boolean) {
  const reached = (path: string | undefined) =>
    path === undefined || !areOthers || path.startsWith("https://") ? path : reachable(path, agentDirectory);
  return {
    mirror: reached(providerMirror),
    ca: ca === undefined ? undefined : writeCertificates(agentDirectory, ca),
    knownHosts: reached(knownHosts),
  };
}

async function enginesSentence(folder: string): Promise<string> {
  const engines = await findEngines(folder);
  return countEngines(engines) === 0
    ? `There are no engines in ${folder} yet: put them there as terraform/VERSION/terraform or tofu/VERSION/tofu.`
    : `Engines: ${tellEngines(engines)}.`;
}

export class Agent {
  readonly #settings: AgentSettings;
  readonly #say: (line: string) => void;
  readonly #server: Server;
  readonly #client: AgentClient;
  readonly #opened: Opened;
  readonly #draining = new AbortController();
  readonly #running = new Set<JobSupervisor>();
  #id = "";
  #registering: Promise<void> | undefined;
  #fault: Error | undefined;
  #wasReached = true;
  #pinging: Promise<void> = Promise.resolve();

  private constructor(settings: AgentSettings, say: (line: string) => void, opened: Opened) {
    this.#settings = settings;
    this.#say = say;
    this.#server = new Server(settings.agentServer);
    this.#client = new AgentClient(this.#server, settings.agentToken);
    this.#opened = opened;
  }

  /** Everything that can be known to go wrong is found here. Raises SettingError. */
  static async open(given: AgentSettings, say: (line: string) => void): Promise<Agent> {
    const home = await openHome(given.agentDirectory);
    let uids = noUids;
    try {
      if (given.ca !== undefined) trustCertificates(given.ca);
      if (isRoot() && given.sandbox !== "none") uids = await claimUids(given.sandboxUid, given.agentSlots);
      const { path } = home;
      const lost = join(path, "lost");
      const settings = { ...given, agentDirectory: uids.list.length === 0 ? path : openTo(path) };
      const mounts = mountsOf(settings, uids.list.length > 0);
      // What an agent left running that was killed.
      for (const uid of uids.list) killEverythingOf({ uid, mark: "" });
      await clearHome(settings.agentDirectory, lost, say);
      const sandbox = await chooseSandbox(settings, mounts, uids.list);
      say(sandbox.sentence);
      const { jobMemoryMegabytes, jobProcesses: processes } = settings;
      const cgroups = openCgroups({ memoryBytes: jobMemoryMegabytes * 2 ** 20, processes });
      say(cgroups.sentence);
      say(await enginesSentence(settings.engines));
      return new Agent(settings, say, { home, sandbox, cgroups, mounts, uids, lost });
    } catch (error) {
      uids.release();
      home.release();
      throw error;
    }
  }

  /** Works until it is drained. Raises SettingError when the server does not take it. */
  async run(): Promise<void> {
    await this.#register();
    const pings = setInterval(() => void this.#ping(this.#status), pingMs);
    try {
      await Promise.all(Array.from({ length: this.#settings.agentSlots }, (_, slot) => this.#serve(slot)));
    } finally {
      clearInterval(pings);
      this.#opened.uids.release();
      this.#opened.home.release();
      if (this.#id !== "") await this.#ping(this.#fault === undefined ? "exited" : "errored", farewellMs);
    }
    if (this.#fault !== undefined) throw this.#fault;
  }

  /** Takes no more jobs; `run` ends when those that it has are done. */
  drain(): void {
    this.#draining.abort();
  }

  /** Kills what runs; `run` ends when it was told, or after a moment. */
  async stopAtOnce(): Promise<void> {
    this.drain();
    for (const job of this.#running) job.stopAtOnce();
    await pause(lastWordsMs, undefined, { ref: false });
  }

  get jobCount(): number {
    return this.#running.size;
  }

  get #status(): AgentStatus {
    return this.#running.size > 0 ? "busy" : "idle";
  }

  async #serve(slot: number): Promise<void> {
    const { signal } = this.#draining;
    const cgroup = this.#opened.cgroups.slot?.(slot);
    while (!signal.aborted) {
      try {
        const engines = await findEngines(this.#settings.engines);
        const body = await this.#client.claim(this.#id, claimSeconds, engines, signal);
        this.#reached();
        if (body === undefined) continue;
        const job = this.#supervisor(slot, cgroup?.path);
        this.#running.add(job);
        void this.#ping("busy");
        await job.run(body).finally(() => this.#running.delete(job));
        void this.#ping(this.#status);
      } catch (error) {
        if (!signal.aborted) await this.#recover(error);
      }
    }
  }

  #supervisor(slot: number, cgroup: string | undefined): JobSupervisor {
    const { sandbox, mounts, uids, lost } = this.#opened;
    const setup = { slot, settings: this.#settings, sandbox: sandbox.kind, uids: uids.list, cgroup, mounts, lost };
    return new JobSupervisor({ setup, client: this.#client, say: this.#say });
  }

  /** Forgotten by the server: known again. Refused: the end. Not reached: again in a moment. */
  async #recover(problem: unknown): Promise<void> {
    if (problem instanceof Refused && (problem.status === 404 || problem.status === 409 || problem.status === 410)) {
      await pause(1000 + Math.random() * 1000);
      await this.#register().catch(() => undefined);
      return;
    }
    if (problem instanceof Refused && (problem.status === 401 || problem.status === 403)) return this.#end(problem);
    if (this.#wasReached) this.#say(`${(problem as Error).message} It is tried again.`);
    this.#wasReached = false;
    await pause(1000 + Math.random() * 3000, undefined, { signal: this.#draining.signal }).catch(() => undefined);
  }

  #reached(): void {
    if (!this.#wasReached) this.#say(`${this.#server.url} is there again.`);
    this.#wasReached = true;
  }

  #end(error: Error): void {
    this.#fault = new SettingError(
      `The server does not take this agent (${error.message}) Check CADASTRE_AGENT_TOKEN: it must be a token of an agent pool.`,
    );
    this.drain();
  }

  /** One at a time, however many slots find that it is needed. */
  #register(): Promise<void> {
    this.#registering ??= this.#introduce().finally(() => (this.#registering = undefined));
    return this.#registering;
  }

  async #introduce(): Promise<void> {
    const { agentName, engines: folder } = this.#settings;
    const { signal } = this.#draining;
    while (!signal.aborted) {
      try {
        const engines: Engines = await findEngines(folder);
        const introduction = { name: agentName, version, engines, sandbox: this.#opened.sandbox.kind };
        this.#id = await this.#client.register(introduction, signal);
        this.#reached();
        this.#say(`Registered at ${this.#server.url} as ${agentName} (${this.#id}); waiting for jobs.`);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refused && error.status < 500 && error.status !== 429) {
          this.#end(error);
          return;
        }
        await this.#recover(error);
      }
    }
  }

  /** One after another: what was said last must arrive last. */
  #ping(status: AgentStatus, timeoutMs?: number): Promise<void> {
    this.#pinging = this.#pingAfter(this.#pinging, status, timeoutMs);
    return this.#pinging;
  }

  async #pingAfter(earlier: Promise<void>, status: AgentStatus, timeoutMs: number | undefined): Promise<void> {
    await earlier;
    try {
      await this.#client.ping(this.#id, status, await findEngines(this.#settings.engines), timeoutMs);
    } catch {
      // The next one tells.
    }
  }
}
