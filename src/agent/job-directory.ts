/** The directory of a job, created for each phase, with its paths on this machine and inside the sandbox. */
import { chmod, mkdir, realpath, stat } from "node:fs/promises";
import { join, normalize, relative, sep } from "node:path";
import { changeOwner, removeTree, writeNew } from "./files.ts";
import type { JobDocument } from "./job.ts";
import { ConfigurationFault } from "./overrides.ts";
import type { MountPaths, Sandbox } from "../sandbox/launch.ts";
import { stateFile } from "./state.ts";

export interface DirectoryOptions {
  readonly base: string;
  readonly sandbox: Sandbox;
  readonly slot: number;
  readonly mounts: Omit<MountPaths, "job" | "engine">;
}

export class JobDirectory {
  readonly root: string;
  /** Not visible to the job's programs. */
  readonly spool: string;
  readonly uid: number | undefined;
  readonly #workspaceName: string;
  readonly #sandbox: Sandbox;
  readonly #mounts: Omit<MountPaths, "engine">;
  /** Known once the engine is there. */
  #engine = "";
  #workingDirectory = "";

  constructor(
    job: Pick<JobDocument, "runId" | "id" | "workspaceName">,
    { base, sandbox, slot, mounts }: DirectoryOptions,
  ) {
    const { root, spool } = directoriesOf(base, job);
    this.root = root;
    this.spool = spool;
    this.#sandbox = sandbox;
    this.#mounts = { ...mounts, job: this.root };
    this.uid = sandbox.uidOf(slot);
    this.#workspaceName = job.workspaceName;
  }

  set engine(program: string) {
    this.#engine = program;
  }

  get mounts(): MountPaths {
    return { ...this.#mounts, engine: this.#engine };
  }

  /** The same paths as the sandbox shows them. */
  get inside(): MountPaths {
    return this.#sandbox.inside(this.mounts);
  }

  async create(): Promise<void> {
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

  get workingDirectory(): string {
    return join(this.configuration, this.#workingDirectory);
  }

  get stateFile(): string {
    return stateFile(this.workingDirectory, this.#workspaceName);
  }

  spoolFile(name: string): string {
    return join(this.spool, `${name}.fetched`);
  }

  sandboxPathOf(path: string): string {
    return join(this.inside.job, relative(this.root, path));
  }

  /** Throws ConfigurationFault if the working directory is missing or outside the configuration. */
  async enterWorkingDirectory(workingDirectory: string): Promise<void> {
    const relativePath = normalize(workingDirectory.replace(/^\/+/, ""));
    const outside = () =>
      new ConfigurationFault(
        `The working directory '${workingDirectory}' is outside the configuration. Change it in the workspace's settings.`,
      );
    if (relativePath === ".." || relativePath.startsWith(`..${sep}`)) throw outside();
    this.#workingDirectory = relativePath === "." ? "" : relativePath;
    const configuration = await realpath(this.configuration);
    let real: string;
    try {
      real = await realpath(this.workingDirectory);
      if (!(await stat(real)).isDirectory()) throw new Error("not a directory");
    } catch {
      throw new ConfigurationFault(
        `The configuration doesn't contain the workspace's working directory '${workingDirectory}'. Upload the whole configuration, or change the setting.`,
      );
    }
    if (real !== configuration && !real.startsWith(configuration + sep)) throw outside();
    // The real path, so that later reads and writes follow no links.
    this.#workingDirectory = relative(configuration, real);
  }

  /** Returns the path inside the sandbox. */
  async writePrivate(name: string, text: string): Promise<string> {
    const path = join(this.root, "private", name);
    await writeNew(path, text);
    return this.sandboxPathOf(path);
  }

  async chownToJobUser(): Promise<void> {
    if (this.uid !== undefined) await changeOwner(this.root, this.uid);
    await chmod(this.root, 0o700);
  }
}

/** Named by the run, not by the phase: without bubblewrap, plan and apply must use the same path. */
export function directoriesOf(
  base: string,
  { runId, id }: Pick<JobDocument, "runId" | "id">,
): { root: string; spool: string } {
  return { root: join(base, "jobs", safeName(runId)), spool: join(base, "spool", safeName(id)) };
}

/** Ids come from the server, and must not become more than one path segment. */
const safeName = (id: string) => id.replace(/[^\w-]/g, "_");
