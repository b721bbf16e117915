/** What an update really changes. */

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
