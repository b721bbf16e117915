/** Zip archives for tests, well-formed or not. */
import { crc32, deflateRawSync } from "node:zlib";

export interface ZipPart {
  readonly name: string;
  readonly content: string | Buffer;
  /** Unix mode with the file's type. */
  readonly mode?: number;
  /** What the archive says instead of the truth; `local`: only the entry itself, not the directory. */
  readonly declared?: {
    readonly size?: number;
    readonly crc?: number;
    readonly localName?: string;
    readonly local?: Partial<HeaderFields>;
  };
  /** Its checksum and sizes follow it, as in archives that were written as a stream. */
  readonly isStreamed?: boolean;
  /** In front of it. */
  readonly gap?: Buffer;
  /** Behind its compressed content, and counted with it. */
  readonly padding?: Buffer;
}

interface HeaderFields {
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
}

const none = Buffer.alloc(0);

export function zipOf(parts: readonly ZipPart[], gapAtEnd = none): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const {
    name,
    content,
    mode = 0o100755,
    declared = {},
    isStreamed = false,
    gap = none,
    padding = none,
  } of parts) {
    const bytes = Buffer.from(content);
    const packed = Buffer.concat([deflateRawSync(bytes), padding]);
    const sizes = { crc: declared.crc ?? crc32(bytes), packed: packed.length, size: declared.size ?? bytes.length };
    const fields = { flags: isStreamed ? 8 : 0, method: 8, ...sizes };
    const unknown = isStreamed ? { crc: 0, packed: 0, size: 0 } : {};
    const local = headerOf(0x04034b50, 30, declared.localName ?? name, { ...fields, ...unknown, ...declared.local });
    const entry = headerOf(0x02014b50, 46, name, fields);
    entry.writeUInt32LE((mode << 16) >>> 0, 38);
    entry.writeUInt32LE(offset + gap.length, 42);
    const stored = Buffer.concat([gap, local, packed, isStreamed ? descriptorOf(sizes) : none]);
    locals.push(stored);
    directory.push(entry);
    offset += stored.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset + gapAtEnd.length, 16);
  return Buffer.concat([...locals, gapAtEnd, ...directory, end]);
}

function descriptorOf({ crc, packed, size }: Pick<HeaderFields, "crc" | "packed" | "size">): Buffer {
  const descriptor = Buffer.alloc(16);
  for (const [index, value] of [0x08074b50, crc, packed, size].entries()) descriptor.writeUInt32LE(value, 4 * index);
  return descriptor;
}

/** The fields of both headers are the same, except for the version, which the directory has twice. */
function headerOf(
  signature: number,
  length: number,
  name: string,
  { flags, method, crc, packed, size }: HeaderFields,
): Buffer {
  const header = Buffer.alloc(length + Buffer.byteLength(name));
  const shift = length === 46 ? 2 : 0;
  header.writeUInt32LE(signature, 0);
  header.writeUInt16LE(20, 4 + shift);
  header.writeUInt16LE(flags, 6 + shift);
  header.writeUInt16LE(method, 8 + shift);
  header.writeUInt32LE(crc, 14 + shift);
  header.writeUInt32LE(packed, 18 + shift);
  header.writeUInt32LE(size, 22 + shift);
  header.writeUInt16LE(Buffer.byteLength(name), 26 + shift);
  header.write(name, length);
  return header;
}
