/** Reads a gzipped tar archive as a stream in bounded memory. Throws `ArchiveFault` for an archive that is unsafe to unpack. */
import { createGunzip, type Gunzip } from "node:zlib";
import { freeBuffersAfter } from "../kernel/streams.ts";
import { ArchiveFault, limits } from "./faults.ts";
import { TarReader } from "./tar-reader.ts";
import { type TreeAddition, ArchiveTree } from "./tree.ts";

const gzipMark = [0x1f, 0x8b];

type VisitResult = void | Promise<void>;

export interface ArchiveVisitor {
  open?(addition: TreeAddition): VisitResult;
  /** The bytes are valid only during the call. */
  data?(bytes: Uint8Array): VisitResult;
  close?(): VisitResult;
}

export interface ArchiveSummary {
  readonly packedBytes: number;
  readonly unpackedBytes: number;
}

export class ArchiveReader {
  readonly #gunzip: Gunzip = createGunzip({ chunkSize: 64 * 1024 });
  readonly #tar = new TarReader();
  readonly #tree = new ArchiveTree();
  readonly #visitor: ArchiveVisitor;
  readonly #reading: Promise<void>;
  #isReading = true;
  #isOpen = false;
  #packedBytes = 0;
  #unpackedBytes = 0;

  constructor(visitor: ArchiveVisitor) {
    this.#visitor = visitor;
    this.#reading = this.#readAll();
    // `write` and `end` report the rejection.
    this.#reading.catch(() => {});
  }

  /** Throws `ArchiveFault`, and any error of the visitor. */
  async write(piece: Uint8Array): Promise<void> {
    if (piece.length === 0) return;
    this.#refuseUnlessGzip(piece);
    this.#packedBytes += piece.length;
    if (this.#packedBytes > limits.packedBytes) {
      this.destroy();
      throw new ArchiveFault(
        "too_large",
        `The archive is larger than the limit of ${limits.packedBytes} bytes. Leave out files that the configuration does not need, for example with a '.terraformignore' file.`,
      );
    }
    if (this.#isReading) {
      const written = new Promise<void>((resolve) => this.#gunzip.write(piece, () => resolve()));
      await Promise.race([written, this.#reading]);
    }
    if (!this.#isReading || this.#gunzip.destroyed) await this.#reading;
  }

  async end(): Promise<ArchiveSummary> {
    this.#gunzip.end();
    await this.#reading;
    if (this.#gunzip.bytesWritten < this.#packedBytes) throw trailingDataFault();
    this.#tar.end();
    this.#tree.end();
    return { packedBytes: this.#packedBytes, unpackedBytes: this.#unpackedBytes };
  }

  destroy(): void {
    this.#gunzip.destroy();
  }

  #refuseUnlessGzip(piece: Uint8Array): void {
    const start = gzipMark.slice(this.#packedBytes);
    if (start.every((byte, index) => index >= piece.length || piece[index] === byte)) return;
    this.destroy();
    throw new ArchiveFault(
      "not_gzip",
      "This is not a gzip archive. Send the directory as a tar archive compressed with gzip.",
    );
  }

  async #readAll(): Promise<void> {
    try {
      for await (const piece of this.#gunzip as AsyncIterable<Uint8Array>) await this.#readTar(piece);
    } catch (error) {
      throw this.#toArchiveFault(error);
    } finally {
      this.#isReading = false;
    }
  }

  async #readTar(piece: Uint8Array): Promise<void> {
    this.#unpackedBytes += piece.length;
    freeBuffersAfter(piece.length);
    if (this.#unpackedBytes > limits.unpackedBytes)
      throw new ArchiveFault(
        "too_large_unpacked",
        `The unpacked archive is larger than the limit of ${limits.unpackedBytes} bytes. Leave out files that the configuration does not need, for example with a '.terraformignore' file.`,
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

  #toArchiveFault(error: unknown): unknown {
    const code = (error as Partial<NodeJS.ErrnoException>).code;
    if (code === "Z_BUF_ERROR")
      return new ArchiveFault("truncated", "The archive is incomplete: its end is missing. Send it again.");
    if (code !== "Z_DATA_ERROR" && code !== "Z_NEED_DICT" && code !== "Z_STREAM_ERROR") return error;
    // The decompressor takes trailing bytes other than zeros for another gzip member.
    return new ArchiveFault(
      "corrupt",
      "The archive can't be decompressed: it is damaged, or followed by other data. Pack it again, and send only the archive.",
    );
  }
}

const trailingDataFault = (): ArchiveFault =>
  new ArchiveFault("trailing_data", "The archive is followed by other data. Send only the archive.");
