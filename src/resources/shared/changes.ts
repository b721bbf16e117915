/** What an update really changes. */
import { afterUpdate } from "./versions.ts";

/** Only the members whose value differs; undefined when none does, and then nothing is written. */
export function changesOf<Row extends object>(
  before: Row,
  wanted: { readonly [K in keyof Row]?: Row[K] | undefined },
): Partial<Row> | undefined {
  const changed = Object.entries(wanted).filter(
    ([name, value]) => value !== undefined && value !== before[name as keyof Row],
  );
  return changed.length === 0 ? undefined : (Object.fromEntries(changed) as Partial<Row>);
}

/** The same, with the row as it is after `updateRow`. */
export function updateOf<Row extends { readonly version: number }>(
  before: Row,
  wanted: { readonly [K in keyof Row]?: Row[K] | undefined },
): { readonly changes: Partial<Row> | undefined; readonly changed: Row } {
  const changes = changesOf(before, wanted);
  return { changes, changed: afterUpdate(before, changes) };
}
