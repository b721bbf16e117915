/** Tables for the documents. */

const row = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return `${[row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n")}\n`;
}
