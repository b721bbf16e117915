/**
 * Proves a full disk under load: that of the data, or that of PostgreSQL's write-ahead log, which makes PostgreSQL exit. The server must stay
 * up, answer 503, and recover automatically once there is space.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isReady } from "../deploy/cluster/cluster.ts";
import { folderFor, ownerOfParts, until } from "../deploy/cluster/parts.ts";
import { aftermathOf } from "./aftermath.ts";
import { inFolder, type ProofOptions, type ProofResult, type LoadedService, underLoad } from "./attempt.ts";
import { Postgres, type PostgresSettings } from "./postgres.ts";
import { type Engine, newRegister } from "./service.ts";
import { inconsistencies } from "./soak-run.ts";
import { fill, free, mountSmallDisk, unmount } from "./space.ts";
import { faultsOf, figuresOf } from "./checker.ts";

export type FullDisk = "disk-full" | "log-full";

export async function proveFullDisk(name: FullDisk, engine: Engine, options: ProofOptions): Promise<ProofResult> {
  return inFolder(async (folder) => {
    const owner = engine === "postgres" ? ownerOfParts() : undefined;
    const small = folderFor(owner, join(folder, "small"));
    mountSmallDisk(small, owner, 160);
    const postgres = engine === "postgres" ? await startedOn(name, folder, small) : undefined;
    const restarter = postgres && new Restarter(postgres);
    try {
      const register = newRegister(postgres?.url ?? `sqlite:${join(small, "cadastre.db")}`);
      const surroundings = { folder, register, slowness: options.slowness };
      const found = await underLoad(`${name}-${engine}`, surroundings, (all) => filled(all, small, options, restarter));
      return { name, engine, ...found };
    } finally {
      await restarter?.end();
      await postgres?.stop();
      unmount(small);
    }
  });
}

/** With its data or its write-ahead log on the small disk. */
async function startedOn(name: FullDisk, folder: string, small: string): Promise<Postgres> {
  const isLog = name === "log-full";
  // The log must grow soon instead of recycling its segments.
  const settings: PostgresSettings = isLog ? { wal_recycle: "off", min_wal_size: "2MB", max_wal_size: "12MB" } : {};
  const dataFolder = isLog ? join(folder, "data") : join(small, "data");
  const postgres = await Postgres.at({ folder, dataFolder, settings });
  postgres.create(`--waldir=${isLog ? join(small, "log") : join(folder, "log")}`, "--wal-segsize=1");
  await postgres.start();
  return postgres;
}

/** Restarts PostgreSQL whenever it has exited, like a service manager. */
class Restarter {
  starts = 0;
  #isOver = false;
  readonly #restarting: Promise<void>;

  constructor({ part }: Postgres) {
    this.#restarting = (async () => {
      while (!this.#isOver) {
        if (part.hasFailed) {
          this.starts += 1;
          part.start();
        }
        await sleep(1_000);
      }
    })();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#restarting;
  }
}

async function filled(
  all: LoadedService,
  small: string,
  { seconds }: ProofOptions,
  restarter: Restarter | undefined,
): Promise<Pick<ProofResult, "summary" | "found" | "faults">> {
  const { service, world, history, rest } = all;
  await sleep(seconds * 1000);
  const fullUntil = performance.now() + 4 * seconds * 1000;
  try {
    // Repeatedly, because the database frees space by removing files.
    while (performance.now() < fullUntil) {
      fill(small);
      await sleep(500);
    }
  } finally {
    free(small);
  }
  const freedMs = performance.now();
  const faults: string[] = [];
  try {
    await until(
      async () => (await isReady(service.target)) && hasWrittenSince(all, freedMs),
      "writes succeed again",
      90,
    );
  } catch (error) {
    faults.push((error as Error).message);
  }
  const back = ((performance.now() - freedMs) / 1000).toFixed(1);
  if (service.part.hasFailed) faults.push(`the server has ended: ${service.part.said()}`);
  await sleep(seconds * 1000);
  await rest();
  const aftermath = await aftermathOf(world, service.target, history);
  const { asked, refused, unknown } = figuresOf(history);
  if (refused === 0) faults.push("no request was refused while the disk was full");
  await service.part.stop();
  const inconsistent = await inconsistencies(service.register.environment["CADASTRE_DATABASE"] ?? "");
  const restarts =
    restarter === undefined || restarter.starts === 0 ? "" : `; PostgreSQL was restarted ${restarter.starts} times`;
  const summary = `full for ${4 * seconds} s: ${asked} requests, ${refused} refused, ${unknown} of unknown outcome${restarts}; writes succeeded again ${back} s after space was freed`;
  return {
    summary,
    found: aftermath.found,
    faults: [...faults, ...inconsistent, ...faultsOf(history), ...aftermath.faults],
  };
}

const hasWrittenSince = ({ history }: LoadedService, sinceMs: number): boolean =>
  history.events.some(({ isWrite, outcome, calledMs }) => isWrite && outcome === "done" && calledMs > sinceMs);
