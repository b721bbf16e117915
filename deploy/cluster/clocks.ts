/** Per-process clocks, offset by a number of seconds with libfaketime, which needs no root. */
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folderFor, type Owner, writeFor } from "./parts.ts";

export class Clock {
  readonly #file: string;
  readonly #library: string | undefined;

  constructor(name: string, folder: string, owner: Owner | undefined, library: string | undefined) {
    this.#library = library;
    this.#file = writeFor(owner, join(folderFor(owner, join(folder, "clocks")), name), "+0s\n");
  }

  get canMove(): boolean {
    return this.#library !== undefined;
  }

  /** Environment variables for a process that uses this clock. The monotonic clock of timers is not changed. */
  get environment(): Record<string, string> {
    if (this.#library === undefined) return {};
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
      FAKETIME_DONT_RESET: "1",
    };
  }

  move(seconds: number): void {
    writeFileSync(this.#file, `${seconds < 0 ? "-" : "+"}${Math.abs(seconds)}s\n`);
    utimesSync(this.#file, new Date(), new Date());
  }
}
