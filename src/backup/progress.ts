/** Tells how far a long piece of work is: at most one line a second, so that a log stays readable. */
import { counted } from "../kernel/text.ts";

const intervalMs = 1000;

export interface Progress {
  /** `rows` of `table` are done so far. */
  (table: string, rows: number): void;
}

/** `doing` is what begins each line: `writing`. */
export function progressTo(note: (line: string) => void, doing: string): Progress {
  const tell = nowAndThen(note);
  return (table, rows) => tell(() => `${doing} ${table}: ${counted(rows, "row")}`);
}

/** The line is only put together when it is told. */
export function nowAndThen(note: (line: string) => void): (line: () => string) => void {
  let toldAt = performance.now();
  return (line) => {
    if (performance.now() - toldAt < intervalMs) return;
    toldAt = performance.now();
    note(line());
  };
}
