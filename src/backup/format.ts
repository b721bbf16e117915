/** The lines of a backup file, described for people in `docs/backup-format.md`. It knows neither files nor databases. */

export const formatName = "cadastre-backup";
export const formatVersion = 1;

/** The first line. It holds nothing secret. */
export interface Header {
  readonly format: typeof formatName;
  readonly version: number;
  readonly createdAt: string;
  /** The version of Cadastre that wrote it. */
  readonly cadastre: string;
  readonly migrations: readonly string[];
  /** Names the key under which the encrypted values can be opened. */
  readonly keyId: string;
}

/** Begins a table; the lines that follow are its rows, until the next table or the end. */
export interface Section {
  readonly table: string;
  readonly columns: readonly string[];
}

/** The last line: the rows of each table, and the SHA-256 (hex) of every byte of the lines before it. */
export interface Footer {
  readonly rows: Readonly<Record<string, number>>;
  /** Every key that encrypted values are under; absent in older files, whose values are all under the header's. */
  readonly keyIds?: readonly string[];
  readonly sha256: string;
}

export type Value = string | number | null | Uint8Array;

/** Bytes are the only values that JSON does not know. */
interface EncodedBytes {
  readonly base64: string;
}

export function encodeRow(values: readonly Value[]): string {
  return JSON.stringify(
    values.map((value) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value)),
  );
}

export function decodeRow(values: readonly (string | number | null | EncodedBytes)[]): Value[] {
  return values.map((value) =>
    typeof value === "object" && value !== null ? Buffer.from(value.base64, "base64") : value,
  );
}
