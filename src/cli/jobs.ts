/** `cadastre job …`: shows the background jobs, and runs one here and now, under the lease that servers run it under. */
import type { Tx } from "../database/database.ts";
import { backupFacts, backupJobs, jobs } from "../jobs/index.ts";
import { JobRunner } from "../jobs/runner.ts";
import { counted, quoted } from "../kernel/text.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { type Command, jsonOption, printRows, type Terminal, UsageError } from "./command.ts";
import { reading, registerSettings, withRegister } from "./register.ts";

export const listJobsCommand: Command = {
  name: "job list",
  summary: "List the background jobs: when each last ran, and how that went",
  settings: registerSettings,
  options: jsonOption,
  details: [
    ...[...jobs, backupFacts].map(({ name, doc }) => `${name} ${doc}`),
    "HANDLED counts all runs so far. RUNNING ON names the machine, the process and the run.",
    "Example: cadastre job list",
  ],
  async run({ terminal, isOn, settings }) {
    const given = settings();
    const known = await reading(given, readJobs);
    // Servers may have it, also where these settings name no folder.
    const isScheduled = given.backupDirectory !== undefined || known.some(({ name }) => name === backupFacts.name);
    const shown = [...jobs, ...(isScheduled ? [backupFacts] : [])];
    const rows = shown.map(({ name, everyMs }) => ({
      name,
      every: durationText(everyMs),
      ...shownOf(known.find((row) => row.name === name)),
    }));
    printRows(terminal, rows, { json: isOn("json"), none: "There are no jobs." });
  },
};

export const runJobCommand: Command = {
  name: "job run",
  summary: "Run a background job now, whenever it is due",
  argument: { shape: "NAME", doc: "The job's name, as 'cadastre job list' shows it." },
  settings: registerSettings,
  details: [
    "It runs in this process, while servers leave it alone. It is refused while a server runs it. Ctrl+C stops it; what it has done stays done.",
    "The job 'backup' makes one when the last is old enough; 'cadastre backup FILE' makes one at any time.",
    "Example: cadastre job run expired-tokens",
  ],
  async run({ terminal, argument: name, settings: read }) {
    const settings = read();
    const jobs = jobsOf(settings);
    if (!jobs.some((job) => job.name === name)) {
      const names = jobs.map((job) => job.name).join(", ");
      if (name === backupFacts.name)
        throw new UsageError(
          "Backups are made by a job where CADASTRE_BACKUP_DIRECTORY names a folder for them; 'cadastre backup FILE' makes one now.",
        );
      throw new UsageError(`There is no job ${quoted(name)}. The jobs are: ${names}.`);
    }
    const handled = await withRegister(settings, async ({ database, vault }) => {
      const runner = new JobRunner({ database, vault, options: optionsOf(settings), jobs });
      return runHere(runner, name, terminal);
    });
    terminal.out(`${name}: handled ${handled}.`);
  },
};

/** The same jobs as a server's with these settings. */
const jobsOf = (settings: Settings) => [...jobs, ...backupJobs(settings, version)];

/** The same options as a server's with these settings. */
function optionsOf({ organizationCreation, edition, globalRemoteStateDefault, publicUrl = "" }: Settings) {
  return { organizationCreation, edition, globalRemoteStateDefault, publicUrl };
}

const tellEveryMs = 1_000;

async function runHere(runner: JobRunner, name: string, terminal: Terminal): Promise<number> {
  let steps = 0;
  const telling = setInterval(() => terminal.note(`running ${name}: ${counted(steps, "step")} done`), tellEveryMs);
  const stop = () => void runner.stop();
  process.on("SIGINT", stop).on("SIGTERM", stop);
  try {
    const { handled } = await runner.runNow(name, () => (steps += 1));
    return handled;
  } finally {
    clearInterval(telling);
    process.off("SIGINT", stop).off("SIGTERM", stop);
    await runner.stop();
  }
}

async function readJobs(tx: Tx) {
  return tx.db
    .selectFrom("jobs")
    .select(["name", "holder", "leaseUntilMs", "finishedMs", "succeededMs", "lastError", "handledTotal"])
    .select(tx.dialect.nowMs.as("nowMs"))
    .execute();
}

type JobRow = Awaited<ReturnType<typeof readJobs>>[number];

function shownOf(row: JobRow | undefined) {
  const { holder = null, leaseUntilMs = 0, nowMs = 0, finishedMs = null, handledTotal = 0 } = row ?? {};
  return {
    "last-run": finishedMs === null ? null : new Date(finishedMs).toISOString(),
    outcome: row === undefined ? null : outcomeOf(row),
    handled: handledTotal,
    "running-on": leaseUntilMs > nowMs ? holder : null,
  };
}

/** Of the last run that has ended. */
function outcomeOf({ finishedMs, succeededMs, lastError }: JobRow): string | null {
  if (lastError !== null) return `failed: ${lastError}`;
  if (finishedMs === null) return null;
  return succeededMs === finishedMs ? "succeeded" : "stopped";
}

const units = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** In the largest unit in which it is whole: `1h`, `90s`. */
function durationText(ms: number): string {
  const unit = units.find(([, length]) => ms % length === 0);
  return unit === undefined ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`;
}
