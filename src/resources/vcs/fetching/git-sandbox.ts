/** Runs git in a sandbox, with network access only through a proxy. Never uses a shell or puts a secret into arguments. */
import { accessSync, chownSync, constants } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { randomUUID } from "node:crypto";
import { FilteringProxy } from "../../../outgoing/proxy.ts";
import { chooseSandbox, findTools, isRoot, makeSandbox } from "../../../sandbox/choose.ts";
import type { MountPaths, Sandbox, SandboxKind } from "../../../sandbox/launch.ts";
import { SandboxedProcess } from "../../../sandbox/process.ts";
import { claimUids } from "../../../sandbox/uids.ts";
import { addressFault, FetchFault, faultOf } from "./faults.ts";

export interface GitSandboxOptions {
  readonly allowed: readonly string[];
  /** SSH host keys; without them, any host key is accepted. */
  readonly knownHosts: string | undefined;
  readonly sandbox: SandboxKind | undefined;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

const timeoutMsByDefault = 5 * 60 * 1000;
/** For all HTTP traffic of a fetch, and for each file. */
const bytesMax = 512 * 1024 * 1024;
const memoryBytes = 4 * 1024 * 1024 * 1024;
const errorBytesMax = 64 * 1024;
const outputBytesMax = 16 * 1024 * 1024;
const firstUid = 57_000;
/** If the server runs as root, each slot has its own uid, by which all processes of a fetch can be killed. */
const slots = [0, 1, 2, 3, 4, 5];
const freeSlots: number[] = [...slots];
const slotWaiters: ((slot: number) => void)[] = [];

const takeSlot = (): number | Promise<number> => freeSlots.pop() ?? new Promise((resolve) => slotWaiters.push(resolve));

function releaseSlot(slot: number): void {
  const next = slotWaiters.shift();
  if (next === undefined) freeSlots.push(slot);
  else next(slot);
}

const gitPaths = ["/usr/bin/git", "/usr/local/bin/git", "/bin/git"];

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};
export const findGit = (): string | undefined => gitPaths.find(isExecutable);

let chosen: { readonly requested: SandboxKind | undefined; readonly sandbox: Promise<Sandbox> } | undefined;

/** Without any sandbox, git runs unsandboxed: it never executes code from a repository. */
function sandboxForGit(requested: SandboxKind | undefined): Promise<Sandbox> {
  if (chosen?.requested !== requested || chosen === undefined) chosen = { requested, sandbox: choose(requested) };
  return chosen.sandbox;
}

export async function describeGitSandbox(requested: SandboxKind | undefined): Promise<string> {
  if (findGit() === undefined) return "git is not installed: connected repositories can't be fetched until it is";
  const { kind } = await sandboxForGit(requested);
  if (kind === "none") return "git fetches connected repositories without a sandbox: none works on this machine";
  return `git fetches connected repositories in the sandbox ${kind}`;
}

async function choose(sandbox: SandboxKind | undefined): Promise<Sandbox> {
  const agentDirectory = await mkdtemp(join(tmpdir(), "cadastre-sandbox-"));
  await chmod(agentDirectory, 0o755);
  process.once("exit", () => void rm(agentDirectory, { recursive: true, force: true }).catch(() => undefined));
  const limits = { jobTmpMegabytes: 256, jobFileMegabytes: bytesMax / 2 ** 20, jobOpenFiles: 1024 };
  const settings = { agentDirectory, sandbox, ...limits };
  const mounts = { mirror: undefined, ca: undefined, knownHosts: undefined };
  try {
    const uids = isRoot() ? (await claimUids(firstUid, slots.length)).list : [];
    return await chooseSandbox(settings, mounts, uids);
  } catch {
    return makeSandbox("none", settings, findTools(), []) as Sandbox;
  }
}

