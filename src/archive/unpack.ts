/**
 * Unpacks an archive into a directory of its own. Nothing is ever written through a link: directories are made here, one by one,
 * in a directory that was empty; files must not be there yet; and links are made last, when nothing more is written.
 */
import { constants } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readdir, symlink, unlink } from "node:fs/promises";
import { ArchiveReader, type ArchiveSummary } from "./archive-reader.ts";
import type { Addition, Thing } from "./tree.ts";

/** For the owner as it was packed, and never less than reading and writing; for others no writing. */
const fileMode = (mode: number): number => (mode & 0o755) | 0o600;
const directoryMode = 0o755;

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/**
 * The directory is made if it is not there; its parent must be. Raises `ArchiveFault` for an archive that is not taken, and an
 * Error where the directory is not empty or the disk does not take it; what was written by then is left to the caller.
 */
export async function unpack(source: AsyncIterable<Uint8Array>, directory: string): Promise<ArchiveSummary> {
  await claim(directory);
  const unpacking = new Unpacking(directory);
  const reader = new ArchiveReader(unpacking);
  try {
    for await (const piece of source) await reader.write(piece);
    const summary = await reader.end();
    await unpacking.makeLinks();
    return summary;
  } finally {
    reader.destroy();
    await unpacking.stop();
  }
}

/** Raises an Error unless the directory is a real one, and empty. */
async function claim(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: directoryMode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (!(await lstat(directory)).isDirectory()) throw new Error(`${directory} is not a directory.`, { cause: error });
    if ((await readdir(directory)).length > 0) throw new Error(`${directory} is not empty.`, { cause: error });
  }
}

class Unpacking {
  readonly #root: Buffer;
  /** Where each leads; made at the end. A name twice: the later one counts. */
  readonly #links = new Map<string, string>();
  #file: FileHandle | undefined;

  constructor(directory: string) {
    this.#root = Buffer.from(`${directory}/`);
  }

  async open({ parents, thing, replaces }: Addition): Promise<void> {
    for (const path of parents) await mkdir(this.#at(path), { mode: directoryMode });
    if (thing.kind === "link") this.#links.set(thing.path, thing.target);
    else if (thing.kind === "directory") {
      if (!replaces) await mkdir(this.#at(thing.path), { mode: directoryMode });
    } else {
      if (replaces) await unlink(this.#at(thing.path));
      await this.#make(thing);
    }
  }

  async data(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const { bytesWritten } = await this.#file!.write(bytes, at);
      at += bytesWritten;
    }
  }

  async close(): Promise<void> {
    await this.stop();
  }

  /** Whatever has happened, no file stays open. */
  async stop(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async makeLinks(): Promise<void> {
    for (const [path, target] of this.#links) await symlink(Buffer.from(target, "latin1"), this.#at(path));
  }

  async #make(thing: Extract<Thing, { kind: "file" | "hard-link" }>): Promise<void> {
    const path = this.#at(thing.path);
    if (thing.kind === "hard-link") await link(this.#at(thing.target), path);
    else this.#file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, fileMode(thing.mode));
  }

  #at(path: string): Buffer {
    return Buffer.concat([this.#root, Buffer.from(path, "latin1")]);
  }
}
