/** Unpacks an archive into an empty directory. It never writes through a link: files open exclusively, links come last. */
import { constants } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readdir, symlink, unlink } from "node:fs/promises";
import { ArchiveReader, type ArchiveSummary } from "./archive-reader.ts";
import type { TreeAddition, ArchiveEntry } from "./tree.ts";

/** The owner can always read and write; others can never write. */
const fileMode = (mode: number): number => (mode & 0o755) | 0o600;
const directoryMode = 0o755;

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** Throws `ArchiveFault`, and an Error if the directory is not empty or can't be written. The caller removes partial output. */
export async function unpack(source: AsyncIterable<Uint8Array>, directory: string): Promise<ArchiveSummary> {
  await claimDirectory(directory);
  const unpacker = new ArchiveUnpacker(directory);
  const reader = new ArchiveReader(unpacker);
  try {
    for await (const piece of source) await reader.write(piece);
    const summary = await reader.end();
    await unpacker.createLinks();
    return summary;
  } finally {
    reader.destroy();
    await unpacker.stop();
  }
}

async function claimDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: directoryMode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (!(await lstat(directory)).isDirectory()) throw new Error(`${directory} is not a directory.`, { cause: error });
    if ((await readdir(directory)).length > 0) throw new Error(`${directory} is not empty.`, { cause: error });
  }
}

class ArchiveUnpacker {
  readonly #root: Buffer;
  /** A later entry of the same name replaces the earlier one. */
  readonly #links = new Map<string, string>();
  #file: FileHandle | undefined;

  constructor(directory: string) {
    this.#root = Buffer.from(`${directory}/`);
  }

  async open({ parents, entry, replaces }: TreeAddition): Promise<void> {
    for (const path of parents) await mkdir(this.#pathOf(path), { mode: directoryMode });
    if (entry.kind === "link") this.#links.set(entry.path, entry.target);
    else if (entry.kind === "directory") {
      if (!replaces) await mkdir(this.#pathOf(entry.path), { mode: directoryMode });
    } else {
      if (replaces) await unlink(this.#pathOf(entry.path));
      await this.#createEntry(entry);
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

  async stop(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async createLinks(): Promise<void> {
    for (const [path, target] of this.#links) await symlink(Buffer.from(target, "latin1"), this.#pathOf(path));
  }

  async #createEntry(entry: Extract<ArchiveEntry, { kind: "file" | "hard-link" }>): Promise<void> {
    const path = this.#pathOf(entry.path);
    if (entry.kind === "hard-link") await link(this.#pathOf(entry.target), path);
    else this.#file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, fileMode(entry.mode));
  }

  #pathOf(path: string): Buffer {
    return Buffer.concat([this.#root, Buffer.from(path, "latin1")]);
  }
}
