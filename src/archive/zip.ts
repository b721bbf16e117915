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

/** `start`: the offset of the directory, where the entries end. */
interface ZipDirectory {
  readonly entries: readonly ZipEntry[];
  readonly start: number;
}

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const localSignature = 0x04034b50;
const descriptorSignature = 0x08074b50;
const endBytes = 22;
const entryBytes = 46;
const localBytes = 30;
const descriptorBytes = 16;
const entriesMax = 100;
const directoryBytesMax = 1024 * 1024;
const encrypted = 0x1;
/** The entry was written before its size was known: its checksum and sizes follow it. */
const hasDescriptor = 0x8;
const methods = { stored: 0, deflated: 8 } as const;
const fileTypes = { mask: 0o170000, regular: 0o100000 } as const;

const fault = (code: ArchiveFaultCode, sentence: string) => new ArchiveFault(code, sentence);
const corrupt = (what: string) => fault("corrupt", `The archive is damaged: ${what}.`);

/** Creates `target`, which becomes executable only once it is complete and verified. Throws ArchiveFault. */
export async function extractProgram(archive: string, { name, target, bytesMax }: ZipExtraction): Promise<void> {
  const file = await open(archive, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const directory = await readDirectory(file);
    checkEntries(directory.entries, bytesMax);
    const starts = await checkLayout(file, directory);
    const entry = directory.entries.find((each) => each.name === name);
    if (entry === undefined) throw corrupt(`it does not contain the program ${name}`);
    await extractEntry(file, entry, { start: starts.get(name) ?? 0, target });
    await chmod(target, 0o755);
  } finally {
    await file.close();
  }
}

async function readDirectory(file: FileHandle): Promise<ZipDirectory> {
  const { size } = await file.stat();
  const at = size - endBytes;
  const end = at < 0 ? Buffer.alloc(endBytes) : await readAt(file, at, endBytes);
  // A comment would be data behind the end.
  if (end.readUInt32LE(0) !== endSignature || end.readUInt16LE(20) !== 0)
    throw fault("truncated", "The archive is incomplete, not a zip archive, or followed by something else.");
  const count = end.readUInt16LE(10);
  const length = end.readUInt32LE(12);
  const start = end.readUInt32LE(16);
  const isWhole = end.readUInt32LE(4) === 0 && end.readUInt16LE(8) === count;
  if (!isWhole || start + length !== at) throw corrupt("its directory is not at its end");
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
  return { entries, start };
}

const entryAt = (directory: Buffer, at: number, nameLength: number): ZipEntry => ({
  name: directory.subarray(at + entryBytes, at + entryBytes + nameLength).toString("latin1"),
  flags: directory.readUInt16LE(at + 8),
  method: directory.readUInt16LE(at + 10),
  ...sizesAt(directory, at + 16),
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

/** Nothing before, between and behind the entries, so that every reader finds the same ones. Returns where their contents start. */
async function checkLayout(file: FileHandle, { entries, start }: ZipDirectory): Promise<Map<string, number>> {
  const starts = new Map<string, number>();
  let position = 0;
  for (const entry of entries.toSorted((one, other) => one.offset - other.offset)) {
    if (entry.offset !== position) throw corrupt("its entries overlap, or there is something between them");
    const contentStart = await checkHeader(file, entry);
    starts.set(entry.name, contentStart);
    position = contentStart + entry.packed;
    if ((entry.flags & hasDescriptor) === 0) continue;
    const descriptor = await readAt(file, position, descriptorBytes);
    if (descriptor.readUInt32LE(0) !== descriptorSignature) throw corrupt("a checksum is missing behind an entry");
    requireSame(entry, sizesAt(descriptor, 4));
    position += descriptorBytes;
  }
  if (position !== start) throw corrupt("its entries do not end where its directory begins");
  return starts;
}

async function checkHeader(file: FileHandle, entry: ZipEntry): Promise<number> {
  const header = await readAt(file, entry.offset, localBytes);
  if (header.readUInt32LE(0) !== localSignature) throw corrupt("an entry is not where its directory says");
  const nameLength = header.readUInt16LE(26);
  const name = await readAt(file, entry.offset + localBytes, nameLength);
  if (name.toString("latin1") !== entry.name) throw corrupt("an entry has another name than its directory says");
  const [flags, method] = [header.readUInt16LE(6), header.readUInt16LE(8)];
  requireSame(entry, { flags, method });
  const sizes = sizesAt(header, 14);
  const isUnknown = (entry.flags & hasDescriptor) !== 0 && Object.values(sizes).every((each) => each === 0);
  if (!isUnknown) requireSame(entry, sizes);
  return entry.offset + localBytes + nameLength + header.readUInt16LE(28);
}

const sizesAt = (record: Buffer, at: number): Pick<ZipEntry, "crc" | "packed" | "size"> => ({
  crc: record.readUInt32LE(at),
  packed: record.readUInt32LE(at + 4),
  size: record.readUInt32LE(at + 8),
});

function requireSame(entry: ZipEntry, local: Partial<ZipEntry>): void {
  for (const [field, value] of Object.entries(local))
    if (entry[field as keyof ZipEntry] !== value) throw corrupt("an entry differs from what its directory says");
}

async function extractEntry(
  file: FileHandle,
  entry: ZipEntry,
  { start, target }: { readonly start: number; readonly target: string },
): Promise<void> {
  const packed = Readable.from(piecesOf(file, start, entry.packed));
  const inflate = createInflateRaw();
  const isDeflated = entry.method === methods.deflated;
  const plain = isDeflated ? packed.compose(inflate) : packed;
  const output = await open(
    target,
    constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_WRONLY,
    0o600,
  );
  try {
    await pipeline(verified(plain as AsyncIterable<Buffer>, entry), output.createWriteStream({ flush: true }));
    if (isDeflated && inflate.bytesWritten !== entry.packed)
      throw corrupt("a file in it is followed by something else");
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
