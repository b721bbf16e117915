/** Everything that was asked during a proof and what was answered, in memory for the checker and in a file for people. */
import { createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { dirname } from "node:path";

/**
 * - `done`: as it was asked for; `declined`: no, and rightly so perhaps (409, 404): the checker knows.
 * - `refused`: an honest 503, by which nothing was changed.
 * - `unknown`: a 503 that says so, or no answer from a server that was killed meanwhile.
 * - `wrong`: anything else.
 */
export type Outcome = "done" | "declined" | "refused" | "unknown" | "wrong";

export interface Event {
  /** The kind of proof that it is part of, and the thing in it: histories are judged by thing. */
  readonly proof: string;
  readonly key: string;
  readonly kind: string;
  readonly by: string;
  readonly server: string;
  readonly isWrite: boolean;
  /** What was written, or what was seen. */
  readonly value: string;
  readonly calledMs: number;
  readonly answeredMs: number;
  readonly outcome: Outcome;
  readonly status: number;
  /** By which the audit trail knows it; none where there was no answer. */
  readonly requestId?: string;
  readonly note?: string;
}

export class History {
  readonly events: Event[] = [];
  /** What happened to the cluster, and when. */
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
