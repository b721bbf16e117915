/** Commits of the embedded database. Other threads sync and checkpoint the log, because on the main thread that would block readers. */
import { closeSync, fdatasync, openSync } from "node:fs";
import { once } from "node:events";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { AppError } from "../../kernel/errors.ts";
import { siblingProgramUrl } from "../../kernel/programs.ts";
import { outcomeUnknown } from "./transactions.ts";

export interface ControlledConnection {
  control(statement: string): void;
  /** Changes with every commit of another connection or process, but not with its own. */
  dataVersion(): number;
  pagesInLog(): number;
}

interface ConnectionPair {
  readonly writing: ControlledConnection;
  readonly reading: ControlledConnection;
}

const pagesMax = 1_000;

export type SyncFile = (file: number) => Promise<void>;

const syncFromThreadPool: SyncFile = promisify(fdatasync);

export class DurableCommits {
  readonly #path: string;
  readonly #writing: ControlledConnection;
  readonly #reading: ControlledConnection;
  readonly #sync: SyncFile;
  #log: number | undefined;
  #mover: Worker | undefined;
  #failure: AppError | undefined;

  constructor(path: string, { writing, reading }: ConnectionPair, sync: SyncFile = syncFromThreadPool) {
    this.#path = path;
    this.#writing = writing;
    this.#reading = reading;
    this.#sync = sync;
    // We sync commits ourselves; SQLite still ensures the order that recovery needs.
    writing.control("PRAGMA synchronous = NORMAL");
    writing.control("PRAGMA wal_autocheckpoint = 0");
  }

  /**
   * Resolves when the transaction is on disk; `seen` is called when readers see it. Raises `unavailable` if the sync fails, and
   * refuses all later writes, because a disk that has failed once may report false success.
   */
  async commit(seen: () => void = () => {}): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#holdReaders();
    try {
      this.#writing.control("COMMIT");
    } catch (error) {
      this.#letReadersGoOn();
      throw error;
    }
    try {
      await this.#sync((this.#log ??= openSync(`${this.#path}-wal`, "r")));
    } catch (error) {
      this.#failure = new AppError(
        "unavailable",
        "The disk failed to store a change, so the service refuses further changes. The operator has to check the disk and restart the service.",
        { internal: error },
      );
      throw outcomeUnknown(error);
    }
    this.#letReadersGoOn();
    seen();
  }

  async settle(): Promise<void> {
    if (this.#failure !== undefined || this.#writing.pagesInLog() < pagesMax) return;
    const mover = (this.#mover ??= this.#startMover());
    mover.ref();
    mover.postMessage("move");
    await firstOf(mover, "message", "exit");
    mover.unref();
  }

  async close(): Promise<void> {
    this.#mover?.ref();
    this.#mover?.postMessage("end");
    if (this.#mover !== undefined) await once(this.#mover, "exit");
    if (this.#log !== undefined) closeSync(this.#log);
  }

  /** If it fails, the log is unchanged, and the next transaction starts another one. */
  #startMover(): Worker {
    const program = siblingProgramUrl(import.meta.url, "log-mover.ts");
    const mover = new Worker(program, { workerData: this.#path, execArgv: [] });
    mover.on("error", () => {});
    mover.on("exit", () => {
      this.#mover = undefined;
    });
    return mover;
  }

  #holdReaders(): void {
    this.#reading.control("BEGIN");
    this.#reading.dataVersion();
  }

  #letReadersGoOn(): void {
    this.#reading.control("COMMIT");
  }
}

async function firstOf(mover: Worker, one: string, other: string): Promise<void> {
  const waiting = new AbortController();
  const happened = [one, other].map((event) => once(mover, event, { signal: waiting.signal }));
  await Promise.race(happened).catch(() => {});
  waiting.abort();
}
