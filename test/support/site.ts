/** A service and its workers or agent as real processes, which can be killed. It must not depend on the test runner. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { archive } from "./archives.ts";
import { type Caller, callerOn, type Json } from "./api.ts";
import { data, resource } from "./builders.ts";
import { createConfiguration } from "./configurations.ts";
import { launcher } from "./launcher.ts";
import { runBody } from "./runs.ts";
import { Scheduler } from "./scheduler.ts";
import { put } from "./states.ts";
import { until } from "./waiting.ts";

const adminToken = "the-admin-of-a-site-of-tests";
export const organization = "acme";

export interface SiteOptions {
  readonly register: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly engines: string;
  readonly slots: number;
  /** `scheduler`: at most `slots` agents at a time, each for a single job. */
  readonly executes: "workers" | "agent" | "scheduler";
  readonly environment?: Readonly<Record<string, string>>;
}

export class Site {
  readonly url: string;
  readonly admin: Caller;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #output: string[] = [];
  #server: ChildProcess | undefined;
  #agent: ChildProcess | undefined;
  #scheduler: Scheduler | undefined;
  readonly #options: SiteOptions;
  #agentToken = "";
  pool = "";

  private constructor(options: SiteOptions, port: number) {
    this.#options = options;
    this.url = `http://127.0.0.1:${port}`;
    this.admin = callerOn(this.url, adminToken);
    const { slots, executes, engines, folder } = options;
    this.#environment = {
      PATH: process.env["PATH"] ?? "",
      CADASTRE_ENGINES: engines,
      CADASTRE_ENGINE_MIRROR: "off",
      CADASTRE_SANDBOX: "none",
      CADASTRE_AGENT_DIRECTORY: join(folder, "agent"),
      CADASTRE_AGENT_SERVER: this.url,
      CADASTRE_AGENT_SLOTS: String(slots),
      CADASTRE_ADMIN_TOKEN: adminToken,
      CADASTRE_LISTEN: `127.0.0.1:${port}`,
      CADASTRE_CONSOLE: "off",
      // Workers log at level info.
      CADASTRE_LOG_LEVEL: executes === "workers" ? "info" : "warn",
      ...options.register,
      ...options.environment,
      ...(executes === "workers" && { CADASTRE_WORKERS: String(slots) }),
    };
  }

  static async open(options: SiteOptions): Promise<Site> {
    const site = new Site(options, await freePort());
    await site.startServer();
    const { admin } = site;
    data(await admin.post("/organizations", resource("organizations", { name: organization, email: "a@example.com" })));
    if (options.executes !== "workers") {
      const pool = data(await admin.post("/admin/agent-pools", resource("agent-pools", { name: "everybody" })));
      const tokens = `/admin/agent-pools/${pool.id}/authentication-tokens`;
      const made = data(await admin.post(tokens, resource("authentication-tokens", { description: "agents" })));
      site.#agentToken = made.attributes.token;
      site.pool = pool.id;
      site.startAgent();
    }
    // A scheduler starts the first agent for the first run.
    if (options.executes !== "scheduler")
      await until(
        async () => data(await admin.get(`/organizations/${organization}/entitlement-set`)).attributes.operations,
        "runs can be executed",
      );
    return site;
  }

  get serverPid(): number {
    return this.#server?.pid ?? 0;
  }

  get agentPid(): number {
    return this.#agent?.pid ?? 0;
  }

  get output(): string {
    return this.#output.join("");
  }

  async startServer(): Promise<void> {
    const printed = this.#output.length;
    const child = this.#spawn("serve", {});
    this.#server = child;
    const lines = () => this.#output.slice(printed).join("");
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`the service ended instead of starting: ${lines()}`);
      return lines().includes("Ctrl+C");
    }, "the service starts");
  }

  startAgent(): void {
    if (this.#options.executes === "scheduler") {
      this.#scheduler = new Scheduler({
        pool: this.pool,
        caller: callerOn(this.url, this.#agentToken),
        agentsMax: this.#options.slots,
        waitSeconds: 10,
        folder: this.#options.folder,
        environment: { ...this.#environment, CADASTRE_AGENT_TOKEN: this.#agentToken },
        onOutput: (text) => this.#output.push(text),
      });
      return;
    }
    this.#agent = this.#spawn("agent", { CADASTRE_AGENT_TOKEN: this.#agentToken });
  }

  async killServer(): Promise<void> {
    await killed(this.#server);
    this.#server = undefined;
  }

  get scheduler(): Scheduler {
    if (this.#scheduler === undefined) throw new Error("no scheduler is running");
    return this.#scheduler;
  }

  async killAgent(): Promise<void> {
    await this.#scheduler?.kill();
    await killed(this.#agent);
    this.#agent = undefined;
  }

  /** Its runs are executed by the site, and applied automatically by default. */
  async workspace(name: string, attributes: object = {}, owner = organization): Promise<string> {
    const given = { name, "execution-mode": "remote", "terraform-version": "1.5.7", "auto-apply": true, ...attributes };
    const path = `/organizations/${owner}/workspaces`;
    return data(await this.admin.post(path, resource("workspaces", given))).id;
  }

  async configuration(workspaceId: string, files: Readonly<Record<string, string>>): Promise<string> {
    const version = data(await createConfiguration(this.admin, workspaceId));
    const entries = Object.entries(files).map(([name, content]) => ({ name, content }));
    const sent = await put(version.attributes["upload-url"], archive(entries));
    if (sent.status !== 200) throw new Error(`the upload of the configuration got ${sent.status}`);
    return version.id;
  }

  async run(workspaceId: string, configurationId: string, attributes: object = {}): Promise<string> {
    return data(await this.admin.post("/runs", runBody(workspaceId, attributes, configurationId))).id;
  }

  async statusOf(runId: string): Promise<string> {
    return data(await this.admin.get(`/runs/${runId}`)).attributes.status;
  }

  async waitFor(runId: string, ...statuses: string[]): Promise<string> {
    return until(
      async () => {
        const status = await this.statusOf(runId).catch(() => "");
        return statuses.includes(status) && status;
      },
      `${runId} is ${statuses.join(" or ")}`,
    );
  }

  async statesOf(workspaceId: string): Promise<{ runId: string | undefined; state: Json }[]> {
    const path = `/workspaces/${workspaceId}/state-versions?filter[status]=finalized&page[size]=100`;
    const versions: Json[] = data(await this.admin.get(path));
    return Promise.all(
      versions.toReversed().map(async ({ id, relationships }) => ({
        runId: relationships.run?.data?.id as string | undefined,
        state: (await this.admin.get(`/state-versions/${id}/download`)).body,
      })),
    );
  }

  async isLocked(workspaceId: string): Promise<boolean> {
    return data(await this.admin.get(`/workspaces/${workspaceId}`)).attributes.locked;
  }

  async close(): Promise<void> {
    await Promise.all([this.killAgent(), this.killServer()]);
  }

  #spawn(command: string, environment: Readonly<Record<string, string>>): ChildProcess {
    const child = spawn(process.execPath, [launcher, command], {
      env: { ...this.#environment, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    child.once("close", () => process.off("exit", kill));
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => this.#output.push(String(chunk)));
    return child;
  }
}

async function killed(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

export function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number);
    return children.filter((child) => !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${child}/status`, "latin1")));
  } catch {
    return [];
  }
}

export const isRunning = (runId: string): boolean =>
  readdirSync("/proc").some((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, "latin1").includes(`TFE_RUN_ID=${runId}\0`);
    } catch {
      return false;
    }
  });
