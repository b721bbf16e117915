/** What may be wrong with an archive: a word for machines, and a sentence for whoever packed it. And how large one may be. */

const mebibyte = 1024 * 1024;

export const limits = {
  /** As it is sent. */
  packedBytes: 100 * mebibyte,
  /** Everything that comes out of it, counted while it is inflated. */
  unpackedBytes: 512 * mebibyte,
  /** Files, links and directories, also those that only others' names mention. */
  entries: 50_000,
  depth: 64,
  nameBytes: 4096,
  /** What file systems take between two slashes. */
  segmentBytes: 255,
  /** All names together, since they are all remembered until the end. */
  allNamesBytes: 16 * mebibyte,
} as const;

export type ArchiveFaultWord =
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

/** The archive is not one that we take. Nobody else is to blame but the archive: a broken wire or disk raises something else. */
export class ArchiveFault extends Error {
  override readonly name = "ArchiveFault";
  readonly word: ArchiveFaultWord;

  constructor(word: ArchiveFaultWord, sentence: string) {
    super(sentence);
    this.word = word;
  }
}

/** Names are bytes, kept as text of one character for each; people are shown what the bytes mean, on one line and not too long. */
export function shownName(name: string): string {
  const text = Buffer.from(name, "latin1").toString("utf8");
  // oxlint-disable-next-line no-control-regex -- these are what must not reach a terminal
  const plain = text.replaceAll(/[\u0000-\u001F\u007F-\u009F\u2028\u2029]/g, "\uFFFD");
  return `'${plain.length > 200 ? `${plain.slice(0, 200)}…` : plain}'`;
}
