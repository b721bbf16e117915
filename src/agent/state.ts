/**
 * The state during an apply: the engine writes it to a file after every resource; here it goes to the server, now and then while the
 * apply runs, and once more at the end whatever came of it.
 */
import { createHash } from "node:crypto";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { JobClient } from "./client.ts";
import { readInside, writeNew } from "./files.ts";
import type { Job } from "./job.ts";
import { Refused } from "./server.ts";

/** Where the local backend keeps the state of a workspace; that of `default` is kept apart. */
export const stateFile = (directory: string, workspace: string): string =>
  workspace === "default"
    ? join(directory, "terraform.tfstate")
    : join(directory, "terraform.tfstate.d", workspace, "terraform.tfstate");

const rhythmMs = 20_000;
const lookMs = 2000;
const stateBytesMax = 1024 ** 3;

export interface StateKeeperOptions {
  readonly root: string;
  readonly file: string;
  /** Of the state that the apply began with. */
  readonly md5: string | undefined;
  readonly client: Pick<JobClient, "writeState" | "putContent">;
  readonly rhythm?: number;
}

interface ReadState {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly md5: string;
  readonly serial: number;
  readonly lineage: string;
}

export class StateKeeper {
  readonly #options: StateKeeperOptions;
  readonly #rhythmMs: number;
  #stored: string | undefined;
  #seen = "";
  /** When something was last sent; the first change is sent at once. */
  #uploadedAt = -Infinity;
  #uploading: Promise<void> = Promise.resolve();
  #look: NodeJS.Timeout | undefined;

  constructor(options: StateKeeperOptions) {
    this.#options = options;
    this.#rhythmMs = options.rhythm ?? rhythmMs;
    this.#stored = options.md5;
  }

  start(): void {
    this.#look = setInterval(
      () => {
        if (performance.now() - this.#uploadedAt < this.#rhythmMs) return;
        this.#uploading = this.#uploading.then(() => this.#uploadIfChanged());
      },
      Math.min(lookMs, this.#rhythmMs),
    );
  }

  /** What is there now is with the server, or undefined; else a sentence that says where it is. Raises Fenced. */
  async end(): Promise<string | undefined> {
    clearInterval(this.#look);
    await this.#uploading;
    const state = await this.#read();
    if (state === undefined || state.md5 === this.#stored) return undefined;
    try {
      await this.#options.client.writeState(state);
      return undefined;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      await this.#options.client.putContent("errored-state", state.bytes);
      return `The state could not be stored (${error.message}). It is kept with this apply, as its errored-state: store it by hand before the next run.`;
    }
  }

  /** In between, a refusal is no disaster: the end tries again. */
  async #uploadIfChanged(): Promise<void> {
    const { root, file, client } = this.#options;
    const facts = await stat(file).catch(() => undefined);
    const seen = `${facts?.mtimeMs} ${facts?.size}`;
    if (facts === undefined || seen === this.#seen || !file.startsWith(root)) return;
    const state = await this.#read();
    if (state === undefined) return;
    this.#seen = seen;
    if (state.md5 === this.#stored) return;
    this.#uploadedAt = performance.now();
    try {
      await client.writeState(state);
      this.#stored = state.md5;
    } catch {
      // Told then, if it is still so.
    }
  }

  /** Undefined where there is none, or where the engine is just writing it. */
  async #read(): Promise<ReadState | undefined> {
    const bytes = await readInside(this.#options.root, this.#options.file, stateBytesMax);
    if (bytes === undefined) return undefined;
    try {
      const { serial, lineage } = JSON.parse(bytes.toString("utf8")) as { serial: number; lineage: string };
      if (!Number.isSafeInteger(serial) || typeof lineage !== "string") return undefined;
      return { bytes, serial, lineage, md5: createHash("md5").update(bytes).digest("hex") };
    } catch {
      return undefined;
    }
  }
}

/** A job was lost while its engine ran: nobody takes its state any more, so it stays here. Where, or undefined where there is none. */
export async function keepLostState(
  folder: string,
  job: Pick<Job, "runId" | "phase">,
  root: string,
  file: string,
): Promise<string | undefined> {
  if (job.phase !== "apply") return undefined;
  const bytes = await readInside(root, file, stateBytesMax);
  if (bytes === undefined) return undefined;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${job.runId}-${Date.now()}.tfstate`);
  await writeNew(path, bytes);
  return path;
}
