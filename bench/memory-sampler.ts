/** Samples the memory of processes. */
import { readFileSync } from "node:fs";

/** Resident memory of some processes, and their maximum so far. */
export class MemorySampler {
  readonly #pids: () => readonly number[];
  #most = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(pids: () => readonly number[]) {
    this.#pids = pids;
    this.#timer = setInterval(() => this.sample(), 20);
  }

  sample(): number {
    const bytes = this.#pids().reduce((sum, pid) => sum + residentBytes(pid), 0);
    this.#most = Math.max(this.#most, bytes);
    return bytes;
  }

  max(): number {
    this.sample();
    return this.#most;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** 0 if the process has exited. */
function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096;
  } catch {
    return 0;
  }
}
