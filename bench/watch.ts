/** The memory of a process that is measured, seen from outside. */
import { readFileSync } from "node:fs";

/** The resident memory of a process, and the most that it had since the watch began. */
export class Watch {
  readonly #pid: number;
  #most = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.look(), 20);
  }

  look(): number {
    const pages = Number(readFileSync(`/proc/${this.#pid}/statm`, "utf8").split(" ")[1]);
    this.#most = Math.max(this.#most, pages * 4096);
    return pages * 4096;
  }

  most(): number {
    this.look();
    return this.#most;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
