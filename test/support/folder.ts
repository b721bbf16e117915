/** Directories for tests, in memory if there is enough, because commits wait for a disk. */
import { mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const inMemory = "/dev/shm";
const bytesNeeded = 4 * 1024 ** 3;

function freeInMemory(): number {
  try {
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

const parent = freeInMemory() >= bytesNeeded ? inMemory : tmpdir();

/** The caller must remove it. */
export const newFolder = (prefix: string): string => mkdtempSync(join(parent, prefix));
