/**
 * The state during an apply: the engine writes it to a file after every resource; here it goes to the server, now and then while the
 * apply runs, and once more at the end whatever came of it. It is never in memory as a whole.
 */
import { createHash } from "node:crypto";
import { openAsBlob } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type StateHead, StateHeadReader } from "../statefile/state-head.ts";
import type { JobClient } from "./client.ts";
import { copyOut } from "./files.ts";
import type { Job } from "./job.ts";
import { Refused } from "./server.ts";

/** Where the local backend keeps the state of a workspace; that of `default` is kept apart. */
export const stateFile = (directory: string, workspace: string): string =>
  workspace === "default"
    ? join(directory, "terraform.tfstate")
    : join(directory, "terraform.tfstate.d", workspace, "terraform.tfstate");

const rhythmMs = 20_000;
const lookMs = 2000;

export interface StateKeeperOptions {
  readonly root: string;
  readonly file: string;
  /** A path of the agent's own, for what is sent: the engine may write the file meanwhile. */
  readonly copy: string;
  /** Of the state that the apply began with. */
  readonly md5: string | undefined;
  readonly client: Pick<JobClient, "writeState" | "putContent">;
  readonly rhythm?: number;
}

interface StateCopy {
  readonly bytes: Blob;
  readonly md5: string;
  /** Undefined where it can't be read: the engine is just writing it, or was ended while it did. */
  readonly head: StateHead | undefined;
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
    const state = await this.#copyState();
    if (state === undefined || state.md5 === this.#stored) return undefined;
    if (state.head === undefined) return this.#keepAside(state, "it is not a complete state file");
    try {
      await this.#options.client.writeState({ ...state, ...state.head });
      return undefined;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return this.#keepAside(state, error.message);
    }
  }

  async #keepAside({ bytes }: StateCopy, why: string): Promise<string> {
    await this.#options.client.putContent("errored-state", bytes);
    return `The state could not be stored (${why}). It is kept with this apply, as its errored-state: store it by hand before the next run.`;
  }

  /** In between, a refusal is no disaster: the end tries again. */
  async #uploadIfChanged(): Promise<void> {
    const { root, file, client } = this.#options;
    const facts = await stat(file).catch(() => undefined);
    const seen = `${facts?.mtimeMs} ${facts?.size}`;
    if (facts === undefined || seen === this.#seen || !file.startsWith(root)) return;
    const state = await this.#copyState();
    if (state?.head === undefined) return;
    this.#seen = seen;
    if (state.md5 === this.#stored) return;
    this.#uploadedAt = performance.now();
    try {
      await client.writeState({ ...state, ...state.head });
      this.#stored = state.md5;
    } catch {
      // Told then, if it is still so.
    }
  }

  /** Undefined where there is none. */
  async #copyState(): Promise<StateCopy | undefined> {
    const { root, file, copy } = this.#options;
    const hash = createHash("md5");
    const reader = new StateHeadReader();
    await rm(copy, { force: true });
    const isThere = await copyOut(root, file, copy, (piece) => {
      hash.update(piece);
      reader.write(piece);
    });
    return isThere ? { bytes: await openAsBlob(copy), md5: hash.digest("hex"), head: reader.end() } : undefined;
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
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${job.runId}-${Date.now()}.tfstate`);
  return (await copyOut(root, file, path)) ? path : undefined;
}
