/**
 * The end of a transaction on the embedded database. To wait for the disk takes longer than everything else in a write, and where the
 * thread does it, whoever reads waits too. So a COMMIT only puts the transaction into the write-ahead log; the log is synced by
 * another thread, and until that is done nobody is told of the transaction: those who wrote wait, and those who read see what was there
 * before. What the log has gathered is moved into the file by another thread too, between two transactions.
 */
import { closeSync, fdatasync, openSync } from "node:fs";
import { once } from "node:events";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { AppError } from "../../kernel/errors.ts";
import { programBeside } from "../../kernel/programs.ts";
import { outcomeUnknown } from "./transactions.ts";

/** What is needed of a connection. */
export interface ControlledConnection {
  control(statement: string): void;
  /** Another number after every commit of another connection, whichever process it belongs to; the same after its own. */
  dataVersion(): number;
  /** How many pages are in the log and not yet in the file. */
  pagesInLog(): number;
}

interface ConnectionPair {
  readonly writing: ControlledConnection;
  readonly reading: ControlledConnection;
}

/** As many as SQLite itself lets gather: the log stays short, and moving it cheap for each page. */
const pagesMax = 1_000;

/** Resolves when what was written to a file is on the disk. */
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
    // What a crash of the machine could take away is synced by us; the order that recovery needs, SQLite still sees to.
    writing.control("PRAGMA synchronous = NORMAL");
    writing.control("PRAGMA wal_autocheckpoint = 0");
  }

  /**
   * Resolves when the transaction is on the disk; `seen` is called when those who read see it, before anybody else is. Raises
   * `unavailable` where it can't be known whether it is: from then on nothing more is written, because a disk that failed once to keep what
   * it was given may tell next time that it has, and those who read stay with what is known to be there.
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
      // Nobody removes or replaces it while a connection is open.
      await this.#sync((this.#log ??= openSync(`${this.#path}-wal`, "r")));
    } catch (error) {
      this.#failure = new AppError(
        "unavailable",
        "The disk has failed to keep what was written, so nothing more is. Whoever runs the service has to look at the disk, then start it again.",
        { internal: error },
      );
      throw outcomeUnknown(error);
    }
    this.#letReadersGoOn();
    seen();
  }

  /** Between two transactions: moves what the log has gathered into the file, where it is enough. */
  async settle(): Promise<void> {
    if (this.#failure !== undefined || this.#writing.pagesInLog() < pagesMax) return;
    const mover = (this.#mover ??= this.#startMover());
    // Whoever waits to write keeps the process alive meanwhile.
    mover.ref();
    mover.postMessage("move");
    await firstOf(mover, "message", "exit");
    mover.unref();
  }

  /** When nobody writes any more, and before the connections are closed. */
  async close(): Promise<void> {
    this.#mover?.ref();
    this.#mover?.postMessage("end");
    if (this.#mover !== undefined) await once(this.#mover, "exit");
    if (this.#log !== undefined) closeSync(this.#log);
  }

  /** If it fails, the log is as it was, and another is started after the next transaction. */
  #startMover(): Worker {
    const program = programBeside(import.meta.url, "log-mover.ts");
    const mover = new Worker(program, { workerData: this.#path, execArgv: [] });
    mover.on("error", () => {});
    mover.on("exit", () => {
      this.#mover = undefined;
    });
    return mover;
  }

  /** A transaction that reads sees what was there when it first read. */
  #holdReaders(): void {
    this.#reading.control("BEGIN");
    this.#reading.dataVersion();
  }

  #letReadersGoOn(): void {
    this.#reading.control("COMMIT");
  }
}

/** Resolves when one of two things has happened. */
async function firstOf(mover: Worker, one: string, other: string): Promise<void> {
  const waiting = new AbortController();
  const happened = [one, other].map((event) => once(mover, event, { signal: waiting.signal }));
  await Promise.race(happened).catch(() => {});
  waiting.abort();
}
