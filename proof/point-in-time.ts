/**
 * Proves point-in-time recovery by running the blocks of docs/operations.md with other directories and another time. The result must contain
 * every write that was acknowledged before that time, and none that was sent after it.
 */
import { execFile, execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { folderFor, writeFor } from "../deploy/cluster/parts.ts";
import { readBackup } from "../src/backup/read.ts";
import { momentFaults } from "./aftermath.ts";
import { inFolder, type ProofOptions, type ProofResult, type LoadedService, underLoad } from "./attempt.ts";
import type { Window } from "./final-state.ts";
import { Postgres, postgresPrograms } from "./postgres.ts";
import { cadastre, movedTo, newRegister, newService, type Register, untilServing } from "./service.ts";
import { inconsistencies } from "./soak-run.ts";
import { faultsOf } from "./checker.ts";

const document = fileURLToPath(new URL("../docs/operations.md", import.meta.url));
/** The archive directory and the time in the document's blocks. */
const [documentFolder, documentTime] = ["/archive", "2030-01-31 11:59:00+00"];

function blocksOfDocument(): [settings: string, copy: string, recovery: string] {
  const [, part = ""] = readFileSync(document, "utf8").split("### Point-in-time recovery\n");
  const [settings, copy, recovery] = [...part.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block);
  if (settings === undefined || copy === undefined || recovery === undefined)
    throw new Error(
      "docs/operations.md no longer has the three blocks of point-in-time recovery: settings, copy, recovery",
    );
  if (!recovery.includes(documentTime)) throw new Error(`docs/operations.md no longer has the time ${documentTime}`);
  return [settings, copy, recovery];
}

type Outcome = Pick<ProofResult, "summary" | "found" | "faults">;

export async function provePostgresMoment(options: ProofOptions): Promise<ProofResult> {
  return inFolder(async (folder) => {
    const [settings, copy, recovery] = blocksOfDocument();
    const postgres = await Postgres.at({ folder });
    const archive = folderFor(postgres.owner, join(folder, "archive"));
    const here = (block: string) => block.replaceAll(documentFolder, archive);
    postgres.create();
    appendFileSync(join(postgres.dataFolder, "postgresql.conf"), here(settings));
    await postgres.start();
    try {
      const register = newRegister(postgres.url);
      const found = await underLoad(
        "moment-postgres",
        { folder, register, slowness: options.slowness },
        async (all) => {
          await sleep(options.seconds * 1000);
          await runShell(here(copy), postgres);
          await sleep(options.seconds * 1000);
          const { window, moment } = await databaseTime(postgres);
          await sleep(options.seconds * 1000);
          await all.rest();
          await all.service.part.stop();
          // Stopping PostgreSQL archives the last segment.
          await postgres.stop();
          const old = await recoverTo(folder, archive, here(recovery).replace(documentTime, moment), postgres);
          try {
            return await judged(all, movedTo(register, old.url), window, `to ${moment}`);
          } finally {
            await old.stop();
          }
        },
      );
      return { name: "point-in-time", engine: "postgres", ...found };
    } finally {
      await postgres.stop();
    }
  });
}

/** Runs a shell line as PostgreSQL's user, under load. */
async function runShell(line: string, { owner, port }: Postgres): Promise<void> {
  const env = { PATH: `${postgresPrograms()}:${process.env["PATH"]}`, PGHOST: "127.0.0.1", PGPORT: String(port) };
  const words = { ...owner, cwd: "/", env: { ...env, PGUSER: "postgres" } };
  await promisify(execFile)("sh", ["-ec", line], words);
}

/** The database's time, and the interval of our clock in which it was read. */
async function databaseTime(postgres: Postgres): Promise<{ window: Window; moment: string }> {
  const fromMs = performance.now();
  const [row] = await postgres.ask("select clock_timestamp()::text as moment");
  return { window: { fromMs, toMs: performance.now() }, moment: String(row?.["moment"]) };
}

/** Restores the base backup and replays the archive up to the time. */
async function recoverTo(folder: string, archive: string, recovery: string, { owner }: Postgres): Promise<Postgres> {
  const old = await Postgres.at({ folder, dataFolder: join(folder, "gone-back") });
  folderFor(owner, old.dataFolder);
  const copy = readdirSync(archive).find((name) => name.startsWith("base-"));
  if (copy === undefined) throw new Error(`there is no base backup in ${archive}`);
  execFileSync("tar", ["-xzf", join(archive, copy, "base.tar.gz"), "-C", old.dataFolder], { ...owner, cwd: "/" });
  appendFileSync(join(old.dataFolder, "postgresql.conf"), recovery);
  writeFor(owner, join(old.dataFolder, "recovery.signal"), "");
  await old.start();
  return old;
}

async function judged(all: LoadedService, register: Register, window: Window, summary: string): Promise<Outcome> {
  const { world, history } = all;
  const inconsistent = await inconsistencies(register.environment["CADASTRE_DATABASE"] ?? "");
  const service = await newService(join(all.service.part.logFile, ".."), register, "gone-back");
  service.part.start();
  try {
    await untilServing(service);
    const { found, faults } = await momentFaults(world.at(service.target), service.target, history, window);
    const after = history.events.filter(
      ({ isWrite, outcome, calledMs }) => isWrite && outcome === "done" && calledMs > window.toMs,
    );
    return {
      summary: `recovered ${summary}; ${after.length} later writes are absent, as expected`,
      found,
      faults: [
        ...inconsistent,
        ...faults,
        ...faultsOf(history),
        ...(after.length === 0 ? ["nothing was written after the recovery time"] : []),
      ],
    };
  } finally {
    await service.part.stop();
  }
}

/** SQLite: restores a scheduled backup, and a snapshot of the files. */
export async function proveSqliteMoments(options: ProofOptions): Promise<ProofResult> {
  return inFolder(async (folder) => {
    const register = newRegister(`sqlite:${join(folder, "cadastre.db")}`);
    const found = await underLoad("moment-sqlite", { folder, register, slowness: options.slowness }, async (all) => {
      await sleep(options.seconds * 1000);
      const scheduled = await scheduledBackup(folder, register);
      const snapshot = await snapshotOf(all, folder);
      await sleep(options.seconds * 1000);
      await all.rest();
      await all.service.part.stop();
      const restored = movedTo(register, `sqlite:${join(folder, "restored.db")}`);
      await cadastre(["restore", scheduled.file], restored);
      const byBackup = await judged(all, restored, scheduled.window, "from a scheduled backup");
      const bySnapshot = await judged(all, movedTo(register, snapshot.database), snapshot.window, "from a snapshot");
      return {
        summary: `${byBackup.summary}; ${bySnapshot.summary}`,
        found: byBackup.found + bySnapshot.found,
        faults: [...scheduled.faults, ...byBackup.faults, ...bySnapshot.faults],
      };
    });
    return { name: "point-in-time", engine: "sqlite", ...found };
  });
}

/** Runs the backup job immediately. */
async function scheduledBackup(
  folder: string,
  { adminToken, environment }: Register,
): Promise<{ file: string; window: Window; faults: string[] }> {
  const backups = join(folder, "backups");
  mkdirSync(backups, { mode: 0o700 });
  const fromMs = performance.now();
  const register = { adminToken, environment: { ...environment, CADASTRE_BACKUP_DIRECTORY: backups } };
  await cadastre(["job", "run", "backup"], register);
  const window = { fromMs, toMs: performance.now() };
  const [name] = readdirSync(backups);
  if (name === undefined) throw new Error("the backup job created no backup");
  const file = join(backups, name);
  const claimedMs = (await creationTimeOf(file)) - performance.timeOrigin;
  const isWithin = window.fromMs - clockSlackMs <= claimedMs && claimedMs <= window.toMs + clockSlackMs;
  return { file, window, faults: isWithin ? [] : [`the header of ${name} has a wrong creation time`] };
}

const clockSlackMs = 5;

async function creationTimeOf(file: string): Promise<number> {
  for await (const part of readBackup(file)) if (part.kind === "header") return Date.parse(part.header.createdAt);
  throw new Error(`${file} has no header`);
}

/** Emulates a file system snapshot by pausing the server while the files are copied. */
async function snapshotOf({ service }: LoadedService, folder: string): Promise<{ database: string; window: Window }> {
  const into = join(folder, "snapshot");
  mkdirSync(into);
  service.part.pause();
  const fromMs = performance.now();
  try {
    for (const name of ["cadastre.db", "cadastre.db-wal"]) cpSync(join(folder, name), join(into, name));
  } finally {
    service.part.resume();
  }
  return { database: `sqlite:${join(into, "cadastre.db")}`, window: { fromMs, toMs: performance.now() } };
}
