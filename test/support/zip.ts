/** Zip archives for tests, well-formed or not. */
import { crc32, deflateRawSync } from "node:zlib";

export interface ZipPart {
  readonly name: string;
  readonly content: string | Buffer;
  /** Unix mode with the file's type. */
  readonly mode?: number;
  /** What the directory says instead of the truth. */
  readonly declared?: { readonly size?: number; readonly crc?: number; readonly localName?: string };
}

export function zipOf(parts: readonly ZipPart[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, mode = 0o100755, declared = {} } of parts) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const sizes = { crc: declared.crc ?? crc32(bytes), packed: packed.length, size: declared.size ?? bytes.length };
    const local = headerOf(0x04034b50, 30, declared.localName ?? name, sizes);
    const entry = headerOf(0x02014b50, 46, name, sizes);
    entry.writeUInt32LE((mode << 16) >>> 0, 38);
    entry.writeUInt32LE(offset, 42);
    locals.push(local, packed);
    directory.push(entry);
    offset += local.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, ...directory, end]);
}

/** The fields of both headers are the same, except for the version, which the directory has twice. */
function headerOf(
  signature: number,
  length: number,
  name: string,
  { crc, packed, size }: { crc: number; packed: number; size: number },
): Buffer {
  const header = Buffer.alloc(length + Buffer.byteLength(name));
  const shift = length === 46 ? 2 : 0;
  header.writeUInt32LE(signature, 0);
  header.writeUInt16LE(20, 4 + shift);
  header.writeUInt16LE(8, 8 + shift);
  header.writeUInt32LE(crc, 14 + shift);
  header.writeUInt32LE(packed, 18 + shift);
  header.writeUInt32LE(size, 22 + shift);
  header.writeUInt16LE(Buffer.byteLength(name), 26 + shift);
  header.write(name, length);
  return header;
}
