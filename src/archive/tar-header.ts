/** Parses tar headers: ustar with pax and GNU extensions. Names are decoded as latin1, one character per byte. */
import { ArchiveFault } from "./faults.ts";

export const blockBytes = 512;

export interface TarHeader {
  readonly name: string;
  readonly mode: number;
  readonly size: number;
  /** Older codes of regular files are normalized to `0`. */
  readonly type: string;
  readonly linkName: string;
}

const corrupt = (what: string): ArchiveFault =>
  new ArchiveFault("corrupt", `The archive is damaged: ${what}. Pack it again.`);

export function readHeader(block: Buffer): TarHeader {
  if (!isChecksumRight(block)) throw corrupt("the checksum of a header is wrong, so it is not a complete tar archive");
  const isUstar = block.toString("latin1", 257, 263) === "ustar\0";
  const prefix = isUstar ? textAt(block, 345, 155) : "";
  const ownName = textAt(block, 0, 100);
  const name = prefix === "" ? ownName : `${prefix}/${ownName}`;
  const flag = block.toString("latin1", 156, 157);
  const isPlain = flag === "0" || flag === "\0" || flag === "7";
  // The original format marks directories with a trailing slash.
  const type = isPlain ? (name.endsWith("/") ? "5" : "0") : flag;
  return {
    name,
    mode: numberAt(block, 100, 8),
    size: numberAt(block, 124, 12),
    type,
    linkName: textAt(block, 157, 100),
  };
}

export function isZero(block: Uint8Array): boolean {
  for (const byte of block) if (byte !== 0) return false;
  return true;
}

function textAt(block: Buffer, start: number, length: number): string {
  const end = block.subarray(start, start + length).indexOf(0);
  return block.toString("latin1", start, start + (end === -1 ? length : end));
}

/** Octal digits or, with the highest bit set, a big-endian binary number. */
function numberAt(block: Buffer, start: number, length: number): number {
  if (block[start]! >= 0x80) return largeNumberAt(block, start, length);
  const digits = textAt(block, start, length).trim();
  if (digits === "") return 0;
  if (!/^[0-7]+$/.test(digits)) throw corrupt("a header has an invalid number");
  return Number.parseInt(digits, 8);
}

function largeNumberAt(block: Buffer, start: number, length: number): number {
  let value = block[start]! & 0x7f;
  for (let at = start + 1; at < start + length; at++) value = value * 256 + block[at]!;
  if (block[start] !== 0x80 || !Number.isSafeInteger(value)) throw corrupt("a number in a header is out of range");
  return value;
}

/** Some programs compute the checksum with signed bytes. */
function isChecksumRight(block: Buffer): boolean {
  let [unsigned, signed] = [0, 0];
  for (const [index, stored] of block.entries()) {
    const byte = index >= 148 && index < 156 ? 0x20 : stored;
    unsigned += byte;
    signed += byte < 0x80 ? byte : byte - 0x100;
  }
  const digits = textAt(block, 148, 8).trim();
  const expected = /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : -1;
  return expected === unsigned || expected === signed;
}

/** Each record is `LENGTH KEY=VALUE\n`. Throws `ArchiveFault`. */
export function readPaxRecords(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at);
    const digits = space === -1 || space - at > 10 ? "" : bytes.toString("latin1", at, space);
    const end = at + Number(digits);
    if (!/^[1-9][0-9]*$/.test(digits) || end > bytes.length || bytes[end - 1] !== 0x0a || end - 1 <= space)
      throw corrupt("an extended header can't be read");
    const record = bytes.toString("latin1", space + 1, end - 1);
    const equals = record.indexOf("=");
    if (equals <= 0) throw corrupt("an extended header can't be read");
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at = end;
  }
  return records;
}
