/**
 * Reads a tar archive as it arrives, in pieces cut anywhere, and gives its entries one by one. It keeps no more than a block,
 * or an extended header. It knows nothing of what names mean: `tree.ts` judges them.
 */
import { ArchiveFault } from "./faults.ts";
import { blockBytes, isZero, readHeader, readPaxRecords, type TarHeader } from "./tar-header.ts";

/** An entry's `size` is that of the content which follows: plain files alone have one. */
export type TarEvent =
  | { readonly kind: "entry"; readonly entry: TarHeader }
  /** Of the entry before; only lent until the next event. */
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  /** The entry is complete. */
  | { readonly kind: "end" };

/** A name, a link's target, and what some programs add of attributes. */
const extensionBytesMax = 1024 * 1024;

/** What comes before an entry, or all of them, to tell more: pax, and GNU's long names and targets. */
const extensionTypes = ["x", "g", "L", "K"];

/** What extensions have told of the entry that comes next. */
interface Told {
  name?: string;
  linkName?: string;
  size?: number;
}

export class TarReader {
  readonly #block = Buffer.alloc(blockBytes);
  /** How much of the block is there. */
  #filled = 0;
  /** What is left of the content, and of the zeros after it up to a whole block. */
  #left = 0;
  #padding = 0;
  /** The extension whose content is being read. */
  #extension: { readonly type: string; readonly pieces: Buffer[] } | undefined;
  #told: Told = {};
  /** Two blocks of zeros are the archive's end. */
  #zeroBlocks = 0;

  /** Whether the archive's end was read: only zeros may follow. */
  get isOver(): boolean {
    return this.#zeroBlocks >= 2;
  }

  /** Raises `ArchiveFault`. */
  *read(piece: Uint8Array): Generator<TarEvent> {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    for (let at = 0; at < bytes.length;) {
      if (this.#left > 0) {
        const taken = bytes.subarray(at, at + this.#left);
        at += taken.length;
        this.#left -= taken.length;
        yield* this.#pass(taken);
      } else if (this.#padding > 0) {
        const passed = Math.min(this.#padding, bytes.length - at);
        at += passed;
        this.#padding -= passed;
      } else {
        const copied = bytes.copy(this.#block, this.#filled, at);
        at += copied;
        this.#filled += copied;
        if (this.#filled === blockBytes) yield* this.#begin();
      }
    }
  }

  /** Raises `ArchiveFault` where the archive has not come to its end. */
  end(): void {
    if (this.isOver) return;
    throw new ArchiveFault(
      "truncated",
      "The archive ends too early: its last part is missing. Pack and send it again.",
    );
  }

  *#pass(taken: Buffer): Generator<TarEvent> {
    // What is kept must outlive the piece that it came with.
    if (this.#extension === undefined) yield { kind: "data", bytes: taken };
    else this.#extension.pieces.push(Buffer.from(taken));
    if (this.#left > 0) return;
    if (this.#extension === undefined) yield { kind: "end" };
    else this.#endExtension(this.#extension.type, Buffer.concat(this.#extension.pieces));
  }

  *#begin(): Generator<TarEvent> {
    this.#filled = 0;
    if (isZero(this.#block)) {
      this.#zeroBlocks += 1;
      return;
    }
    if (this.#zeroBlocks > 0)
      throw new ArchiveFault("trailing_data", "Something follows the archive's end. Pack and send the archive alone.");
    const header = readHeader(this.#block);
    if (extensionTypes.includes(header.type)) this.#beginExtension(header);
    else yield* this.#beginEntry(header);
  }

  *#beginEntry(header: TarHeader): Generator<TarEvent> {
    const { name, linkName, size } = this.#told;
    this.#told = {};
    const content = header.type === "0" ? (size ?? header.size) : 0;
    this.#expect(content);
    const entry = { ...header, name: name ?? header.name, linkName: linkName ?? header.linkName, size: content };
    yield { kind: "entry", entry };
    if (content === 0) yield { kind: "end" };
  }

  #beginExtension({ type, size }: TarHeader): void {
    if (size > extensionBytesMax)
      throw new ArchiveFault("name_too_long", "An extended header of the archive is larger than any name needs.");
    if (size === 0) return;
    this.#extension = { type, pieces: [] };
    this.#expect(size);
  }

  #expect(size: number): void {
    this.#left = size;
    this.#padding = (blockBytes - (size % blockBytes)) % blockBytes;
  }

  #endExtension(type: string, bytes: Buffer): void {
    this.#extension = undefined;
    if (type === "L") this.#told.name = upToZero(bytes);
    else if (type === "K") this.#told.linkName = upToZero(bytes);
    // What is told of all entries (`g`) is their commit, or times; nothing that we use.
    else if (type === "x") this.#tell(readPaxRecords(bytes));
  }

  #tell(records: ReadonlyMap<string, string>): void {
    for (const [key, value] of records) {
      if (key === "path") this.#told.name = value;
      else if (key === "linkpath") this.#told.linkName = value;
      else if (key === "size") this.#told.size = sizeOf(value);
      else if (key.startsWith("GNU.sparse."))
        throw new ArchiveFault("unsupported_entry", "The archive has a sparse file. Pack it without that option.");
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
  throw new ArchiveFault("corrupt", "The archive is damaged: the size of a file is not a number. Pack it again.");
}
