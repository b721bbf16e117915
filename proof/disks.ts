/**
 * A disk that is full while everybody writes: that of the data, or that of PostgreSQL's log, which it can't do without: it ends, and whoever
 * looks after it starts it again. The server lives, says 503, and goes on by itself when there is room.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isReady } from "../deploy/cluster/cluster.ts";
import { folderFor, ownerOfParts, until } from "../deploy/cluster/parts.ts";
import { aftermathOf } from "./aftermath.ts";
import { inFolder, type ProofOptions, type Proven, type Used, used } from "./attempt.ts";
import { Postgres, type PostgresSettings } from "./postgres.ts";
import { type Engine, newRegister } from "./service.ts";
import { halves } from "./soaking.ts";
import { fill, free, mountSmallDisk, unmount } from "./space.ts";
import { faultsOf, figuresOf } from "./verdict.ts";

export type FullDisk = "disk-full" | "log-full";

export async function proveFullDisk(name: FullDisk, engine: Engine, options: ProofOptions): Promise<Proven> {
  return inFolder(async (folder) => {
    const owner = engine === "postgres" ? ownerOfParts() : undefined;
    const small = folderFor(owner, join(folder, "small"));
    mountSmallDisk(small, owner, 160);
    const postgres = engine === "postgres" ? await startedOn(name, folder, small) : undefined;
    const keeper = postgres && new Keeper(postgres);
    try {
      const register = newRegister(postgres?.url ?? `sqlite:${join(small, "cadastre.db")}`);
      const surroundings = { folder, register, slowness: options.slowness };
      const found = await used(`${name}-${engine}`, surroundings, (all) => filled(all, small, options, keeper));
      return { name, engine, ...found };
    } finally {
      await keeper?.end();
      await postgres?.stop();
      unmount(small);
    }
  });
}

/** With its data on the small disk, or its log. */
async function startedOn(name: FullDisk, folder: string, small: string): Promise<Postgres> {
  const isLog = name === "log-full";
  // So that the log needs more room soon, instead of writing over what it has.
  const settings: PostgresSettings = isLog ? { wal_recycle: "off", min_wal_size: "2MB", max_wal_size: "12MB" } : {};
  const dataFolder = isLog ? join(folder, "data") : join(small, "data");
  const postgres = await Postgres.at({ folder, dataFolder, settings });
  postgres.create(`--waldir=${isLog ? join(small, "log") : join(folder, "log")}`, "--wal-segsize=1");
  await postgres.start();
  return postgres;
}

/** Starts PostgreSQL again whenever it has ended, as a manager of services does. */
class Keeper {
  starts = 0;
  #isOver = false;
  readonly #keeping: Promise<void>;

  constructor({ part }: Postgres) {
    this.#keeping = (async () => {
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
    await this.#keeping;
  }
}

async function filled(
  all: Used,
  small: string,
  { seconds }: ProofOptions,
  keeper: Keeper | undefined,
): Promise<Pick<Proven, "told" | "found" | "faults">> {
  const { service, world, history, rest } = all;
  await sleep(seconds * 1000);
  const fullUntil = performance.now() + 4 * seconds * 1000;
  try {
    // Again and again: what a database removes makes room.
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
      "writes are taken again",
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
  if (refused === 0) faults.push("nobody noticed that the disk was full");
  await service.part.stop();
  const whole = await halves(service.register.environment["CADASTRE_DATABASE"] ?? "");
  const restarts =
    keeper === undefined || keeper.starts === 0 ? "" : `; PostgreSQL was started again ${keeper.starts} times`;
  const told = `full for ${4 * seconds} s: ${asked} requests, ${refused} refused, ${unknown} with unknown outcome${restarts}; writes succeeded ${back} s after there was space`;
  return { told, found: aftermath.found, faults: [...faults, ...whole, ...faultsOf(history), ...aftermath.faults] };
}

const hasWrittenSince = ({ history }: Used, sinceMs: number): boolean =>
  history.events.some(({ isWrite, outcome, calledMs }) => isWrite && outcome === "done" && calledMs > sinceMs);