/** Throws FetchFault. */
export async function inGitSandbox<T>(
  options: GitSandboxOptions,
  use: (gitSandbox: GitSandbox) => Promise<T>,
): Promise<T> {
  const git = findGit();
  if (git === undefined)
    throw new FetchFault("no_git", "git is not installed on the server; install it, and push again", { isFinal: true });
  const sandbox = await sandboxForGit(options.sandbox);
  const folder = await mkdtemp(join(tmpdir(), "cadastre-fetch-"));
  const proxy = await FilteringProxy.start({ allowed: options.allowed, bytesMax });
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs ?? timeoutMsByDefault)]);
  const slot = await takeSlot();
  const gitSandbox = new GitSandbox({ ...options, signal, git, sandbox, folder, proxy, slot });
  try {
    await gitSandbox.prepare();
    return await use(gitSandbox);
  } finally {
    releaseSlot(slot);
    proxy.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface GitSandboxSetup extends Omit<GitSandboxOptions, "sandbox"> {
  readonly git: string;
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly proxy: FilteringProxy;
  readonly slot: number;
}

interface GitOutput {
  readonly out: Buffer;
  readonly errors: string;
  readonly code: number | null;
}

export class GitSandbox {
  readonly #setup: GitSandboxSetup;
  readonly #mounts: MountPaths;
  readonly #mark = `CADASTRE_FETCH=${randomUUID()}`;
  readonly #authorizations = new Map<string, string>();

  constructor(setup: GitSandboxSetup) {
    this.#setup = setup;
    const { folder, git } = setup;
    this.#mounts = { job: folder, engine: git, mirror: undefined, ca: undefined, knownHosts: undefined };
  }

  get allowed(): readonly string[] {
    return this.#setup.allowed;
  }

  /** For git commands that require a work tree without using it. */
  get emptyFolder(): string {
    return this.#inside("home");
  }

  /** Bare, so that nothing is ever checked out. */
  async prepare(): Promise<void> {
    await mkdir(join(this.#setup.folder, "home"));
    await this.#chown(this.#setup.folder, join(this.#setup.folder, "home"));
    await this.git(["init", "--quiet", "--bare", "--template=", this.#inside("repository")]);
    // The archive must contain all files unchanged, whatever .gitattributes says.
    await this.write(
      "repository/info/attributes",
      "* -export-ignore -export-subst -text -eol -ident -filter -working-tree-encoding\n",
    );
  }

  authorize(origin: string, authorization: string): void {
    this.#authorizations.set(origin, authorization);
  }

  async write(name: string, text: string): Promise<string> {
    const path = join(this.#setup.folder, name);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text, { mode: 0o600 });
    await this.#chown(join(path, ".."), path);
    return this.#inside(name);
  }

  /** git can't read the operator's file in its original place. */
  async knownHosts(): Promise<string | undefined> {
    const { knownHosts: path } = this.#setup;
    if (path === undefined) return undefined;
    const text = await readFile(path, "utf8").catch(() => undefined);
    if (text === undefined)
      throw new FetchFault("unknown_host", "the server can't read the file that CADASTRE_SSH_KNOWN_HOSTS names");
    return this.write("ssh/known-hosts", text);
  }

  async git(args: readonly string[]): Promise<string> {
    const { out, errors, code } = await this.#run(args);
    if (code !== 0) throw this.#faultOf(errors);
    return out.toString("utf8");
  }

  async tryGit(args: readonly string[]): Promise<boolean> {
    return (await this.#run(args)).code === 0;
  }

  async *stream(args: readonly string[]): AsyncGenerator<Uint8Array> {
    const running = this.#start(args);
    const errors = readAll(running.stderr, errorBytesMax);
    try {
      for await (const piece of running.stdout) yield piece as Uint8Array;
      const { code } = await running.ended;
      if (code !== 0) throw this.#faultOf((await errors).toString("utf8"));
    } finally {
      running.kill();
    }
  }

  async #run(args: readonly string[]): Promise<GitOutput> {
    const running = this.#start(args);
    const [out, errors, { code }] = await Promise.all([
      readAll(running.stdout, outputBytesMax),
      readAll(running.stderr, errorBytesMax),
      running.ended,
    ]);
    return { out, errors: errors.toString("utf8"), code };
  }

  #start(args: readonly string[]): SandboxedProcess {
    const { sandbox, git, signal, slot } = this.#setup;
    signal.throwIfAborted();
    const { prlimit } = findTools();
    const limited = prlimit === undefined ? [git] : [prlimit, `--as=${memoryBytes}`, "--", git];
    const [program = git, ...before] = limited;
    const command = {
      program,
      words: [...before, ...args],
      environment: this.#environment(),
      directory: this.#inside(""),
    };
    const process = new SandboxedProcess(sandbox.launch(command, this.#mounts), {
      merged: false,
      uid: sandbox.uidOf(slot),
      cgroup: undefined,
      mark: this.#mark,
    });
    const kill = () => process.kill();
    signal.addEventListener("abort", kill, { once: true });
    void process.ended.finally(() => signal.removeEventListener("abort", kill));
    return process;
  }

  #environment(): Record<string, string> {
    const [name = "", value = ""] = this.#mark.split("=");
    const settings: [string, string][] = [
      ...Object.entries(configuration),
      ["http.proxy", this.#setup.proxy.url],
      ...[...this.#authorizations].map(([origin, sent]): [string, string] => [
        `http.${origin}/.extraHeader`,
        `Authorization: ${sent}`,
      ]),
    ];
    return {
      PATH: "/usr/bin:/bin",
      LANG: "C",
      HOME: this.#inside("home"),
      GIT_DIR: this.#inside("repository"),
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_TERMINAL_PROMPT: "0",
      GIT_ASKPASS: "/bin/false",
      // The proxy decides on plain HTTP.
      GIT_ALLOW_PROTOCOL: "https:http:ssh",
      GIT_SSH_COMMAND: `ssh -F ${this.#inside("ssh/config")}`,
      GIT_CONFIG_COUNT: String(settings.length),
      ...Object.fromEntries(
        settings.flatMap(([key, text], at) => [
          [`GIT_CONFIG_KEY_${at}`, key],
          [`GIT_CONFIG_VALUE_${at}`, text],
        ]),
      ),
      [name]: value,
    };
  }

  #inside(name: string): string {
    return join(this.#setup.sandbox.inside(this.#mounts).job, name);
  }

  async #chown(...paths: string[]): Promise<void> {
    const uid = this.#setup.sandbox.uidOf(this.#setup.slot);
    if (uid !== undefined) for (const path of paths) chownSync(path, uid, uid);
  }

  #faultOf(output: string): FetchFault {
    const { signal, proxy } = this.#setup;
    if (signal.aborted) return new FetchFault("timed_out", "fetching took too long");
    return proxy.fault === undefined ? faultOf(output) : addressFault(proxy.fault);
  }
}

const configuration: Readonly<Record<string, string>> = {
  "core.hooksPath": "/dev/null",
  "core.fsmonitor": "false",
  "core.attributesFile": "/dev/null",
  "credential.helper": "",
  "fetch.recurseSubmodules": "false",
  "fetch.unpackLimit": "1",
  "gc.auto": "0",
  "maintenance.auto": "false",
  "http.followRedirects": "false",
  "http.lowSpeedLimit": "1000",
  "http.lowSpeedTime": "60",
  "http.sslVerify": "true",
  "protocol.version": "2",
  "safe.directory": "*",
  "tar.umask": "0022",
};

async function readAll(stream: Readable, max: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    if (bytes <= max) pieces.push(piece);
    bytes += piece.length;
  }
  return Buffer.concat(pieces).subarray(0, max);
}
