/** Parses a tar archive as a stream and buffers at most one block or extended header. It does not validate names: `tree.ts` does. */
import { ArchiveFault } from "./faults.ts";
import { blockBytes, isZero, readHeader, readPaxRecords, type TarHeader } from "./tar-header.ts";

/** Only regular files have a `size` above 0. */
export type TarEvent =
  | { readonly kind: "entry"; readonly entry: TarHeader }
  /** Valid only until the next event. */
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end" };

const extensionBytesMax = 1024 * 1024;

/** pax (`x`, `g`), and GNU long names and link targets. */
const extensionTypes = ["x", "g", "L", "K"];

interface TarExtension {
  name?: string;
  linkName?: string;
  size?: number;
}

export class TarReader {
  readonly #block = Buffer.alloc(blockBytes);
  #filled = 0;
  #remaining = 0;
  #padding = 0;
  #extension: { readonly type: string; readonly pieces: Buffer[] } | undefined;
  #overrides: TarExtension = {};
  /** Two blocks of zeros end the archive. */
  #zeroBlocks = 0;

  /** After the end, only zeros are allowed. */
  get isOver(): boolean {
    return this.#zeroBlocks >= 2;
  }

  /** Throws `ArchiveFault`. */
  *read(piece: Uint8Array): Generator<TarEvent> {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    for (let at = 0; at < bytes.length;) {
      if (this.#remaining > 0) {
        const taken = bytes.subarray(at, at + this.#remaining);
        at += taken.length;
        this.#remaining -= taken.length;
        yield* this.#emit(taken);
      } else if (this.#padding > 0) {
        const passed = Math.min(this.#padding, bytes.length - at);
        at += passed;
        this.#padding -= passed;
      } else {
        const copied = bytes.copy(this.#block, this.#filled, at);
        at += copied;
        this.#filled += copied;
        if (this.#filled === blockBytes) yield* this.#readHeaderBlock();
      }
    }
  }

  end(): void {
    if (this.isOver) return;
    throw new ArchiveFault("truncated", "The archive is incomplete: its end is missing. Pack and send it again.");
  }

  *#emit(taken: Buffer): Generator<TarEvent> {
    // Copied, because the piece is reused.
    if (this.#extension === undefined) yield { kind: "data", bytes: taken };
    else this.#extension.pieces.push(Buffer.from(taken));
    if (this.#remaining > 0) return;
    if (this.#extension === undefined) yield { kind: "end" };
    else this.#endExtension(this.#extension.type, Buffer.concat(this.#extension.pieces));
  }

  *#readHeaderBlock(): Generator<TarEvent> {
    this.#filled = 0;
    if (isZero(this.#block)) {
      this.#zeroBlocks += 1;
      return;
    }
    if (this.#zeroBlocks > 0)
      throw new ArchiveFault("trailing_data", "The archive is followed by other data. Send only the archive.");
    const header = readHeader(this.#block);
    if (extensionTypes.includes(header.type)) this.#beginExtension(header);
    else yield* this.#beginEntry(header);
  }

  *#beginEntry(header: TarHeader): Generator<TarEvent> {
    const { name, linkName, size } = this.#overrides;
    this.#overrides = {};
    const content = header.type === "0" ? (size ?? header.size) : 0;
    this.#expect(content);
    const entry = { ...header, name: name ?? header.name, linkName: linkName ?? header.linkName, size: content };
    yield { kind: "entry", entry };
    if (content === 0) yield { kind: "end" };
  }

  #beginExtension({ type, size }: TarHeader): void {
    if (size > extensionBytesMax)
      throw new ArchiveFault(
        "name_too_long",
        "The archive has an extended header that is too large. Shorten the names of files and links.",
      );
    if (size === 0) return;
    this.#extension = { type, pieces: [] };
    this.#expect(size);
  }

  #expect(size: number): void {
    this.#remaining = size;
    this.#padding = (blockBytes - (size % blockBytes)) % blockBytes;
  }

  #endExtension(type: string, bytes: Buffer): void {
    this.#extension = undefined;
    if (type === "L") this.#overrides.name = upToZero(bytes);
    else if (type === "K") this.#overrides.linkName = upToZero(bytes);
    // Global headers (`g`) carry a commit or times, which are not needed.
    else if (type === "x") this.#override(readPaxRecords(bytes));
  }

  #override(records: ReadonlyMap<string, string>): void {
    for (const [key, value] of records) {
      if (key === "path") this.#overrides.name = value;
      else if (key === "linkpath") this.#overrides.linkName = value;
      else if (key === "size") this.#overrides.size = sizeOf(value);
      else if (key.startsWith("GNU.sparse."))
        throw new ArchiveFault(
          "unsupported_entry",
          "The archive has a sparse file. Pack it without the option for sparse files.",
        );
    }
  }
}

function upToZero(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("latin1", 0, end === -1 ? bytes.length : end);
}

function sizeOf(value: string): number {
  const size = Number(value);
  if (/^[0-9]+$/.test(value) && Number.isSafeInteger(size)) return size;
  throw new ArchiveFault("corrupt", "The archive is damaged: it has an invalid file size. Pack it again.");
}
