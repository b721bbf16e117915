/**
 * Where git works: a directory that is gone afterwards, in the sandbox that runs have, with neither configuration nor keys of this
 * machine, and no way out but through a proxy that judges addresses. Git is given words, never a line for a shell, and no secret
 * stands in them.
 */
import { accessSync, chownSync, constants } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { randomUUID } from "node:crypto";
import { JudgingProxy } from "../../../outgoing/proxy.ts";
import { chooseSandbox, findTools, isRoot, makeSandbox } from "../../../sandbox/choose.ts";
import type { Mounts, Sandbox, SandboxKind } from "../../../sandbox/launch.ts";
import { JobProcess } from "../../../sandbox/process.ts";
import { claimUids } from "../../../sandbox/uids.ts";
import { addressFault, FetchFault, faultOf } from "./faults.ts";

export interface WorkshopOptions {
  /** Addresses inside the operator's network that may be called. */
  readonly allowed: readonly string[];
  /** A file of SSH host keys; without one, whatever key a host shows is taken. */
  readonly knownHosts: string | undefined;
  readonly sandbox: SandboxKind | undefined;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

const timeoutMsByDefault = 5 * 60 * 1000;
/** Of everything that comes over HTTP, and of any file. */
const bytesMax = 512 * 1024 * 1024;
const memoryBytes = 4 * 1024 * 1024 * 1024;
const saidMax = 64 * 1024;
const listMax = 16 * 1024 * 1024;
const firstUid = 57_000;
/** Each has a user of its own, where there are users: whatever runs as it is killed with the work. */
const places = [0, 1, 2, 3, 4, 5];
const free: number[] = [...places];
const waiting: ((place: number) => void)[] = [];

const takePlace = (): number | Promise<number> => free.pop() ?? new Promise((resolve) => waiting.push(resolve));

function leavePlace(place: number): void {
  const next = waiting.shift();
  if (next === undefined) free.push(place);
  else next(place);
}

const gits = ["/usr/bin/git", "/usr/local/bin/git", "/bin/git"];

const isThere = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};
export const findGit = (): string | undefined => gits.find(isThere);

let chosen: { readonly asked: SandboxKind | undefined; readonly sandbox: Promise<Sandbox> } | undefined;

/** The strongest that works here. Without any, git works unprotected: it runs nothing that comes from a repository. */
function sandboxForGit(asked: SandboxKind | undefined): Promise<Sandbox> {
  if (chosen?.asked !== asked || chosen === undefined) chosen = { asked, sandbox: choose(asked) };
  return chosen.sandbox;
}

/** One sentence for whoever starts the service. */
export async function describeFetching(asked: SandboxKind | undefined): Promise<string> {
  if (findGit() === undefined)
    return "git is not installed: code of connected repositories can't be fetched until it is";
  const { kind } = await sandboxForGit(asked);
  if (kind === "none") return "git fetches code of connected repositories without a sandbox: none works here";
  return `git fetches code of connected repositories in the sandbox ${kind}`;
}

async function choose(sandbox: SandboxKind | undefined): Promise<Sandbox> {
  const agentDirectory = await mkdtemp(join(tmpdir(), "cadastre-sandbox-"));
  await chmod(agentDirectory, 0o755);
  process.once("exit", () => void rm(agentDirectory, { recursive: true, force: true }).catch(() => undefined));
  const limits = { jobTmpMegabytes: 256, jobFileMegabytes: bytesMax / 2 ** 20, jobOpenFiles: 1024 };
  const settings = { agentDirectory, sandbox, ...limits };
  const mounts = { mirror: undefined, ca: undefined, knownHosts: undefined };
  try {
    const uids = isRoot() ? (await claimUids(firstUid, places.length)).list : [];
    return await chooseSandbox(settings, mounts, uids);
  } catch {
    return makeSandbox("none", settings, findTools(), []) as Sandbox;
  }
}

