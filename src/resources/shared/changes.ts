/** Finds the columns that an update changes. */
import { afterUpdate } from "./versions.ts";

/** Undefined if no value differs. */
export function changesOf<Row extends object>(
  before: Row,
  input: { readonly [K in keyof Row]?: Row[K] | undefined },
): Partial<Row> | undefined {
  const changed = Object.entries(input).filter(
    ([name, value]) => value !== undefined && value !== before[name as keyof Row],
  );
  return changed.length === 0 ? undefined : (Object.fromEntries(changed) as Partial<Row>);
}

export function updateOf<Row extends { readonly version: number }>(
  before: Row,
  input: { readonly [K in keyof Row]?: Row[K] | undefined },
): { readonly changes: Partial<Row> | undefined; readonly changed: Row } {
  const changes = changesOf(before, input);
  return { changes, changed: afterUpdate(before, changes) };
}
