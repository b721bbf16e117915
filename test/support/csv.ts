/** Reads CSV strictly by RFC 4180, for tests of exports. */
import { expect } from "vitest";

/** Each row must have every cell, and the last line its line end. */
export function parseCsv(text: string): Record<string, string>[] {
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  const lines: string[][] = [[]];
  while (cell.lastIndex < text.length) {
    const at = cell.lastIndex;
    const [, quoted, plain = "", end] = cell.exec(text) ?? [];
    expect(end, `a cell at ${at}`).toBeDefined();
    lines.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === "\r\n") lines.push([]);
  }
  expect(lines.pop()).toEqual([]);
  const [columns = [], ...rows] = lines;
  return rows.map((cells) => {
    expect(cells).toHaveLength(columns.length);
    return Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? ""]));
  });
}
