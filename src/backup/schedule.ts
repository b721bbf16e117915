/**
 * Backups that are made by themselves: into a folder, every so many hours, and as many as are to be kept. Each is read back before it
 * counts, and what is no backup of this kind in the folder is left alone.
 */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Database, Tx } from "../database/database.ts";
import { readFact, setFact } from "../database/meta.ts";
import type { Vault } from "../database/vault.ts";
import { conflict } from "../kernel/errors.ts";
import { now, nowMs } from "../kernel/time.ts";
import { verifyBackup } from "./restore.ts";
import { writeBackup } from "./write.ts";

export interface Schedule {
  readonly directory: string;
  readonly everyHours: number;
  /** How many of them are kept; the oldest goes first. */
  readonly keep: number;
}

/** What a job gives: the register, short transactions, and as long as it may go on. */
export interface Scheduled {
  readonly database: Database;
  readonly vault: Vault;
  readonly signal: AbortSignal;
  step<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

export interface LastBackup {
  readonly at: string;
  readonly file: string;
  readonly bytes: number;
}

const fact = "last-backup";

/** The last good one; undefined where there was none. */
export async function lastBackup(tx: Tx): Promise<LastBackup | undefined> {
  const text = await readFact(tx, fact);
  return text === undefined ? undefined : (JSON.parse(text) as LastBackup);
}

export async function noteBackup(tx: Tx, backup: LastBackup): Promise<void> {
  await setFact(tx, fact, JSON.stringify(backup));
}

const hourMs = 3_600_000;

/** Makes one where the last good one is old enough. Gives how many it made. Raises `conflict` where it can't be made or read back. */
export async function backupIfDue(work: Scheduled, schedule: Schedule, version: string): Promise<number> {
  const { database, vault, signal } = work;
  const last = await lastBackup(database.reader);
  const isDue = last === undefined || nowMs() - Date.parse(last.at) >= schedule.everyHours * hourMs;
  if (!isDue) return 0;
  await refuseWithoutFolder(schedule.directory);
  await removeUnfinished(schedule.directory);
  const at = now();
  const file = join(schedule.directory, nameAt(at));
  const { bytes } = await writeBackup({
    database,
    file,
    keyId: vault.keyId,
    version,
    progress: () => {},
    signal,
  });
  try {
    await verifyBackup(file, () => signal.throwIfAborted(), vault);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
  await work.step((tx) => noteBackup(tx, { at, file, bytes }));
  await removeOldest(schedule);
  return 1;
}

/** `cadastre-20300131T120000Z.backup`: in the order of their names they are in the order of time. */
const nameAt = (instant: string): string => `cadastre-${instant.replace(/\.\d+/, "").replaceAll(/[-:]/g, "")}.backup`;
const ownName = /^cadastre-\d{8}T\d{6}Z\.backup$/;
const unfinishedName = /^cadastre-\d{8}T\d{6}Z\.backup\.[0-9a-f]{8}\.partial$/;

/** It is not made here: a disk that is not mounted would be written past. */
async function refuseWithoutFolder(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  if (!found?.isDirectory())
    throw conflict(
      `The folder for backups, ${directory}, is not there. Make it, or mount what it is on, or name another with CADASTRE_BACKUP_DIRECTORY.`,
    );
}

async function removeOldest({ directory, keep }: Schedule): Promise<void> {
  const own = (await readdir(directory)).filter((name) => ownName.test(name)).toSorted();
  for (const name of own.slice(0, Math.max(0, own.length - keep))) await rm(join(directory, name), { force: true });
}

/** Of a process that was killed; one that is still being written is younger. */
async function removeUnfinished(directory: string): Promise<void> {
  for (const name of (await readdir(directory)).filter((each) => unfinishedName.test(each))) {
    const path = join(directory, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > hourMs) await rm(path, { force: true });
  }
}
