/** Checks the write-ahead log before SQLite opens it and silently drops committed transactions after an invalid frame. */
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { AppError } from "../../kernel/errors.ts";

const headBytes = 32;
const frameHeadBytes = 24;
/** The last bit of the magic number is the byte order of the checksums. */
const magic = 0x377f0682;

/** A new database has no file; an empty file has lost its contents. Throws `conflict`. */
export function refuseEmptied(path: string): void {
  if (existsSync(path) && statSync(path).isFile() && statSync(path).size === 0)
    throw new AppError(
      "conflict",
      `The database ${path} is empty: it was truncated, or its creation was interrupted. Nothing was changed. Restore a backup beside it, or move it away to start with a new one.`,
    );
}

/** Throws `conflict`. Changes nothing. */
export function refuseDamagedLog(path: string): void {
  const log = `${path}-wal`;
  if (!existsSync(log) || statSync(log).size <= headBytes) return;
  if (!existsSync(path) || statSync(path).size === 0)
    throw refusal(`The database ${path} is missing, but its write-ahead log ${log} exists and has the last commits`);
  const lost = lostTransactions(log);
  if (lost > 1)
    throw refusal(`The write-ahead log ${log} is damaged: at least ${lost} transactions in it can't be read`);
}

const refusal = (what: string): AppError =>
  new AppError(
    "conflict",
    `${what}. Nothing was changed. Restore an undamaged copy of both files, or restore a backup. To continue without the log, move it away.`,
  );

function lostTransactions(log: string): number {
  const file = openSync(log, "r");
  try {
    const head = Buffer.alloc(headBytes);
    readSync(file, head, 0, headBytes, 0);
    const pageBytes = head.readUInt32BE(8);
    if ((head.readUInt32BE(0) & ~1) !== magic || pageBytes < 512 || pageBytes > 65_536) return 0;
    const lost = countBeyond(file, head, pageBytes);
    const again = Buffer.alloc(headBytes);
    readSync(file, again, 0, headBytes, 0);
    // Another process has restarted the log meanwhile, so the result is meaningless.
    return head.equals(again) ? lost : 0;
  } finally {
    closeSync(file);
  }
}

function countBeyond(file: number, head: Buffer, pageBytes: number): number {
  const sums = new Sums((head.readUInt32BE(0) & 1) === 1);
  sums.add(head.subarray(0, 24));
  const frame = Buffer.alloc(frameHeadBytes + pageBytes);
  let isWhole = sums.equal(head.readUInt32BE(24), head.readUInt32BE(28));
  let beyond = 0;
  for (let at = headBytes; readSync(file, frame, 0, frame.length, at) === frame.length; at += frame.length) {
    // A restarted log leaves frames of the previous one behind its end, with another salt.
    const isOfThisLog = frame.subarray(8, 16).equals(head.subarray(16, 24));
    if (isWhole && isOfThisLog) {
      sums.add(frame.subarray(0, 8));
      sums.add(frame.subarray(frameHeadBytes));
      isWhole = sums.equal(frame.readUInt32BE(16), frame.readUInt32BE(20));
    } else if (isWhole) return 0;
    const isCommit = frame.readUInt32BE(4) !== 0;
    if (!isWhole && isOfThisLog && isCommit) beyond += 1;
  }
  return beyond;
}

class Sums {
  readonly #isBigEndian: boolean;
  #one = 0;
  #two = 0;

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian;
  }

  add(bytes: Buffer): void {
    const read = (at: number) => (this.#isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at));
    for (let at = 0; at < bytes.length; at += 8) {
      this.#one = (this.#one + read(at) + this.#two) >>> 0;
      this.#two = (this.#two + read(at + 4) + this.#one) >>> 0;
    }
  }

  equal(one: number, two: number): boolean {
    return this.#one === one && this.#two === two;
  }
}
