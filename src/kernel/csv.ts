/**
 * Tables as CSV (RFC 4180): cells between commas, quoted where they need it, lines that end in CRLF. A cell that a spreadsheet would take
 * for a formula begins with an apostrophe instead: names are other people's words, and nobody's program.
 */

export type Cell = string | number | boolean | null;

/** A table whose rows come a few at a time, as they are found, so that it may be of any length. */
export interface Table {
  /** What a file of it is called, without its ending. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly pieces: AsyncIterable<readonly (readonly Cell[])[]>;
  /** Called once when it is over, also where nobody has read any of it. */
  readonly close: () => void;
}

const needsQuotes = /[",\r\n]/;
/** Also where the character that begins a formula is only seen by programs that read wide characters as narrow ones. */
const beginsFormula = /^[=+\-@\t\r\n＝＋－＠]/;

function written(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const safe = beginsFormula.test(cell) ? `'${cell}` : cell;
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line for each row, each with its end. */
export function csvLines(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(written).join(",")}\r\n`).join("");
}
