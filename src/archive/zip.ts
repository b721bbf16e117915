/** Extracts one program from a zip archive that nobody has vouched for yet: plain files only, every size and checksum verified. */
import { constants } from "node:fs";
import { chmod, type FileHandle, open, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw } from "node:zlib";
import { ArchiveFault, type ArchiveFaultCode, shownName } from "./faults.ts";

export interface ZipExtraction {
  /** Of the only entry that is extracted; the archive has exactly one of that name. */
  readonly name: string;
  readonly target: string;
  readonly bytesMax: number;
}

interface ZipEntry {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
  readonly mode: number;
}

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const localSignature = 0x04034b50;
const endBytes = 22;
const commentBytesMax = 65_535;
const entryBytes = 46;
const localBytes = 30;
const entriesMax = 100;
const directoryBytesMax = 1024 * 1024;
const encrypted = 0x1;
const methods = { stored: 0, deflated: 8 } as const;
const fileTypes = { mask: 0o170000, regular: 0o100000 } as const;

const fault = (code: ArchiveFaultCode, sentence: string) => new ArchiveFault(code, sentence);
const corrupt = (what: string) => fault("corrupt", `The archive is damaged: ${what}.`);

/** Creates `target`, which becomes executable only once it is complete and verified. Throws ArchiveFault. */
export async function extractProgram(archive: string, { name, target, bytesMax }: ZipExtraction): Promise<void> {
  const file = await open(archive, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const entries = await readDirectory(file);
    checkEntries(entries, bytesMax);
    const entry = entries.find((each) => each.name === name);
    if (entry === undefined) throw corrupt(`it does not contain the program ${name}`);
    await extractEntry(file, entry, target);
    await chmod(target, 0o755);
  } finally {
    await file.close();
  }
}

async function readDirectory(file: FileHandle): Promise<ZipEntry[]> {
  const { size } = await file.stat();
  const tail = await readAt(
    file,
    Math.max(0, size - endBytes - commentBytesMax),
    Math.min(size, endBytes + commentBytesMax),
  );
  const at = findEnd(tail);
  if (at === undefined) throw fault("truncated", "The archive is incomplete, or not a zip archive.");
  const count = tail.readUInt16LE(at + 10);
  const length = tail.readUInt32LE(at + 12);
  const start = tail.readUInt32LE(at + 16);
  const isWhole = tail.readUInt32LE(at + 4) === 0 && tail.readUInt16LE(at + 8) === count;
  if (!isWhole || start + length > size) throw corrupt("its directory is outside it");
  if (count > entriesMax || length > directoryBytesMax)
    throw fault("too_many_entries", `The archive has more than ${entriesMax} entries.`);
  const directory = await readAt(file, start, length);
  const entries: ZipEntry[] = [];
  let position = 0;
  while (entries.length < count) {
    if (position + entryBytes > length || directory.readUInt32LE(position) !== entrySignature)
      throw corrupt("its directory can't be read");
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) =>
      directory.readUInt16LE(position + field),
    );
    entries.push(entryAt(directory, position, nameLength ?? 0));
    position += entryBytes + (nameLength ?? 0) + (extraLength ?? 0) + (commentLength ?? 0);
  }
  if (position !== length) throw corrupt("its directory has unknown parts");
  return entries;
}

/** The last record that ends with the file: a comment can contain the signature, too. */
function findEnd(tail: Buffer): number | undefined {
  for (let at = tail.length - endBytes; at >= 0; at -= 1)
    if (tail.readUInt32LE(at) === endSignature && at + endBytes + tail.readUInt16LE(at + 20) === tail.length) return at;
  return undefined;
}

const entryAt = (directory: Buffer, at: number, nameLength: number): ZipEntry => ({
  name: directory.subarray(at + entryBytes, at + entryBytes + nameLength).toString("latin1"),
  flags: directory.readUInt16LE(at + 8),
  method: directory.readUInt16LE(at + 10),
  crc: directory.readUInt32LE(at + 16),
  packed: directory.readUInt32LE(at + 20),
  size: directory.readUInt32LE(at + 24),
  offset: directory.readUInt32LE(at + 42),
  mode: directory.readUInt32LE(at + 38) >>> 16,
});

