/** Compares databases row by row, by their backups. */
import { encodeRow } from "../src/backup/format.ts";
import { readBackup } from "../src/backup/read.ts";

/** Encoded rows by table. */
export type Rows = ReadonlyMap<string, ReadonlySet<string>>;

export async function rowsIn(file: string): Promise<Rows> {
  const rows = new Map<string, Set<string>>();
  let own = new Set<string>();
  for await (const part of readBackup(file)) {
    if (part.kind === "section") rows.set(part.section.table, (own = new Set()));
    if (part.kind === "row" && !isRegisterIdentity(part.values)) own.add(encodeRow(part.values));
  }
  return rows;
}

/** A restored register has an id of its own, and remembers where it came from. */
const isRegisterIdentity = ([name]: readonly unknown[]): boolean =>
  name === "register-id" || name === "register-origin";

export const countOf = (rows: Rows): number => [...rows.values()].reduce((sum, own) => sum + own.size, 0);

export function differencesOf(one: Rows, other: Rows): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].flatMap((table) => {
    const [left, right] = [one.get(table) ?? new Set<string>(), other.get(table) ?? new Set<string>()];
    const [lost, added] = [left.difference(right), right.difference(left)];
    if (lost.size + added.size === 0) return [];
    const [example = ""] = [...lost, ...added];
    return [`${table}: ${lost.size} rows are missing, ${added.size} are new: ${example.slice(0, 300)}`];
  });
}

/** Append-only tables: earlier rows must not change. */
const appendOnlyTables = ["audit_events", "content_chunks"];

export function lostSince(earlier: Rows, later: Rows, tables: readonly string[] = appendOnlyTables): string[] {
  return tables.flatMap((table) => {
    if (!earlier.has(table)) return [`there is no table ${table}`];
    const lost = earlier.get(table)!.difference(later.get(table) ?? new Set());
    const [example = ""] = lost;
    return lost.size === 0 ? [] : [`${table}: ${lost.size} rows changed: ${example.slice(0, 300)}`];
  });
}
