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
  /** Not yet checkpointed. */
  pagesInLog(): number;
}

interface ConnectionPair {
  readonly writing: ControlledConnection;
  readonly reading: ControlledConnection;
}

const pagesInLogMax = 1_000;

export type SyncFile = (file: number) => Promise<void>;

const syncFromThreadPool: SyncFile = promisify(fdatasync);

export class DurableCommits {
  readonly #path: string;
  readonly #writing: ControlledConnection;
  readonly #reading: ControlledConnection;
  readonly #sync: SyncFile;
  #log: number | undefined;
  #checkpointer: Worker | undefined;
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
   * Resolves when the transaction is on disk; `onVisible` is called when readers see it. Throws `unavailable` if the sync fails, and
   * refuses all later writes, because a disk that has failed once may report false success.
   */
  async commit(onVisible: () => void = () => {}): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#holdReaders();
    try {
      this.#writing.control("COMMIT");
    } catch (error) {
      this.#releaseReaders();
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
    this.#releaseReaders();
    onVisible();
  }

  /** Checkpoints the log when it has grown large. */
  async checkpointIfDue(): Promise<void> {
    if (this.#failure !== undefined || this.#writing.pagesInLog() < pagesInLogMax) return;
    const checkpointer = (this.#checkpointer ??= this.#startCheckpointer());
    checkpointer.ref();
    checkpointer.postMessage("checkpoint");
    await firstOf(checkpointer, "message", "exit");
    checkpointer.unref();
  }

  async close(): Promise<void> {
    this.#checkpointer?.ref();
    this.#checkpointer?.postMessage("end");
    if (this.#checkpointer !== undefined) await once(this.#checkpointer, "exit");
    if (this.#log !== undefined) closeSync(this.#log);
  }

  /** If it fails, the log is unchanged, and the next transaction starts another one. */
  #startCheckpointer(): Worker {
    const program = siblingProgramUrl(import.meta.url, "checkpointer.ts");
    const checkpointer = new Worker(program, { workerData: this.#path, execArgv: [] });
    checkpointer.on("error", () => {});
    checkpointer.on("exit", () => {
      this.#checkpointer = undefined;
    });
    return checkpointer;
  }

  /** Readers keep seeing the previous snapshot until the commit is on disk. */
  #holdReaders(): void {
    this.#reading.control("BEGIN");
    this.#reading.dataVersion();
  }

  #releaseReaders(): void {
    this.#reading.control("COMMIT");
  }
}

async function firstOf(worker: Worker, one: string, other: string): Promise<void> {
  const listening = new AbortController();
  const events = [one, other].map((event) => once(worker, event, { signal: listening.signal }));
  await Promise.race(events).catch(() => {});
  listening.abort();
}
