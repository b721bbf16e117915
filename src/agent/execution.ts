/** Prepares a phase (configuration, variables, state, `init`) and runs the engine's commands in the sandbox. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { unpack } from "../archive/unpack.ts";
import { initArguments } from "./engines.ts";
import type { FetchedRelease } from "./fetching/release.ts";
import { type EngineName, engineText, titleOf } from "./products.ts";
import { cliConfiguration, environmentOf, sshCommand, variableFile } from "./variables.ts";
import type { JobClient } from "./client.ts";
import type { JobDirectory } from "./job-directory.ts";
import { readInside, writeInside } from "./files.ts";
import type { JobDocument } from "./job.ts";
import type { RunLog } from "./log.ts";
import { EngineOutputReader } from "./output.ts";
import { ConfigurationFault, writeOverride } from "./overrides.ts";
import type { Cgroup } from "../sandbox/cgroup.ts";
import type { Sandbox } from "../sandbox/launch.ts";
import { type ProcessExit, SandboxedProcess, runMark } from "../sandbox/process.ts";
import type { Stopper } from "./stopper.ts";

/** The message is shown with the run. */
export class EngineFault extends Error {
  override readonly name = "EngineFault";
  /** Whether the engine has already written the message to the log. */
  readonly isLogged: boolean;

  constructor(message: string, isLogged = false) {
    super(message);
    this.isLogged = isLogged;
  }
}

export function faultOf({ error }: EngineOutputReader, { code, signal }: ProcessExit): EngineFault {
  return error === undefined
    ? new EngineFault(`The engine exited with ${code === null ? `signal ${signal}` : `code ${code}`}.`)
    : new EngineFault(error, true);
}

export interface ExecutionOptions {
  readonly job: JobDocument;
  readonly engine: EngineName;
  /** What was fetched for this job. */
  readonly fetched: FetchedRelease | undefined;
  readonly client: JobClient;
  readonly log: RunLog;
  readonly directory: JobDirectory;
  readonly sandbox: Sandbox;
  readonly cgroup: Cgroup | undefined;
  readonly stopper: Stopper;
  readonly serverUrl: string;
  readonly providerDirect: boolean;
}

type OutputSink = (chunk: Uint8Array) => Promise<void> | void;

export interface EngineExit extends ProcessExit {
  readonly errors: string;
}

const errorBytesMax = 16 * 1024;
/** The output of `init` is shown only if it fails or takes longer. */
const initQuietMs = 5000;
const initBufferBytesMax = 1024 ** 2;
const lockFileBytesMax = 16 * 1024 ** 2;

/** CLIs skip exactly these three lines. */
export async function sayHeader(log: RunLog, { product, version }: EngineName): Promise<void> {
  const { arch } = process;
  await log.say(`${titleOf(product)} v${version}`);
  await log.say(`on linux_${arch === "x64" ? "amd64" : arch}`);
  await log.say("Initializing plugins and modules...");
}

export class Execution {
  readonly options: ExecutionOptions;
  #variables: string[] = [];
  #environment: Record<string, string> = {};

  constructor(options: ExecutionOptions) {
    this.options = options;
  }

  get variables(): readonly string[] {
    return this.#variables;
  }

  get lockFile(): string {
    return join(this.options.directory.workingDirectory, ".terraform.lock.hcl");
  }

  /** Throws ConfigurationFault, EngineFault, ArchiveFault, Stopped. */
  async prepare(): Promise<void> {
    const { job, engine, fetched, client, log, directory, stopper } = this.options;
    await sayHeader(log, engine);
    if (fetched !== undefined)
      await log.say(`Fetched ${engineText(engine)} from ${fetched.archive}, signed with the key ${fetched.key}.`);
    const archive = directory.spoolFile("configuration");
    await client.download(job.configurationUrl, archive);
    await unpack(createReadStream(archive), directory.configuration);
    await rm(archive);
    stopper.check();
    await directory.enterWorkingDirectory(job.workingDirectory);
    await writeOverride(directory.workingDirectory);
    await this.#writePrivate();
    if (job.phase === "apply") await this.#restorePlan();
    await directory.chownToJobUser();
    await this.#init();
  }

  /** Returns the MD5 of the state. */
  async fetchState(): Promise<string | undefined> {
    const { job, client, directory } = this.options;
    if (job.stateUrl === null) return undefined;
    const spooled = directory.spoolFile("state");
    await client.download(job.stateUrl, spooled);
    const hash = createHash("md5");
    for await (const chunk of createReadStream(spooled)) hash.update(chunk as Uint8Array);
    await this.#moveIn(spooled, directory.stateFile, directory.uid);
    return hash.digest("hex");
  }

  async runLogged(words: readonly string[]): Promise<ProcessExit & { readonly output: EngineOutputReader }> {
    const output = new EngineOutputReader();
    const ended = await this.run(words, true, async (chunk) => {
      output.write(chunk);
      await this.options.log.write(chunk);
    });
    output.end();
    return { ...ended, output };
  }

