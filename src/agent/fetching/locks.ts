/**
 * Shared and exclusive locks between processes, which the kernel releases when a process ends: SQLite's locks on empty files. Nothing else
 * may open these files: closing one would release the locks that this process has on it.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";

export type ReleaseLock = () => void;
type LockKind = "shared" | "exclusive";

const busy = 5;
const retryMs = 100;

export class FileLocks {
  readonly #folder: string;
  readonly #onLock: (file: string) => void;

  /** Jobs must not reach the folder: reading a file in it is enough to hold its lock. */
  constructor(folder: string, onLock: (file: string) => void = () => undefined) {
    this.#folder = folder;
    this.#onLock = onLock;
  }

  fileOf(name: string): string {
    return join(this.#folder, `${name}.lock`);
  }

  /** Undefined if another process has a lock that excludes it. */
  tryLock(name: string, kind: LockKind): ReleaseLock | undefined {
    const file = this.fileOf(name);
    const database = new DatabaseSync(file, { timeout: 0 });
    try {
      database.exec(kind === "exclusive" ? "BEGIN EXCLUSIVE" : "BEGIN");
      // Only reading takes the shared lock.
      database.prepare("SELECT count(*) FROM sqlite_schema").get();
      this.#onLock(file);
      return () => database.close();
    } catch (error) {
      database.close();
      if ((error as { errcode?: number }).errcode === busy) return undefined;
      throw error;
    }
  }

  async lock(name: string, kind: LockKind, signal: AbortSignal): Promise<ReleaseLock> {
    return (await this.lockUnless(() => Promise.resolve(false), name, kind, signal)) ?? (() => undefined);
  }

  /** Undefined as soon as the lock is not needed any more, which is checked while it waits. */
  async lockUnless(
    isNeedless: () => Promise<boolean>,
    name: string,
    kind: LockKind,
    signal: AbortSignal,
  ): Promise<ReleaseLock | undefined> {
    for (;;) {
      signal.throwIfAborted();
      if (await isNeedless()) return undefined;
      const release = this.tryLock(name, kind);
      if (release !== undefined) return release;
      await pause(retryMs, undefined, { signal });
    }
  }
}
