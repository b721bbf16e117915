/** Instants as the register stores and shows them: ISO 8601, UTC, milliseconds. */

export type Timestamp = string;

export function now(): Timestamp {
  return new Date().toISOString();
}

/**
 * Reads an instant that a person or client wrote (RFC 3339: a date, a time and a zone), and gives it in the stored form;
 * `undefined` where it is not one.
 */
export function parseTimestamp(text: string): Timestamp | undefined {
  if (!/^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:?\d{2})$/.test(text)) return undefined;
  // A day that no month has would silently become one of the next.
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number);
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) return undefined;
  const instant = new Date(text.replace(" ", "T"));
  if (Number.isNaN(instant.getTime())) return undefined;
  const utcYear = instant.getUTCFullYear();
  return utcYear >= 1970 && utcYear <= 9999 ? instant.toISOString() : undefined;
}
