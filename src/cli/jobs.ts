/** `cadastre job …`: lists the background jobs, and runs one under the lease that servers use. */
import type { Tx } from "../database/database.ts";
import { backupJobSummary, backupJobs, contentJobs, contentsJobSummary, jobs } from "../jobs/index.ts";
import { BackgroundJobRunner } from "../jobs/runner.ts";
import { counted, quoted } from "../kernel/text.ts";
import { openPlace, startPlace } from "../contents.ts";
import type { ContentPlace } from "../resources/shared/contents/content-place.ts";
import type { PreparedRegister } from "../service.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { type Command, jsonOption, printRows, type Terminal, UsageError } from "./command.ts";
import { readDatabase, databaseSettings, withDatabase } from "./database.ts";

export const listJobsCommand: Command = {
  name: "job list",
  summary: "List the background jobs and the result of their last run",
  settings: databaseSettings,
  options: jsonOption,
  details: [
    ...[...jobs, contentsJobSummary, backupJobSummary].map(({ name, doc }) => `${name} ${doc}`),
    "HANDLED is the total of all runs. RUNNING ON shows the host, the process and the run.",
    "Example: cadastre job list",
  ],
  async run({ terminal, isOn, settings }) {
    const given = settings();
    const known = await readDatabase(given, readJobs);
    // Servers can have a backup schedule although this command's settings name no directory.
    const isScheduled = given.backupDirectory !== undefined || known.some(({ name }) => name === backupJobSummary.name);
    const usesStore = given.contents !== "database" || known.some(({ name }) => name === contentsJobSummary.name);
    const shown = [...jobs, ...(usesStore ? [contentsJobSummary] : []), ...(isScheduled ? [backupJobSummary] : [])];
    const rows = shown.map(({ name, everyMs }) => ({
      name,
      every: durationText(everyMs),
      ...statusOf(known.find((row) => row.name === name)),
    }));
    printRows(terminal, rows, { json: isOn("json"), empty: "There are no jobs." });
  },
};

export const runJobCommand: Command = {
  name: "job run",
  summary: "Run a background job now, even if it is not due",
  argument: { shape: "NAME", doc: "The job's name, as 'cadastre job list' shows it." },
  settings: [...databaseSettings, "contents", "contentsKeepDays"],
  details: [
    "The job runs in this process; servers don't start it meanwhile. The command fails if a server is running the job. Ctrl+C stops the job; completed steps are kept.",
    "The job 'backup' writes a backup only if the last one is old enough; 'cadastre backup FILE' always writes one.",
    "Example: cadastre job run expired-tokens",
  ],
  async run({ terminal, argument: name, settings: read }) {
    const settings = read();
    const jobs = jobsOf(settings);
    const isContentsJob = name === contentsJobSummary.name && settings.contents !== "database";
    if (!isContentsJob && !jobs.some((job) => job.name === name)) {
      const names = jobs.map((job) => job.name).join(", ");
      if (name === contentsJobSummary.name)
        throw new UsageError(
          "There is no job for contents because CADASTRE_CONTENTS is database. Set it to the object store that the servers use.",
        );
      if (name === backupJobSummary.name)
        throw new UsageError(
          "There is no backup job because CADASTRE_BACKUP_DIRECTORY is not set. Set it, or run 'cadastre backup FILE'.",
        );
      throw new UsageError(`There is no job ${quoted(name)}. Jobs: ${names}.`);
    }
    const handled = await withPlace(settings, terminal, ({ database, vault, place }) => {
      const options = { ...optionsOf(settings), contentPlace: place };
      const all = [...jobs, ...contentJobs(place)];
      return runHere(new BackgroundJobRunner({ database, vault, options, jobs: all }), name, terminal);
    });
    terminal.out(`${name}: handled ${handled}.`);
  },
};

/** Jobs read and delete contents, so they need the same place as the servers. */
async function withPlace<T>(
  settings: Settings,
  terminal: Terminal,
  work: (
    register: Pick<PreparedRegister, "database" | "vault"> & { readonly place?: ContentPlace | undefined },
  ) => Promise<T>,
): Promise<T> {
  return withDatabase(settings, async (register) => {
    const place = openPlace(settings);
    try {
      await startPlace(settings, place, register.database, (sentence) => terminal.note(sentence));
      return await work({ ...register, place });
    } finally {
      place?.stop();
    }
  });
}

const jobsOf = (settings: Settings) => [...jobs, ...backupJobs(settings, version)];

function optionsOf({ organizationCreation, edition, globalRemoteStateDefault, publicUrl = "" }: Settings) {
  return { organizationCreation, edition, globalRemoteStateDefault, publicUrl };
}

const progressIntervalMs = 1_000;

async function runHere(runner: BackgroundJobRunner, name: string, terminal: Terminal): Promise<number> {
  let steps = 0;
  const timer = setInterval(() => terminal.note(`running ${name}: ${counted(steps, "step")} done`), progressIntervalMs);
  const stop = () => void runner.stop();
  process.on("SIGINT", stop).on("SIGTERM", stop);
  try {
    const { handled } = await runner.runNow(name, () => (steps += 1));
    return handled;
  } finally {
    clearInterval(timer);
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

type JobStatusRow = Awaited<ReturnType<typeof readJobs>>[number];

function statusOf(row: JobStatusRow | undefined) {
  const { holder = null, leaseUntilMs = 0, nowMs = 0, finishedMs = null, handledTotal = 0 } = row ?? {};
  return {
    "last-run": finishedMs === null ? null : new Date(finishedMs).toISOString(),
    outcome: row === undefined ? null : outcomeOf(row),
    handled: handledTotal,
    "running-on": leaseUntilMs > nowMs ? holder : null,
  };
}

function outcomeOf({ finishedMs, succeededMs, lastError }: JobStatusRow): string | null {
  if (lastError !== null) return `failed: ${lastError}`;
  if (finishedMs === null) return null;
  return succeededMs === finishedMs ? "succeeded" : "stopped";
}

const units = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

function durationText(ms: number): string {
  const unit = units.find(([, length]) => ms % length === 0);
  return unit === undefined ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`;
}
