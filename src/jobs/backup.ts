/** Backups on a schedule, where the settings name a folder for them: one server makes each, whichever has the lease. */
import { backupIfDue, type Schedule } from "../backup/schedule.ts";
import type { Job } from "./job.ts";

/** It looks often and makes one rarely, so that one that failed is tried again soon. */
const lookEveryMs = 60_000;

/** What is known of it without a schedule. */
export const backupFacts: Pick<Job, "name" | "doc" | "everyMs"> = {
  name: "backup",
  doc: "writes a backup into the folder that is set for them, reads it back, and removes the oldest.",
  everyMs: lookEveryMs,
};

export interface BackupSettings {
  readonly backupDirectory: string | undefined;
  readonly backupEveryHours: number;
  readonly backupKeep: number;
}

/** None where no folder is set. */
export function backupJobs(settings: BackupSettings, version: string): Job[] {
  const { backupDirectory: directory, backupEveryHours: everyHours, backupKeep: keep } = settings;
  return directory === undefined ? [] : [backupJob({ directory, everyHours, keep }, version)];
}

export const backupJob = (schedule: Schedule, version: string): Job => ({
  ...backupFacts,
  run: ({ context: { database, vault }, signal, step }) =>
    backupIfDue({ database, vault, signal, step }, schedule, version),
});
