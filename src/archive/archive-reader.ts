/**
 * Reads a gzip tar archive as it arrives, in bounded memory, and refuses what is not safe to unpack. Whoever wants its content is
 * told of one thing after the other, and may take its time: nothing more is read meanwhile.
 */
import { createGunzip, type Gunzip } from "node:zlib";
import { freeBuffersAfter } from "../kernel/streams.ts";
import { ArchiveFault, limits } from "./faults.ts";
import { TarReader } from "./tar-reader.ts";
import { type Addition, Tree } from "./tree.ts";

const gzipMark = [0x1f, 0x8b];

type Done = void | Promise<void>;

export interface ArchiveVisitor {
  open?(addition: Addition): Done;
  /** Of the file that was opened last; the bytes are only lent for the call. */
  data?(bytes: Uint8Array): Done;
  /** The thing that was opened last is complete. */
  close?(): Done;
}

/** What an archive had. */
export interface ArchiveSummary {
  readonly packedBytes: number;
  readonly unpackedBytes: number;
}

export class ArchiveReader {
  readonly #gunzip: Gunzip = createGunzip({ chunkSize: 64 * 1024 });
  readonly #tar = new TarReader();
  readonly #tree = new Tree();
  readonly #visitor: ArchiveVisitor;
  /** Ends when all was read, or at the first fault. */
  readonly #reading: Promise<void>;
  #isReading = true;
  /** Whether the entry that is being read is one that the visitor was told of. */
  #isOpen = false;
  #packedBytes = 0;
  #unpackedBytes = 0;

  constructor(visitor: ArchiveVisitor) {
    this.#visitor = visitor;
    this.#reading = this.#readAll();
    // It is looked at with the next piece.
    this.#reading.catch(() => {});
  }

  /** Raises `ArchiveFault`, and whatever the visitor raises. */
  async write(piece: Uint8Array): Promise<void> {
    if (piece.length === 0) return;
    this.#refuseOther(piece);
    this.#packedBytes += piece.length;
    if (this.#packedBytes > limits.packedBytes) {
      this.destroy();
      throw new ArchiveFault(
        "too_large",
        `An archive can have at most ${limits.packedBytes} bytes; this one has more.`,
      );
    }
    if (this.#isReading) {
      const written = new Promise<void>((resolve) => this.#gunzip.write(piece, () => resolve()));
      await Promise.race([written, this.#reading]);
    }
    if (!this.#isReading || this.#gunzip.destroyed) await this.#reading;
  }

  /** Nothing more comes. Raises `ArchiveFault`, and whatever the visitor raises. */
  async end(): Promise<ArchiveSummary> {
    this.#gunzip.end();
    await this.#reading;
    if (this.#gunzip.bytesWritten < this.#packedBytes) throw trailing();
    this.#tar.end();
    this.#tree.end();
    return { packedBytes: this.#packedBytes, unpackedBytes: this.#unpackedBytes };
  }

  /** Nobody wants the rest. */
  destroy(): void {
    this.#gunzip.destroy();
  }

  /** By the two bytes that gzip begins with. */
  #refuseOther(piece: Uint8Array): void {
    const start = gzipMark.slice(this.#packedBytes);
    if (start.every((byte, place) => place >= piece.length || piece[place] === byte)) return;
    this.destroy();
    throw new ArchiveFault("not_gzip", "This is no gzip archive. Send a directory as tar, compressed with gzip.");
  }

  async #readAll(): Promise<void> {
    try {
      for await (const piece of this.#gunzip as AsyncIterable<Uint8Array>) await this.#take(piece);
    } catch (error) {
      throw this.#told(error);
    } finally {
      this.#isReading = false;
    }
  }

  async #take(piece: Uint8Array): Promise<void> {
    this.#unpackedBytes += piece.length;
    freeBuffersAfter(piece.length);
    if (this.#unpackedBytes > limits.unpackedBytes)
      throw new ArchiveFault(
        "too_large_unpacked",
        `Unpacked, an archive can have at most ${limits.unpackedBytes} bytes; this one has more. Leave out what the configuration does not need, with a '.terraformignore' for example.`,
      );
    for (const event of this.#tar.read(piece)) {
      if (event.kind === "entry") {
        const addition = this.#tree.add(event.entry);
        this.#isOpen = addition !== undefined;
        if (addition !== undefined) await this.#visitor.open?.(addition);
      } else if (this.#isOpen) {
        await (event.kind === "data" ? this.#visitor.data?.(event.bytes) : this.#visitor.close?.());
      }
    }
  }

  /** What the decompressor says, in our words. */
  #told(error: unknown): unknown {
    const code = (error as Partial<NodeJS.ErrnoException>).code;
    if (code === "Z_BUF_ERROR")
      return new ArchiveFault("truncated", "The archive ends too early: its last part is missing. Send it again.");
    if (code !== "Z_DATA_ERROR" && code !== "Z_NEED_DICT" && code !== "Z_STREAM_ERROR") return error;
    // What follows the end without being zeros is taken for one more part of it, and is no such thing.
    return new ArchiveFault(
      "corrupt",
      "The archive is damaged, or something follows its end: it can't be decompressed. Pack and send the archive alone.",
    );
  }
}

const trailing = (): ArchiveFault =>
  new ArchiveFault("trailing_data", "Something follows the archive's end. Pack and send the archive alone.");
