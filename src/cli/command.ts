/** What a command of the command line is, what it is given when it runs, and how it prints rows. It knows no command by name. */
import type { SettingSources, SettingTable } from "../kernel/settings.ts";
import type { Settings } from "../settings.ts";

/** The command was written wrongly; its message is a sentence for the person who wrote it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface Terminal {
  /** Writes a line that is the command's result: standard output. */
  readonly out: (line: string) => void;
  /** Writes a line about the command's course: standard error. */
  readonly note: (line: string) => void;
  /** Whether a person looks on. */
  readonly isTerminal?: boolean;
}

export interface Option {
  /** How the value is shown in `--help`: `NAME`. Absent for a switch, which takes no value. */
  readonly shape?: string;
  readonly doc: string;
  readonly required?: boolean;
}

/** The one thing that the command is about: a name, an id or a file. */
export interface Argument {
  readonly shape: string;
  readonly doc: string;
  /** The option that it is another way to give. The command reads that option, which says whether it is required. */
  readonly option?: string;
}

export interface Invocation {
  readonly terminal: Terminal;
  /** The one thing that the command is about (`FILE`, `ID`); empty for a command without. */
  readonly argument: string;
  /** The value of an option, undefined where it was not given. */
  readonly value: (option: string) => string | undefined;
  readonly isOn: (option: string) => boolean;
  /** Raises SettingError. */
  readonly settings: () => Settings;
  /** For a command with a table of settings of its own. */
  readonly sources: SettingSources;
}

/** How a command ended that neither failed nor did all that it was asked to. */
export interface Ended {
  readonly exitCode: number;
}

export interface Command {
  /** One or two words: `user create`. */
  readonly name: string;
  readonly summary: string;
  readonly argument?: Argument;
  readonly options?: Readonly<Record<string, Option>>;
  /** The settings that it takes as flags. */
  readonly settings?: readonly (keyof Settings)[];
  /** Settings that are not the service's; it takes them all as flags. */
  readonly ownSettings?: SettingTable;
  /** What `--help` tells beyond the options: effects, and an example to copy. */
  readonly details?: readonly string[];
  /** Gives an exit code where it is not 0. Raises SettingError, AppError or UsageError, each with a sentence. */
  readonly run: (invocation: Invocation) => Promise<Ended | void>;
}

/** Ctrl+C ends what can be ended in the middle, without leaving anything by half. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  return stop.signal;
}

export const jsonOption = { json: { doc: "Print JSON, for scripts." } } as const satisfies Record<string, Option>;

export type Row = Readonly<Record<string, string | number | boolean | null>>;

/** Prints objects of the same keys; the keys become the headings. */
export function printRows(terminal: Terminal, rows: readonly Row[], options: { json: boolean; none: string }): void {
  if (options.json) terminal.out(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) terminal.out(options.none);
  else alignedLines(rows).forEach(terminal.out);
}

function alignedLines(rows: readonly Row[]): string[] {
  const names = Object.keys(rows[0] ?? {});
  const cells = [
    names.map((name) => name.replaceAll("-", " ").toUpperCase()),
    ...rows.map((row) => names.map((name) => shown(row[name]))),
  ];
  const widths = names.map((_, column) => Math.max(...cells.map((line) => (line[column] ?? "").length)));
  return cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** What would move the cursor or break the line is left out: a description is somebody else's text on the operator's screen. */
function shown(value: Row[string] | undefined): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value).replace(/\p{C}/gu, " ");
}

const progressEveryMs = 1000;

/** Prints how far a long piece of work is: at most one line a second, which is only put together when it is printed. */
export function progressLines(note: (line: string) => void): (line: () => string) => void {
  let printedAt = performance.now();
  return (line) => {
    if (performance.now() - printedAt < progressEveryMs) return;
    printedAt = performance.now();
    note(line());
  };
}