  /** Throws Stopped, and what the sink throws. */
  async run(words: readonly string[], merged: boolean, sink: OutputSink): Promise<EngineExit> {
    const { directory, sandbox, cgroup, stopper, job } = this.options;
    stopper.check();
    const { inside, mounts, uid } = directory;
    const environment = this.#environment;
    const command = {
      program: inside.engine,
      words,
      environment,
      directory: directory.sandboxPathOf(directory.workingDirectory),
    };
    const process = new SandboxedProcess(sandbox.launch(command, mounts), {
      merged,
      uid,
      cgroup,
      mark: runMark(job.runId),
    });
    const outOfMemoryBefore = cgroup?.outOfMemory() ?? 0;
    return stopper.during(process, async () => {
      try {
        const errors = tail(process.stderr);
        for await (const chunk of process.stdout) await sink(chunk as Uint8Array);
        const ended = await process.ended;
        if (ended.code !== 0 && (cgroup?.outOfMemory() ?? 0) > outOfMemoryBefore)
          throw new EngineFault(
            "The engine, or a process that it started, was killed because the job ran out of memory.",
          );
        return { ...ended, errors: await errors };
      } catch (error) {
        process.kill();
        process.stdout.resume();
        await process.ended.catch(() => undefined);
        throw error;
      }
    });
  }

  async #writePrivate(): Promise<void> {
    const { job, log, directory, serverUrl, providerDirect } = this.options;
    const { inside } = directory;
    const names = { sshKey: "ssh-key", gitConfiguration: "gitconfig", cliConfiguration: "cli.tfrc" };
    const privatePath = (name: string) => directory.sandboxPathOf(join(directory.root, "private", name));
    const paths = {
      home: directory.sandboxPathOf(join(directory.root, "home")),
      tmp: inside.job === directory.root ? directory.sandboxPathOf(join(directory.root, "tmp")) : "/tmp",
      sshKey: privatePath(names.sshKey),
      gitConfiguration: privatePath(names.gitConfiguration),
      cliConfiguration: privatePath(names.cliConfiguration),
      knownHosts: {
        file: inside.knownHosts ?? privatePath("known_hosts"),
        isComplete: inside.knownHosts !== undefined,
      },
      ca: inside.ca,
    };
    const { variables, refused } = environmentOf(job, paths);
    this.#environment = variables;
    if (refused.length > 0)
      await log.say(`Ignored environment variables, which the agent sets or reserves: ${refused.join(", ")}.`);
    await directory.writePrivate(
      names.cliConfiguration,
      cliConfiguration({
        publicUrl: job.server,
        agentUrl: serverUrl,
        token: job.token,
        mirror: inside.mirror,
        direct: providerDirect,
      }),
    );
    if (job.sshKey !== null) {
      await directory.writePrivate(names.sshKey, `${job.sshKey.trimEnd()}\n`);
      await directory.writePrivate(names.gitConfiguration, `[core]\n\tsshCommand = ${sshCommand(paths)}\n`);
    }
    const file = variableFile(job.variables);
    if (file !== undefined) this.#variables.push(await directory.writePrivate("variables.tfvars.json", file));
  }

  async #restorePlan(): Promise<void> {
    const { client, directory } = this.options;
    const [plan, lockFile] = [directory.spoolFile("plan"), directory.spoolFile("lock-file")];
    if (!(await client.getContent("plan", plan)))
      throw new EngineFault("The plan of this run no longer exists, so it can't be applied. Start a new run.");
    await this.#moveIn(plan, planFile(directory));
    if (await client.getContent("lock-file", lockFile)) await this.#moveIn(lockFile, this.lockFile);
  }

  async #moveIn(spooled: string, path: string, uid?: number): Promise<void> {
    await writeInside(this.options.directory.root, path, createReadStream(spooled), uid);
    await rm(spooled);
  }

  async #init(): Promise<void> {
    const { job, engine, log } = this.options;
    const buffered: Uint8Array[] = [];
    let bufferedBytes = 0;
    let isShown = job.debuggingMode;
    const startedAt = performance.now();
    const show = async () => {
      isShown = true;
      for (const chunk of buffered.splice(0)) await log.write(chunk);
    };
    const output = new EngineOutputReader();
    const ended = await this.run(initArguments(job, engine, this.#variables), true, async (chunk) => {
      output.write(chunk);
      if (isShown) return log.write(chunk);
      buffered.push(chunk);
      bufferedBytes += chunk.length;
      if (bufferedBytes > initBufferBytesMax || performance.now() - startedAt > initQuietMs) await show();
    });
    output.end();
    if (ended.code !== 0) {
      await show();
      this.options.stopper.check();
      throw faultOf(output, ended);
    }
    await this.#checkBackend();
  }

  /** The configuration must not choose the backend. Throws ConfigurationFault. */
  async #checkBackend(): Promise<void> {
    const { directory } = this.options;
    const path = join(directory.workingDirectory, ".terraform", "terraform.tfstate");
    const bytes = await readInside(directory.root, path, lockFileBytesMax);
    let type: string | undefined;
    try {
      type = (JSON.parse(String(bytes)) as { backend?: { type?: string } }).backend?.type;
    } catch {
      type = undefined;
    }
    if (type !== "local")
      throw new ConfigurationFault(
        "The configuration's own cloud or backend block overrides the one that runs use. Remove it from the override files.",
      );
  }
}

export const planFile = (directory: JobDirectory): string => join(directory.root, "output", "plan.tfplan");
export const generatedFile = (directory: JobDirectory): string => join(directory.root, "output", "generated.tf");

async function tail(stream: AsyncIterable<Buffer>): Promise<string> {
  let kept: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) kept = Buffer.concat([kept, chunk]).subarray(-errorBytesMax);
  return kept.toString("utf8");
}
