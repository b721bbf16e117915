/** Finding what a job left behind: by its user, where that is the job's alone; else by a mark in its environment. */
import { readdirSync, readFileSync, statSync } from "node:fs";

export interface Belongings {
  readonly uid: number | undefined;
  readonly mark: string;
}

/** What everything that a run's job starts has in its environment. */
export const runMark = (runId: string): string => `TFE_RUN_ID=${runId}`;

const roundsMax = 50;

/** Everything that can be found is killed, again and again while there is more: it may be multiplying. */
export function killEverythingOf(belongings: Belongings): void {
  for (let round = 0; round < roundsMax; round += 1) {
    const found = processesOf(belongings);
    if (found.length === 0) return;
    for (const pid of found) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended, or is ending.
      }
    }
  }
}

function processesOf(belongings: Belongings): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && belongs(pid, belongings));
}

function belongs(pid: number, { uid, mark }: Belongings): boolean {
  try {
    if (isEnding(pid)) return false;
    if (uid !== undefined) return statSync(`/proc/${pid}`).uid === uid;
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(mark);
  } catch {
    return false;
  }
}

/** A zombie has ended already; its parent has only not asked yet. */
const isEnding = (pid: number) => /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
