/** Uploads the state during and after an apply. It must not read the whole state into memory. */
import { createHash } from "node:crypto";
import { openAsBlob } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type StateHead, StateHeadReader } from "../statefile/state-head.ts";
import type { JobClient } from "./client.ts";
import { copyOut } from "./files.ts";
import type { JobDocument } from "./job.ts";
import { ServerRejection } from "./server.ts";

export const stateFile = (directory: string, workspace: string): string =>
  workspace === "default"
    ? join(directory, "terraform.tfstate")
    : join(directory, "terraform.tfstate.d", workspace, "terraform.tfstate");

const intervalMs = 20_000;
const checkMs = 2000;

export interface StateUploaderOptions {
  readonly root: string;
  readonly file: string;
  /** The engine can write the file during the upload. */
  readonly copy: string;
  /** Of the state before the apply. */
  readonly md5: string | undefined;
  readonly client: Pick<JobClient, "writeState" | "putContent">;
  readonly intervalMs?: number;
}

interface StateCopy {
  readonly bytes: Blob;
  readonly md5: string;
  /** Undefined if the file is incomplete: the engine is writing it, or was killed. */
  readonly head: StateHead | undefined;
}

export class StateUploader {
  readonly #options: StateUploaderOptions;
  readonly #intervalMs: number;
  #storedMd5: string | undefined;
  #lastSeen = "";
  #uploadedAt = -Infinity;
  #uploading: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: StateUploaderOptions) {
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? intervalMs;
    this.#storedMd5 = options.md5;
  }

  start(): void {
    this.#timer = setInterval(
      () => {
        if (performance.now() - this.#uploadedAt < this.#intervalMs) return;
        this.#uploading = this.#uploading.then(() => this.#uploadIfChanged());
      },
      Math.min(checkMs, this.#intervalMs),
    );
  }

  /** Returns an error message, or undefined. Throws JobLost. */
  async end(): Promise<string | undefined> {
    clearInterval(this.#timer);
    await this.#uploading;
    const state = await this.#copyState();
    if (state === undefined || state.md5 === this.#storedMd5) return undefined;
    if (state.head === undefined) return this.#saveAsErroredState(state, "it is not a complete state file");
    try {
      await this.#options.client.writeState({ ...state, ...state.head });
      return undefined;
    } catch (error) {
      if (!(error instanceof ServerRejection)) throw error;
      return this.#saveAsErroredState(state, error.message);
    }
  }

  async #saveAsErroredState({ bytes }: StateCopy, reason: string): Promise<string> {
    await this.#options.client.putContent("errored-state", bytes);
    return `The state could not be saved to the workspace (${reason}). It was saved as the errored state of this apply: push it to the workspace before the next run.`;
  }

  /** Ignores failures: only the upload at the end counts. */
  async #uploadIfChanged(): Promise<void> {
    const { root, file, client } = this.#options;
    const stats = await stat(file).catch(() => undefined);
    const seen = `${stats?.mtimeMs} ${stats?.size}`;
    if (stats === undefined || seen === this.#lastSeen || !file.startsWith(root)) return;
    const state = await this.#copyState();
    if (state?.head === undefined) return;
    this.#lastSeen = seen;
    if (state.md5 === this.#storedMd5) return;
    this.#uploadedAt = performance.now();
    try {
      await client.writeState({ ...state, ...state.head });
      this.#storedMd5 = state.md5;
    } catch {
      // Reported at the end, if it still fails.
    }
  }

  async #copyState(): Promise<StateCopy | undefined> {
    const { root, file, copy } = this.#options;
    const hash = createHash("md5");
    const reader = new StateHeadReader();
    await rm(copy, { force: true });
    const exists = await copyOut(root, file, copy, (piece) => {
      hash.update(piece);
      reader.write(piece);
    });
    return exists ? { bytes: await openAsBlob(copy), md5: hash.digest("hex"), head: reader.end() } : undefined;
  }
}

/** For a lost job, whose state the server no longer accepts. Returns undefined if there is no state. */
export async function saveLostState(
  directory: string,
  job: Pick<JobDocument, "runId" | "phase">,
  root: string,
  file: string,
): Promise<string | undefined> {
  if (job.phase !== "apply") return undefined;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `${job.runId}-${Date.now()}.tfstate`);
  return (await copyOut(root, file, path)) ? path : undefined;
}
