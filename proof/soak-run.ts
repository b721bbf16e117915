/** Runs a soak: a server, its load, and periodic samples. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../src/database/engines/open.ts";
import { startPostgres } from "../test/support/postgres.ts";
import { contradictionsIn } from "../test/support/stress/invariants.ts";
import { aftermathOf } from "./aftermath.ts";
import { History } from "./history.ts";
import { Load } from "./load.ts";
import { growthIn, type Sample, sampleService } from "./samples.ts";
import { type Engine, newRegister, newService, type Service, untilServing } from "./service.ts";
import { Stage } from "./stage.ts";
import { faultsOf, figuresOf } from "./checker.ts";
import { World } from "./world.ts";

const cacheFolder = fileURLToPath(new URL("../node_modules/.cache/cadastre/soak/", import.meta.url));
export const say = (line: string): void => console.log(line);

export interface SoakOptions {
  readonly minutes: number;
  readonly isKilled: boolean;
  /** Multiplies all pauses. */
  readonly slowness: number;
}

export interface SoakResult {
  readonly engine: Engine;
  readonly minutes: number;
  readonly kills: number;
  readonly asked: number;
  readonly missed: number;
  readonly found: number;
  readonly samples: readonly Sample[];
  readonly faults: readonly string[];
}

export async function soak(engine: Engine, options: SoakOptions): Promise<SoakResult> {
  const folder = mkdtempSync(join(tmpdir(), "cadastre-soak-"));
  const postgres = engine === "postgres" ? await startPostgres({ durable: true }) : undefined;
  const database = postgres?.url("postgres") ?? `sqlite:${join(folder, "cadastre.db")}`;
  const service = await newService(folder, newRegister(database));
  const end = () => void service.part.kill().finally(() => process.exit(1));
  process.once("SIGINT", end).once("SIGTERM", end);
  try {
    service.part.start();
    await untilServing(service);
    const result = await watched(engine, service, options);
    await service.part.stop();
    return { ...result, faults: [...result.faults, ...(await inconsistencies(database))] };
  } finally {
    process.off("SIGINT", end).off("SIGTERM", end);
    await service.part.stop();
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** After a kill, the database can still be committing the last transaction; this is long enough. */
const settledMs = 10_000;

async function watched(engine: Engine, service: Service, options: SoakOptions): Promise<SoakResult> {
  const { minutes, isKilled, slowness } = options;
  const history = new History(join(cacheFolder, `${engine}${isKilled ? "-kills" : ""}.jsonl`));
  const stage = new Stage([service.target], history);
  const world = await World.make(service.target, service.register.adminToken, `soak-${engine}`);
  const load = await Load.prepare(stage, world, slowness);
  load.begin();
  const until = performance.now() + minutes * 60_000;
  const killing = isKilled ? killRepeatedly(service, stage, until) : Promise.resolve(0);
  const samples = await sampleService(service, history, minutes, (sample, count) => printSample(engine, sample, count));
  const kills = await killing;
  await load.end();
  const aftermath = await aftermathOf(world, service.target, history);
  await load.endAgents();
  await history.close();
  const { asked, refused, unknown } = figuresOf(history);
  const faults = [...faultsOf(history, settledMs), ...aftermath.faults, ...(isKilled ? [] : growthIn(engine, samples))];
  if (!isKilled && refused + unknown > 0) faults.push(`${engine}: ${refused + unknown} requests were refused`);
  return { engine, minutes, kills, asked, missed: refused + unknown, found: aftermath.found, samples, faults };
}

function printSample(engine: Engine, { memoryMb, requests, medianMs, highMs, bareMs }: Sample, count: number): void {
  say(
    `${engine} ${String(count).padStart(2)}: ${memoryMb.toFixed(0)} MB, ${requests} requests, median ${medianMs.toFixed(1)} ms, 99 of 100 within ${highMs.toFixed(1)} ms, bare ${bareMs.toFixed(1)} ms`,
  );
}

/** Kills the server at random times and restarts it immediately. */
async function killRepeatedly(service: Service, stage: Stage, untilMs: number): Promise<number> {
  let kills = 0;
  while (performance.now() < untilMs) {
    await sleep(1_000 + Math.random() * 6_000);
    stage.goesDown(service.target);
    await service.part.kill();
    kills += 1;
    service.part.start();
    await untilServing(service);
    stage.isBack(service.target);
  }
  return kills;
}

/** Partial writes show as contradictions between counters or copies and the data. */
export async function inconsistencies(address: string): Promise<string[]> {
  const database = openDatabase(address);
  try {
    return Object.entries(await contradictionsIn(database)).map(
      ([name, rows]) => `${name} contradicts the data: ${JSON.stringify(rows.slice(0, 3))}`,
    );
  } finally {
    await database.close();
  }
}
