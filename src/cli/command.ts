/** The types of a CLI command and its invocation, and the functions that print rows and progress. It must not import any command. */
import type { SettingSources, SettingTable } from "../kernel/settings.ts";
import type { Settings } from "../settings.ts";

/** The arguments are wrong. The message is printed as it is, and the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface Terminal {
  /** Writes a line of the result to standard output. */
  readonly out: (line: string) => void;
  /** Writes a line about progress or an error to standard error. */
  readonly note: (line: string) => void;
  readonly isTerminal?: boolean;
}

export interface CommandOption {
  /** Placeholder of the value in `--help`, such as `NAME`. Absent for a switch, which takes no value. */
  readonly shape?: string;
  readonly doc: string;
  readonly required?: boolean;
}

/** The positional argument: a name, an id or a file. */
export interface CommandArgument {
  readonly shape: string;
  readonly doc: string;
  /** The option that this argument is a shorthand for. The command reads the option, and the option says whether it is required. */
  readonly option?: string;
}

export interface Invocation {
  readonly terminal: Terminal;
  /** The positional argument; empty for a command without one. */
  readonly argument: string;
  readonly value: (option: string) => string | undefined;
  readonly isOn: (option: string) => boolean;
  /** Throws SettingError. */
  readonly settings: () => Settings;
  /** For commands with `ownSettings`. */
  readonly sources: SettingSources;
}

/** The exit code of a command that ran to its end but is not a plain success. */
export interface CommandResult {
  readonly exitCode: number;
}

export interface Command {
  /** One or two words: `user create`. */
  readonly name: string;
  readonly summary: string;
  readonly argument?: CommandArgument;
  readonly options?: Readonly<Record<string, CommandOption>>;
  /** Server settings that the command accepts as flags. */
  readonly settings?: readonly (keyof Settings)[];
  /** Settings that the server doesn't have; all are accepted as flags. */
  readonly ownSettings?: SettingTable;
  /** Paragraphs after the options in `--help`: effects, and an example to copy. */
  readonly details?: readonly string[];
  /** Returns a result if the exit code isn't 0. Throws SettingError, AppError or UsageError. */
  readonly run: (invocation: Invocation) => Promise<CommandResult | void>;
}

/** Aborts on SIGINT and SIGTERM, so that a command can stop at a consistent point. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  return stop.signal;
}

export const jsonOption = { json: { doc: "Print JSON." } } as const satisfies Record<string, CommandOption>;

export type TableRow = Readonly<Record<string, string | number | boolean | null>>;

/** Prints objects that have the same keys as a table; the keys become the headings. */
export function printRows(
  terminal: Terminal,
  rows: readonly TableRow[],
  options: { json: boolean; empty: string },
): void {
  if (options.json) terminal.out(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) terminal.out(options.empty);
  else alignedLines(rows).forEach(terminal.out);
}

function alignedLines(rows: readonly TableRow[]): string[] {
  const names = Object.keys(rows[0] ?? {});
  const cells = [
    names.map((name) => name.replaceAll("-", " ").toUpperCase()),
    ...rows.map((row) => names.map((name) => cellText(row[name]))),
  ];
  const widths = names.map((_, column) => Math.max(...cells.map((line) => (line[column] ?? "").length)));
  return cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Replaces control characters: cells can contain other people's text, which must not control the operator's terminal. */
function cellText(value: TableRow[string] | undefined): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value).replace(/\p{C}/gu, " ");
}

const progressIntervalMs = 1000;

/** Prints progress at most once a second. The line is only built when it is printed. */
export function progressLines(note: (line: string) => void): (line: () => string) => void {
  let printedAt = performance.now();
  return (line) => {
    if (performance.now() - printedAt < progressIntervalMs) return;
    printedAt = performance.now();
    note(line());
  };
}
