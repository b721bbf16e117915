/** Writes scheduled backups, verifies them, and removes the oldest. It must not touch other files in the directory. */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Database, Tx } from "../database/database.ts";
import { readFact, setFact } from "../database/meta.ts";
import type { Vault } from "../database/vault.ts";
import { conflict } from "../kernel/errors.ts";
import { now, nowMs } from "../kernel/time.ts";
import type { ObjectReader } from "./contents.ts";
import { verifyBackup } from "./restore.ts";
import { writeBackup } from "./write.ts";

export interface BackupSchedule {
  readonly directory: string;
  readonly everyHours: number;
  readonly keep: number;
}

export interface BackupJobContext {
  readonly database: Database;
  readonly vault: Vault;
  readonly readObject: ObjectReader;
  readonly signal: AbortSignal;
  step<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

export interface LastBackup {
  readonly at: string;
  readonly file: string;
  readonly bytes: number;
}

const factName = "last-backup";

export async function lastBackup(tx: Tx): Promise<LastBackup | undefined> {
  const text = await readFact(tx, factName);
  return text === undefined ? undefined : (JSON.parse(text) as LastBackup);
}

export async function recordBackup(tx: Tx, backup: LastBackup): Promise<void> {
  await setFact(tx, factName, JSON.stringify(backup));
}

const hourMs = 3_600_000;

/** Returns how many it wrote. Throws `conflict`. */
export async function backupIfDue(job: BackupJobContext, schedule: BackupSchedule, version: string): Promise<number> {
  const { database, vault, readObject, signal } = job;
  const last = await lastBackup(database.reader);
  const isDue = last === undefined || nowMs() - Date.parse(last.at) >= schedule.everyHours * hourMs;
  if (!isDue) return 0;
  await requireDirectory(schedule.directory);
  await removeUnfinished(schedule.directory);
  const at = now();
  const file = join(schedule.directory, fileNameAt(at));
  const { bytes } = await writeBackup({
    database,
    file,
    keyId: vault.keyId,
    version,
    progress: () => {},
    readObject,
    signal,
  });
  try {
    await verifyBackup(file, () => signal.throwIfAborted(), vault);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
  await job.step((tx) => recordBackup(tx, { at, file, bytes }));
  await removeOldest(schedule);
  return 1;
}

/** Sorting by name sorts by time. */
const fileNameAt = (instant: string): string =>
  `cadastre-${instant.replace(/\.\d+/, "").replaceAll(/[-:]/g, "")}.backup`;
const backupName = /^cadastre-\d{8}T\d{6}Z\.backup$/;
const unfinishedName = /^cadastre-\d{8}T\d{6}Z\.backup\.[0-9a-f]{8}\.partial(\.objects)?$/;

/** The directory is not created: if its disk isn't mounted, backups would go to another one. */
async function requireDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  if (!found?.isDirectory())
    throw conflict(
      `The backup directory ${directory} doesn't exist. Create it, mount its disk, or set CADASTRE_BACKUP_DIRECTORY to another one.`,
    );
}

async function removeOldest({ directory, keep }: BackupSchedule): Promise<void> {
  const backups = (await readdir(directory)).filter((name) => backupName.test(name)).toSorted();
  for (const name of backups.slice(0, Math.max(0, backups.length - keep)))
    await rm(join(directory, name), { force: true });
}

/** Killed processes leave partial files; those of running backups are younger. */
async function removeUnfinished(directory: string): Promise<void> {
  for (const name of (await readdir(directory)).filter((file) => unfinishedName.test(file))) {
    const path = join(directory, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > hourMs) await rm(path, { force: true });
  }
}
