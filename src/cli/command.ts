/** The types of a CLI command, and the functions that print rows and progress. It must not import any command. */
import type { SettingSources, SettingTable } from "../kernel/settings.ts";
import type { Settings } from "../settings.ts";

/** Exit code 2; the message is printed as it is. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface Terminal {
  readonly out: (line: string) => void;
  /** Progress and errors, to standard error. */
  readonly note: (line: string) => void;
  readonly isTerminal?: boolean;
}

export interface CommandOption {
  /** Such as `NAME` in `--help`. Absent for a switch. */
  readonly shape?: string;
  readonly doc: string;
  readonly required?: boolean;
}

export interface CommandArgument {
  readonly shape: string;
  readonly doc: string;
  /** How many words it consists of; 1 if absent. The command gets them with a space between. */
  readonly words?: number;
  /** The option that this argument is a shorthand for; the command reads only the option. */
  readonly option?: string;
}

export interface Invocation {
  readonly terminal: Terminal;
  readonly argument: string;
  readonly value: (option: string) => string | undefined;
  readonly isOn: (option: string) => boolean;
  /** Throws SettingError. */
  readonly settings: () => Settings;
  readonly sources: SettingSources;
}

export interface CommandResult {
  readonly exitCode: number;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly argument?: CommandArgument;
  readonly options?: Readonly<Record<string, CommandOption>>;
  readonly settings?: readonly (keyof Settings)[];
  readonly ownSettings?: SettingTable;
  readonly details?: readonly string[];
  /** Throws SettingError, AppError or UsageError. */
  readonly run: (invocation: Invocation) => Promise<CommandResult | void>;
}

/** Lets a command stop at a consistent point. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  return stop.signal;
}

export const jsonOption = { json: { doc: "Print JSON." } } as const satisfies Record<string, CommandOption>;

export type TableRow = Readonly<Record<string, string | number | boolean | null>>;

/** The keys are the headings; all rows must have the same ones. */
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

/** Other people's text must not control the operator's terminal. */
function cellText(value: TableRow[string] | undefined): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value).replace(/\p{C}/gu, " ");
}

const progressIntervalMs = 1000;

export function progressLines(note: (line: string) => void): (line: () => string) => void {
  let printedAt = performance.now();
  return (line) => {
    if (performance.now() - printedAt < progressIntervalMs) return;
    printedAt = performance.now();
    note(line());
  };
}
