/** Reads and writes files in a job's directory, which untrusted programs control. It must follow no links. */
import { constants } from "node:fs";
import {
  chmod,
  type FileHandle,
  lchown,
  lstat,
  mkdir,
  open,
  opendir,
  readdir,
  readlink,
  realpath,
  rm,
} from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

async function openInside(root: string, path: string): Promise<FileHandle | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    // Checks the opened file, because its name can be replaced meanwhile.
    const actual = await readlink(`/proc/self/fd/${file.fd}`);
    const expected = join(await realpath(root), relative(root, path));
    const { nlink } = await file.stat();
    if (actual === expected && nlink === 1 && (await file.stat()).isFile()) return file;
  } catch {
    // Not a file that can be used.
  }
  await file.close();
  return undefined;
}

export async function readInside(
  root: string,
  path: string,
  bytesMax: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const file = await openInside(root, path);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    return size > bytesMax ? undefined : ((await file.readFile()) as Buffer<ArrayBuffer>);
  } finally {
    await file.close();
  }
}

export async function copyOut(
  root: string,
  path: string,
  target: string,
  inspect: (piece: Buffer) => void = () => undefined,
): Promise<boolean> {
  const file = await openInside(root, path);
  if (file === undefined) return false;
  await writeNew(target, inspected(file.createReadStream(), inspect));
  return true;
}

async function* inspected(pieces: AsyncIterable<Buffer>, inspect: (piece: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    inspect(piece);
    yield piece;
  }
}

/** Throws if the file, or a link of that name, exists. */
export async function writeNew(
  path: string,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
  mode = 0o600,
): Promise<void> {
  const file = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode);
  try {
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}

/** Throws if a parent is a link. */
export async function writeInside(
  root: string,
  path: string,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
  uid: number | undefined,
): Promise<void> {
  const real = await realpath(root);
  const segments = relative(root, dirname(path)).split(sep).filter(Boolean);
  let folder = root;
  for (const segment of segments) {
    folder = join(folder, segment);
    const kind = await lstat(folder).catch(() => undefined);
    if (kind === undefined) {
      await mkdir(folder, { mode: 0o755 });
      if (uid !== undefined) await lchown(folder, uid, uid);
    }
  }
  if ((await realpath(folder)) !== join(real, ...segments)) throw new Error(`${relative(root, folder)} is a link.`);
  await rm(path, { force: true });
  await writeNew(path, content);
  if (uid !== undefined) await lchown(path, uid, uid);
}

/** It must not follow links. */
export async function changeOwner(path: string, uid: number): Promise<void> {
  await lchown(path, uid, uid);
  if (!(await lstat(path)).isDirectory()) return;
  for (const name of await readdir(path)) await changeOwner(join(path, name), uid);
}

/** Stops counting beyond `bytesMax`. */
export async function sizeOf(path: string, bytesMax = Number.POSITIVE_INFINITY): Promise<number> {
  let bytes = 0;
  try {
    for await (const entry of await opendir(path)) {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) bytes += await sizeOf(inner, bytesMax - bytes);
      else bytes += ((await lstat(inner).catch(() => undefined))?.blocks ?? 0) * 512;
      if (bytes > bytesMax) break;
    }
  } catch {
    // Removed meanwhile, or not readable.
  }
  return bytes;
}

/** Also removes directories without permissions. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    await makeWritable(path);
    await rm(path, { recursive: true, force: true });
  }
}

async function makeWritable(path: string): Promise<void> {
  if (!(await lstat(path)).isDirectory()) return;
  await chmod(path, 0o700);
  for (const name of await readdir(path)) await makeWritable(join(path, name));
}
