/** Splits rows for inserts, because the engines limit the parameters of a statement. */
const rowsPerInsert = 1000;

export function* rowBatches<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let from = 0; from < rows.length; from += rowsPerInsert) yield rows.slice(from, from + rowsPerInsert);
}
