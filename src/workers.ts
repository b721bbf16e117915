/** Runs the server's own workers: agents with a token that only their environment has. One that can't start fails the server's start. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { agentReady } from "./agent/agent.ts";
import { checkEngineMirror, fetchingOff } from "./agent/fetching/settings.ts";
import { countEngines, findEngines } from "./agent/engines.ts";
import { agentSettingTable } from "./agent/settings.ts";
import type { Database } from "./database/database.ts";
import { withSetupLock } from "./database/migrate.ts";
import { siblingProgramUrl } from "./kernel/programs.ts";
import { SettingError } from "./kernel/settings.ts";
import { issueAgentToken, revokeAgentTokensNamed } from "./resources/connections/agent-tokens/writes.ts";
import { insertSiteOperations } from "./resources/runs/agents/writes.ts";
import { findOrCreateSitePool } from "./resources/connections/site-agent-pools/writes.ts";
import { operatorContext } from "./service.ts";
import { type Settings, settingTable } from "./settings.ts";

const poolName = "server-workers";
const command = fileURLToPath(siblingProgramUrl(import.meta.url, "cli/cadastre.ts"));
const agentVariables = new Set<string>(Object.values(agentSettingTable).map(({ variable }) => variable));
const outputLengthMax = 4096;
const restartMs = { first: 1_000, longest: 30_000 };

export interface WorkersOptions {
  readonly database: Database;
  readonly settings: Settings;
  readonly url: string;
  readonly logger: Logger;
}

/** Without an engine, every run would wait. Throws SettingError. */
export async function requireEngine(settings: Settings): Promise<void> {
  const { workers, engines, engineMirror } = settings;
  if (workers === 0) return;
  checkEngineMirror(settings);
  if (engineMirror !== fetchingOff || countEngines(await findEngines(engines)) > 0) return;
  throw new SettingError(
    `CADASTRE_WORKERS is ${workers}, but there is no engine in ${engines}, and CADASTRE_ENGINE_MIRROR is off. Put one at ${engines}/terraform/VERSION/terraform or ${engines}/tofu/VERSION/tofu, set another directory with CADASTRE_ENGINES, or set CADASTRE_WORKERS to 0.`,
  );
}

export class Workers {
  readonly #options: WorkersOptions;
  readonly #description: string;
  #child: ChildProcess | undefined;
  #token = "";
  #isReady = false;
  #isStopping = false;
  #restart: NodeJS.Timeout | undefined;
  #waitMs = restartMs.first;

  private constructor(options: WorkersOptions) {
    this.#options = options;
    const { host, port } = options.settings.listen;
    this.#description = `Workers of ${hostname()} at ${host}:${port}`;
  }

  static async start(options: WorkersOptions): Promise<Workers> {
    const workers = new Workers(options);
    await workers.#issueToken();
    try {
      await workers.#waitUntilReady(workers.#spawn());
      return workers;
    } catch (error) {
      await workers.stop(0);
      throw error;
    }
  }

  /** Throws SettingError with the child's output. */
  async #waitUntilReady(child: ChildProcess): Promise<void> {
    let output = "";
    child.stderr?.on("data", (chunk: Buffer) => (output = (output + String(chunk)).slice(-outputLengthMax)));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.on("message", (message) => message === agentReady && resolve());
    child.once("error", reject);
    child.once("close", () => {
      const { workers } = this.#options.settings;
      reject(new SettingError(`CADASTRE_WORKERS is ${workers}, but the workers can't start: ${output.trim()}`));
    });
    await promise;
    this.#isReady = true;
  }

  /** Revokes the token that a killed process of this server left behind. */
  async #issueToken(): Promise<void> {
    const { database } = this.#options;
    const context = this.#context();
    // Several servers may start concurrently.
    this.#token = await withSetupLock(database, async (tx) => {
      const pool = await findOrCreateSitePool(tx, context, poolName);
      // Immediately, not at the first registration: until then a CLI would execute runs locally.
      await insertSiteOperations(tx, pool);
      await revokeAgentTokensNamed(tx, context, pool, this.#description);
      return (await issueAgentToken(tx, context, pool, this.#description)).secret;
    });
  }

  #context() {
    return operatorContext(this.#options.database, this.#options.settings, `workers-${randomUUID()}`);
  }

  #spawn(): ChildProcess {
    const { logger } = this.#options;
    const child = spawn(process.execPath, [...process.execArgv, command, "agent"], {
      // Ctrl+C must reach only the server, which stops the child.
      detached: true,
      // The child exits when the IPC channel closes, so that a killed server leaves no engines behind.
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: this.#environment(),
    });
    this.#child = child;
    const forward = (source: Readable, level: "info" | "warn") =>
      createInterface({ input: source }).on("line", (line) => logger[level]({ worker: child.pid }, line));
    if (child.stdout !== null) forward(child.stdout, "info");
    if (child.stderr !== null) forward(child.stderr, "warn");
    const startedAt = performance.now();
    child.once("error", (error) => logger.error({ err: error }, "workers failed to start"));
    child.once("close", (code, signal) => {
      this.#child = undefined;
      if (this.#isStopping || !this.#isReady) return;
      if (performance.now() - startedAt > restartMs.longest) this.#waitMs = restartMs.first;
      logger.error({ code, signal, restartInSeconds: this.#waitMs / 1000 }, "workers exited");
      this.#restart = setTimeout(() => this.#spawn(), this.#waitMs).unref();
      this.#waitMs = Math.min(2 * this.#waitMs, restartMs.longest);
    });
    return child;
  }

  #environment(): NodeJS.ProcessEnv {
    const { settings, url } = this.#options;
    const inherited = Object.entries(process.env).filter(
      ([name]) => (!name.startsWith("CADASTRE_") || agentVariables.has(name)) && !name.startsWith("PG"),
    );
    return {
      ...Object.fromEntries(inherited),
      CADASTRE_AGENT_SERVER: url,
      CADASTRE_AGENT_TOKEN: this.#token,
      CADASTRE_AGENT_NAME: process.env["CADASTRE_AGENT_NAME"] ?? `${hostname() || "server"}-workers`,
      CADASTRE_AGENT_SLOTS: String(settings.workers),
      ...sharedVariables(settings),
      ...(settings.tlsCert !== undefined && { CADASTRE_AGENT_CA: settings.tlsCert }),
    };
  }

  async stop(graceSeconds: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child !== undefined) await terminate(child, graceSeconds * 1000);
    const { database } = this.#options;
    const context = this.#context();
    await database.write(async (tx) => {
      await revokeAgentTokensNamed(tx, context, await findOrCreateSitePool(tx, context, poolName), this.#description);
    });
  }
}

/** The server's values may come from a flag or its settings file, which the child doesn't read. */
function sharedVariables(settings: Settings): NodeJS.ProcessEnv {
  const shared = Object.entries(settingTable).filter(([, { variable }]) => agentVariables.has(variable));
  return Object.fromEntries(
    shared.map(([name, { variable }]) => [variable, settings[name as keyof Settings] as string | undefined]),
  );
}

async function terminate(child: ChildProcess, graceMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once("close", () => resolve());
  child.kill("SIGTERM");
  const secondSignal = setTimeout(() => child.kill("SIGTERM"), graceMs * 0.6);
  const kill = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await promise;
  clearTimeout(secondSignal);
  clearTimeout(kill);
}
