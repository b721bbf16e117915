/** Writes tables as CSV (RFC 4180), and escapes cells that a spreadsheet would evaluate as a formula. */

export type CsvCell = string | number | boolean | null;

export interface CsvTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly pieces: AsyncIterable<readonly (readonly CsvCell[])[]>;
  /** Called once when the table ends, even if nothing was read. */
  readonly close: () => void;
}

const needsQuotes = /[",\r\n]/;
/** Includes full-width characters, which some programs convert to the ASCII ones. */
const beginsFormula = /^[=+\-@\t\r\n＝＋－＠]/;

function cellText(cell: CsvCell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const safe = beginsFormula.test(cell) ? `'${cell}` : cell;
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvLines(rows: readonly (readonly CsvCell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("");
}
