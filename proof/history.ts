/** The history of a proof: every request and its outcome, in memory for the checker and in a file for debugging. */
import { createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { dirname } from "node:path";

/**
 * - `done`: success; `declined`: an expected error such as 409 or 404, which the checker verifies.
 * - `refused`: a 503 that says that nothing was changed.
 * - `unknown`: a 503 that says that the outcome is unknown, or no response from a server that was killed.
 * - `wrong`: anything else.
 */
export type Outcome = "done" | "declined" | "refused" | "unknown" | "wrong";

export interface Event {
  /** The guarantee, and the resource: each resource's history is checked separately. */
  readonly proof: string;
  readonly key: string;
  readonly kind: string;
  readonly by: string;
  readonly server: string;
  readonly isWrite: boolean;
  /** What was written or read. */
  readonly value: string;
  readonly calledMs: number;
  readonly answeredMs: number;
  readonly outcome: Outcome;
  readonly status: number;
  /** As in the audit log; absent without a response. */
  readonly requestId?: string;
  readonly note?: string;
}

export class History {
  readonly events: Event[] = [];
  /** The faults that were injected, and when. */
  readonly marks: { readonly atMs: number; readonly what: string }[] = [];
  readonly file: string;
  readonly #stream: WriteStream;

  constructor(file: string) {
    this.file = file;
    mkdirSync(dirname(file), { recursive: true });
    this.#stream = createWriteStream(file);
  }

  add(event: Event): void {
    this.events.push(event);
    this.#stream.write(`${JSON.stringify(event)}\n`);
  }

  mark(what: string): void {
    const mark = { atMs: performance.now(), what };
    this.marks.push(mark);
    this.#stream.write(`${JSON.stringify(mark)}\n`);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#stream.end(resolve));
  }
}
