/** The faults of archives and the limits of their size. */

const mebibyte = 1024 * 1024;

export const limits = {
  packedBytes: 100 * mebibyte,
  unpackedBytes: 512 * mebibyte,
  /** Includes directories that only occur in the names of entries. */
  entries: 50_000,
  depth: 64,
  nameBytes: 4096,
  segmentBytes: 255,
  /** All names stay in memory until the end. */
  allNamesBytes: 16 * mebibyte,
} as const;

export type ArchiveFaultCode =
  | "not_gzip"
  | "corrupt"
  | "truncated"
  | "trailing_data"
  | "too_large"
  | "too_large_unpacked"
  | "too_many_entries"
  | "names_too_long"
  | "name_too_long"
  | "name_absolute"
  | "name_outside"
  | "name_invalid"
  | "too_deep"
  | "link_outside"
  | "link_circle"
  | "hard_link_outside"
  | "below_link"
  | "below_file"
  | "kind_changed"
  | "special_file"
  | "set_user_id"
  | "unsupported_entry";

/** Not for network or disk errors. */
export class ArchiveFault extends Error {
  override readonly name = "ArchiveFault";
  readonly code: ArchiveFaultCode;

  constructor(code: ArchiveFaultCode, sentence: string) {
    super(sentence);
    this.code = code;
  }
}

/** Names have one character per byte. */
export function shownName(name: string): string {
  const text = Buffer.from(name, "latin1").toString("utf8");
  // oxlint-disable-next-line no-control-regex -- these are what must not reach a terminal
  const plain = text.replaceAll(/[\u0000-\u001F\u007F-\u009F\u2028\u2029]/g, "\uFFFD");
  return `'${plain.length > 200 ? `${plain.slice(0, 200)}…` : plain}'`;
}
