/** Rows as people read them (aligned columns) or as scripts do (JSON). */
import type { Terminal } from "./command.ts";

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
