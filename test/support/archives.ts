/** Archives built block by block, so that they can also be invalid. */
import { gzipSync } from "node:zlib";

export interface Entry {
  name: string | Buffer;
  /** `0` file, `1` hard link, `2` link, `3` and `4` devices, `5` directory, `6` pipe, `x` pax, `L` and `K` of GNU. */
  type?: string;
  content?: string | Uint8Array;
  target?: string | Buffer;
  mode?: number;
  /** The size in the header, instead of the content's. */
  size?: number;
  magic?: string;
  prefix?: string;
}

const block = 512;

export function header(entry: Entry): Buffer {
  const bytes = Buffer.alloc(block);
  const put = (value: string | Buffer, at: number, length: number) =>
    Buffer.from(value as string).copy(bytes, at, 0, length);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  const size = entry.size ?? Buffer.from(entry.content ?? "").length;
  put(entry.name, 0, 100);
  put(octal(entry.mode ?? (entry.type === "5" ? 0o755 : 0o644), 7), 100, 8);
  put(octal(0, 7), 108, 8);
  put(octal(0, 7), 116, 8);
  if (size > 0o77777777777) {
    bytes.writeUInt8(0x80, 124);
    bytes.writeBigUInt64BE(BigInt(size), 128);
  } else {
    put(octal(size, 11), 124, 12);
  }
  put(octal(0, 11), 136, 12);
  put(entry.type ?? "0", 156, 1);
  put(entry.target ?? "", 157, 100);
  put(entry.magic ?? "ustar\x0000", 257, 8);
  put(entry.prefix ?? "", 345, 155);
  return withChecksum(bytes);
}

export function withChecksum(bytes: Buffer): Buffer {
  bytes.fill(" ", 148, 156);
  let sum = 0;
  for (const byte of bytes) sum += byte;
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return bytes;
}

export function part(entry: Entry): Buffer {
  const content = Buffer.from((entry.content ?? "") as string);
  return Buffer.concat([header(entry), content, Buffer.alloc((block - (content.length % block)) % block)]);
}

export const pax = (records: Record<string, string | Buffer>): Buffer =>
  part({
    name: "PaxHeaders/x",
    type: "x",
    content: Buffer.concat(
      Object.entries(records).map(([key, value]) => {
        const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value as string), Buffer.from("\n")]);
        let length = rest.length + 1;
        while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
        return Buffer.concat([Buffer.from(String(length)), rest]);
      }),
    ),
  });

export const tarEnd: Buffer = Buffer.alloc(2 * block);

export const tar = (parts: readonly (Entry | Buffer)[]): Buffer =>
  Buffer.concat([...parts.map((each) => (Buffer.isBuffer(each) ? each : part(each))), tarEnd]);

export const archive = (parts: readonly (Entry | Buffer)[]): Buffer => gzipSync(tar(parts), { level: 1 });

export async function* inPieces(bytes: Uint8Array, size = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
