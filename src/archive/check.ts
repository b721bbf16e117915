/** Checks an archive as a stream, and extracts its readme. */
import { ArchiveReader, type ArchiveSummary } from "./archive-reader.ts";
import type { ArchiveEntry } from "./tree.ts";

/** Larger readmes are ignored. */
export const readmeBytesMax = 1024 * 1024;

export interface CheckedArchive extends ArchiveSummary {
  readonly readme: Uint8Array | undefined;
}

/** In order of preference. Names have one character per byte. */
const readmeNames: readonly RegExp[] = [/^README\.md$/, /^readme\.md$/i, /^README$/, /^readme$/i];

export class ArchiveCheck {
  readonly #reader: ArchiveReader;
  /** With a trailing slash; empty for the root. */
  readonly #directory: string;
  #rank = readmeNames.length;
  #readme: Uint8Array | undefined;
  #current: { readonly rank: number; readonly pieces: Uint8Array[] } | undefined;

  constructor(directory: string) {
    const segments = directory.split("/").filter((segment) => segment !== "" && segment !== ".");
    this.#directory = segments.map((segment) => `${Buffer.from(segment).toString("latin1")}/`).join("");
    this.#reader = new ArchiveReader({
      open: ({ entry }) => this.#open(entry),
      data: (bytes) => void this.#current?.pieces.push(Uint8Array.from(bytes)),
      close: () => this.#close(),
    });
  }

  write(piece: Uint8Array): Promise<void> {
    return this.#reader.write(piece);
  }

  async end(): Promise<CheckedArchive> {
    return { ...(await this.#reader.end()), readme: this.#readme };
  }

  destroy(): void {
    this.#reader.destroy();
  }

  #open(entry: ArchiveEntry): void {
    this.#current = undefined;
    if (entry.kind !== "file" || !entry.path.startsWith(this.#directory)) return;
    const name = entry.path.slice(this.#directory.length);
    const rank = readmeNames.findIndex((pattern) => pattern.test(name));
    // A later entry of the same name replaces the earlier one.
    if (rank !== -1 && rank <= this.#rank && entry.size <= readmeBytesMax) this.#current = { rank, pieces: [] };
  }

  #close(): void {
    if (this.#current === undefined) return;
    this.#rank = this.#current.rank;
    this.#readme = Buffer.concat(this.#current.pieces);
    this.#current = undefined;
  }
}