/** Raises FetchFault. */
export async function inWorkshop<T>(options: WorkshopOptions, work: (workshop: Workshop) => Promise<T>): Promise<T> {
  const git = findGit();
  if (git === undefined)
    throw new FetchFault("no_git", "git is not installed on the server; install it and push again", { isFinal: true });
  const sandbox = await sandboxForGit(options.sandbox);
  const folder = await mkdtemp(join(tmpdir(), "cadastre-fetch-"));
  const proxy = await JudgingProxy.start({ allowed: options.allowed, bytesMax });
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs ?? timeoutMsByDefault)]);
  const place = await takePlace();
  const workshop = new Workshop({ ...options, signal, git, sandbox, folder, proxy, place });
  try {
    await workshop.prepare();
    return await work(workshop);
  } finally {
    leavePlace(place);
    proxy.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface Parts extends Omit<WorkshopOptions, "sandbox"> {
  readonly git: string;
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly proxy: JudgingProxy;
  readonly place: number;
}

interface Said {
  readonly out: Buffer;
  readonly errors: string;
  readonly code: number | null;
}

export class Workshop {
  readonly #parts: Parts;
  readonly #mounts: Mounts;
  readonly #mark = `CADASTRE_FETCH=${randomUUID()}`;
  /** By the beginning of an address: what is sent there as authorization. */
  readonly #authorizations = new Map<string, string>();

  constructor(parts: Parts) {
    this.#parts = parts;
    const { folder, git } = parts;
    this.#mounts = { job: folder, engine: git, mirror: undefined, ca: undefined, knownHosts: undefined };
  }

  get allowed(): readonly string[] {
    return this.#parts.allowed;
  }

  /** For what git only does beside files, though it touches none. */
  get emptyFolder(): string {
    return this.#inside("home");
  }

  /** The repository in which everything happens: bare, so that nothing is ever checked out. */
  async prepare(): Promise<void> {
    await mkdir(join(this.#parts.folder, "home"));
    await this.#give(this.#parts.folder, join(this.#parts.folder, "home"));
    await this.git(["init", "--quiet", "--bare", "--template=", this.#inside("repository")]);
    // The bytes that are in the repository, all of them: no attribute of it leaves a file out or rewrites one.
    await this.write(
      "repository/info/attributes",
      "* -export-ignore -export-subst -text -eol -ident -filter -working-tree-encoding\n",
    );
  }

  authorize(origin: string, authorization: string): void {
    this.#authorizations.set(origin, authorization);
  }

  /** A file that git, or what it starts, reads; gives its path as these see it. */
  async write(name: string, text: string): Promise<string> {
    const path = join(this.#parts.folder, name);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text, { mode: 0o600 });
    await this.#give(join(path, ".."), path);
    return this.#inside(name);
  }

  /** The file of the operator's, brought to where git's user may read it; undefined where none is named. */
  async knownHosts(): Promise<string | undefined> {
    const { knownHosts: path } = this.#parts;
    if (path === undefined) return undefined;
    const text = await readFile(path, "utf8").catch(() => undefined);
    if (text === undefined)
      throw new FetchFault("unknown_host", "the file that CADASTRE_SSH_KNOWN_HOSTS names can't be read by the server");
    return this.write("ssh/known-hosts", text);
  }

  /** What it writes, as text. Raises FetchFault where it fails. */
  async git(words: readonly string[]): Promise<string> {
    const { out, errors, code } = await this.#run(words);
    if (code !== 0) throw this.#faultOf(errors);
    return out.toString("utf8");
  }

  /** The same, told by whether it succeeded. */
  async tryGit(words: readonly string[]): Promise<boolean> {
    return (await this.#run(words)).code === 0;
  }

  /** What it writes, as it comes. Raises FetchFault. */
  async *stream(words: readonly string[]): AsyncGenerator<Uint8Array> {
    const running = this.#start(words);
    const errors = gathered(running.stderr, saidMax);
    try {
      for await (const piece of running.stdout) yield piece as Uint8Array;
      const { code } = await running.ended;
      if (code !== 0) throw this.#faultOf((await errors).toString("utf8"));
    } finally {
      running.kill();
    }
  }

  async #run(words: readonly string[]): Promise<Said> {
    const running = this.#start(words);
    const [out, errors, { code }] = await Promise.all([
      gathered(running.stdout, listMax),
      gathered(running.stderr, saidMax),
      running.ended,
    ]);
    return { out, errors: errors.toString("utf8"), code };
  }

  #start(words: readonly string[]): JobProcess {
    const { sandbox, git, signal, place } = this.#parts;
    signal.throwIfAborted();
    const { prlimit } = findTools();
    const limited = prlimit === undefined ? [git] : [prlimit, `--as=${memoryBytes}`, "--", git];
    const [program = git, ...before] = limited;
    const command = {
      program,
      words: [...before, ...words],
      environment: this.#environment(),
      directory: this.#inside(""),
    };
    const process = new JobProcess(sandbox.launch(command, this.#mounts), {
      merged: false,
      uid: sandbox.uidOf(place),
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
      ["http.proxy", this.#parts.proxy.url],
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
      // Plain HTTP is the proxy's to refuse.
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
    return join(this.#parts.sandbox.inside(this.#mounts).job, name);
  }

  /** To whom git works as. */
  async #give(...paths: string[]): Promise<void> {
    const uid = this.#parts.sandbox.uidOf(this.#parts.place);
    if (uid !== undefined) for (const path of paths) chownSync(path, uid, uid);
  }

  #faultOf(said: string): FetchFault {
    const { signal, proxy } = this.#parts;
    if (signal.aborted) return new FetchFault("timed_out", "fetching took too long");
    return proxy.fault === undefined ? faultOf(said) : addressFault(proxy.fault);
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

async function gathered(stream: Readable, max: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    if (bytes <= max) pieces.push(piece);
    bytes += piece.length;
  }
  return Buffer.concat(pieces).subarray(0, max);
}
