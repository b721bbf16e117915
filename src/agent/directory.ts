/** A job's directory: where what is, on this machine and as the engine sees it. Made anew for each phase and removed after it. */
import { chmod, mkdir, realpath, stat } from "node:fs/promises";
import { join, normalize, relative, sep } from "node:path";
import { giveTo, removeTree, writeNew } from "./files.ts";
import type { Job } from "./job.ts";
import { ConfigurationFault } from "./overrides.ts";
import type { Mounts, Sandbox } from "../sandbox/launch.ts";
import { stateFile } from "./state.ts";

export interface DirectoryOptions {
  /** Of the agent. */
  readonly base: string;
  readonly sandbox: Sandbox;
  readonly slot: number;
  readonly mounts: Omit<Mounts, "job">;
}

export class JobDirectory {
  readonly root: string;
  /** The agent's own beside it, which no program of the job sees. */
  readonly spool: string;
  readonly mounts: Mounts;
  readonly inside: Mounts;
  readonly uid: number | undefined;
  readonly #workspaceName: string;
  #workingDirectory = "";

  constructor(job: Pick<Job, "runId" | "id" | "workspaceName">, { base, sandbox, slot, mounts }: DirectoryOptions) {
    const { root, spool } = foldersOf(base, job);
    this.root = root;
    this.spool = spool;
    this.mounts = { ...mounts, job: this.root };
    this.inside = sandbox.inside(this.mounts);
    this.uid = sandbox.uidOf(slot);
    this.#workspaceName = job.workspaceName;
  }

  async make(): Promise<void> {
    await this.remove();
    await mkdir(this.root, { mode: 0o700 });
    await mkdir(this.spool, { mode: 0o700 });
    for (const name of ["home", "tmp", "private", "output"]) await mkdir(join(this.root, name), { mode: 0o700 });
  }

  async remove(): Promise<void> {
    await removeTree(this.root);
    await removeTree(this.spool);
  }

  get configuration(): string {
    return join(this.root, "configuration");
  }

  /** Where the engine runs: below the configuration. */
  get workingDirectory(): string {
    return join(this.configuration, this.#workingDirectory);
  }

  get stateFile(): string {
    return stateFile(this.workingDirectory, this.#workspaceName);
  }

  /** Where something is kept that was fetched, until it has its place. */
  spooled(name: string): string {
    return join(this.spool, `${name}.fetched`);
  }

  /** As the engine sees it. */
  insideOf(path: string): string {
    return join(this.inside.job, relative(this.root, path));
  }

  /** Raises ConfigurationFault unless it is there, and inside. */
  async enter(workingDirectory: string): Promise<void> {
    const named = normalize(workingDirectory.replace(/^\/+/, ""));
    const outside = () =>
      new ConfigurationFault(
        `The working directory '${workingDirectory}' leads out of the configuration. Change it in the workspace's settings.`,
      );
    if (named === ".." || named.startsWith(`..${sep}`)) throw outside();
    this.#workingDirectory = named === "." ? "" : named;
    const configuration = await realpath(this.configuration);
    let real: string;
    try {
      real = await realpath(this.workingDirectory);
      if (!(await stat(real)).isDirectory()) throw new Error("no directory");
    } catch {
      throw new ConfigurationFault(
        `The configuration has no directory '${workingDirectory}', which is the workspace's working directory. Upload it whole, or change the setting.`,
      );
    }
    if (real !== configuration && !real.startsWith(configuration + sep)) throw outside();
    // From here on by its real name: what is written and read there must not pass a link.
    this.#workingDirectory = relative(configuration, real);
  }

  /** A file of the job's that is not of its configuration; the path as the engine sees it. */
  async writePrivate(name: string, text: string): Promise<string> {
    const path = join(this.root, "private", name);
    await writeNew(path, text);
    return this.insideOf(path);
  }

  /** Everything is the job's user's from here on. */
  async give(): Promise<void> {
    if (this.uid !== undefined) await giveTo(this.root, this.uid);
    await chmod(this.root, 0o700);
  }
}

/** By the run, not by the phase: without a mount of its own, the job's directory is the path that plan and apply have in common. */
export function foldersOf(base: string, { runId, id }: Pick<Job, "runId" | "id">): { root: string; spool: string } {
  return { root: join(base, "jobs", safeName(runId)), spool: join(base, "spool", safeName(id)) };
}

/** Ids are made by the server; whatever they are, they are one name. */
const safeName = (id: string) => id.replace(/[^\w-]/g, "_");