function checkEntries(entries: readonly ZipEntry[], bytesMax: number): void {
  const names = new Set<string>();
  let bytes = 0;
  for (const { name, flags, method, size, mode } of entries) {
    const shown = shownName(name);
    if (name.startsWith("/") || /^[a-z]:/i.test(name))
      throw fault("name_absolute", `The archive contains the absolute path ${shown}.`);
    if (name.split(/[/\\]/).includes(".."))
      throw fault("name_outside", `The archive contains ${shown}, which is outside it.`);
    // oxlint-disable-next-line no-control-regex -- these are what must not reach a path
    if (name === "" || /[/\\\u0000-\u001f\u007f]/.test(name))
      throw fault(
        "name_invalid",
        `The archive contains ${shown}; it can only contain plain files, without directories.`,
      );
    if (names.has(name.toLowerCase())) throw fault("kind_changed", `The archive contains ${shown} twice.`);
    names.add(name.toLowerCase());
    const type = mode & fileTypes.mask;
    if (type !== 0 && type !== fileTypes.regular)
      throw fault("special_file", `The archive contains ${shown}, which is a link or another special file.`);
    if ((flags & encrypted) !== 0 || (method !== methods.stored && method !== methods.deflated))
      throw fault("unsupported_entry", `The archive contains ${shown} in a form that is not supported.`);
    bytes += size;
    if (bytes > bytesMax)
      throw fault("too_large_unpacked", `The archive has more than ${bytesMax} bytes when unpacked.`);
  }
}

async function extractEntry(file: FileHandle, entry: ZipEntry, target: string): Promise<void> {
  const header = await readAt(file, entry.offset, localBytes);
  if (header.readUInt32LE(0) !== localSignature) throw corrupt("an entry is not where its directory says");
  const nameLength = header.readUInt16LE(26);
  const name = await readAt(file, entry.offset + localBytes, nameLength);
  if (name.toString("latin1") !== entry.name) throw corrupt("an entry has another name than its directory says");
  const start = entry.offset + localBytes + nameLength + header.readUInt16LE(28);
  const packed = Readable.from(piecesOf(file, start, entry.packed));
  const plain = entry.method === methods.deflated ? packed.compose(createInflateRaw()) : packed;
  const output = await open(
    target,
    constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_WRONLY,
    0o600,
  );
  try {
    await pipeline(verified(plain as AsyncIterable<Buffer>, entry), output.createWriteStream({ flush: true }));
  } catch (error) {
    await rm(target, { force: true });
    if (error instanceof ArchiveFault || !/^Z_|^ERR_/.test((error as NodeJS.ErrnoException).code ?? "")) throw error;
    throw corrupt((error as Error).message);
  } finally {
    await output.close().catch(() => undefined);
  }
}

async function* piecesOf(file: FileHandle, start: number, length: number): AsyncGenerator<Buffer> {
  const pieceBytes = 256 * 1024;
  for (let at = 0; at < length; at += pieceBytes) yield readAt(file, start + at, Math.min(pieceBytes, length - at));
}

async function* verified(pieces: AsyncIterable<Buffer>, { size, crc }: ZipEntry): AsyncGenerator<Buffer> {
  let [bytes, sum] = [0, 0];
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > size) throw fault("too_large_unpacked", "The archive unpacks to more than it declares.");
    sum = crc32(piece, sum);
    yield piece;
  }
  if (bytes !== size || sum !== crc) throw corrupt("a file in it does not have the declared content");
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  for (let at = 0; at < length;) {
    const { bytesRead } = await file.read(buffer, at, length - at, position + at);
    if (bytesRead === 0) throw fault("truncated", "The archive is incomplete.");
    at += bytesRead;
  }
  return buffer;
}
