/** Looks at an archive that passes: whether it is safe, and what its readme says. */
import { ArchiveReader, type ArchiveSummary } from "./archive-reader.ts";
import type { Thing } from "./tree.ts";

/** A longer one is passed over. */
export const readmeBytesMax = 1024 * 1024;

export interface CheckedArchive extends ArchiveSummary {
  readonly readme: Uint8Array | undefined;
}

/** The best name first; a name is one character for each byte. */
const readmeNames: readonly RegExp[] = [/^README\.md$/, /^readme\.md$/i, /^README$/, /^readme$/i];

export class ArchiveCheck {
  readonly #reader: ArchiveReader;
  /** With a slash at its end, or empty for the root. */
  readonly #directory: string;
  #rank = readmeNames.length;
  #readme: Uint8Array | undefined;
  /** The file that is being read, if it is a readme, and how good its name is. */
  #current: { readonly rank: number; readonly pieces: Uint8Array[] } | undefined;

  /** The working directory, as it is written in the workspace's settings. */
  constructor(directory: string) {
    const segments = directory.split("/").filter((segment) => segment !== "" && segment !== ".");
    this.#directory = segments.map((segment) => `${Buffer.from(segment).toString("latin1")}/`).join("");
    this.#reader = new ArchiveReader({
      open: ({ thing }) => this.#open(thing),
      data: (bytes) => void this.#current?.pieces.push(Uint8Array.from(bytes)),
      close: () => this.#close(),
    });
  }

  /** Raises `ArchiveFault`. */
  write(piece: Uint8Array): Promise<void> {
    return this.#reader.write(piece);
  }

  /** Raises `ArchiveFault`. */
  async end(): Promise<CheckedArchive> {
    return { ...(await this.#reader.end()), readme: this.#readme };
  }

  /** Nobody wants the rest. */
  destroy(): void {
    this.#reader.destroy();
  }

  #open(thing: Thing): void {
    this.#current = undefined;
    if (thing.kind !== "file" || !thing.path.startsWith(this.#directory)) return;
    const name = thing.path.slice(this.#directory.length);
    const rank = readmeNames.findIndex((pattern) => pattern.test(name));
    // The same name once more replaces what was there.
    if (rank !== -1 && rank <= this.#rank && thing.size <= readmeBytesMax) this.#current = { rank, pieces: [] };
  }

  #close(): void {
    if (this.#current === undefined) return;
    this.#rank = this.#current.rank;
    this.#readme = Buffer.concat(this.#current.pieces);
    this.#current = undefined;
  }
}
