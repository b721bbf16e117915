/**
 * Proves backups under load: each is complete, contains every write that was acknowledged before it and none that was sent after it, matches
 * its audit log, and can be served. A last one, without load, must be identical row by row after restores on both databases.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { startPostgres, type TestPostgres } from "../test/support/postgres.ts";
import { momentFaults } from "./aftermath.ts";
import { inFolder, type ProofOptions, type ProofResult, type LoadedService, underLoad } from "./attempt.ts";
import { afterwards, type Window } from "./final-state.ts";
import { countOf, differencesOf, lostSince, rowsIn } from "./rows.ts";
import { cadastre, type Engine, movedTo, newRegister, newService, type Register, untilServing } from "./service.ts";
import { inconsistencies } from "./soak-run.ts";
import { faultsOf } from "./checker.ts";

interface TakenBackup {
  readonly file: string;
  readonly window: Window;
}

export interface BackupOptions extends ProofOptions {
  readonly rounds: number;
}

export async function proveBackups(engine: Engine, options: BackupOptions): Promise<ProofResult> {
  return inFolder(async (folder) => {
    const postgres = await startPostgres();
    try {
      const databases = new DatabaseFactory(folder, postgres);
      const register = newRegister(await databases.next(engine));
      const name = `backup-${engine}`;
      const found = await underLoad(name, { folder, register, slowness: options.slowness }, (all) =>
        takeAndVerify(all, engine, databases, options),
      );
      return { name: "backup", engine, ...found };
    } finally {
      await postgres.stop();
    }
  });
}

/** Creates empty databases. */
class DatabaseFactory {
  readonly #folder: string;
  readonly #postgres: TestPostgres;
  #count = 0;

  constructor(folder: string, postgres: TestPostgres) {
    this.#folder = folder;
    this.#postgres = postgres;
  }

  async next(engine: Engine): Promise<string> {
    this.#count += 1;
    const name = `register_${this.#count}`;
    if (engine === "sqlite") return `sqlite:${join(this.#folder, `${name}.db`)}`;
    const client = new pg.Client({ connectionString: this.#postgres.url("postgres") });
    await client.connect();
    await client.query(`create database ${name}`);
    await client.end();
    return this.#postgres.url(name);
  }

  file(name: string): string {
    return join(this.#folder, `${name}.backup`);
  }
}

async function takeAndVerify(
  all: LoadedService,
  engine: Engine,
  databases: DatabaseFactory,
  { rounds, seconds, say }: BackupOptions,
): Promise<Pick<ProofResult, "summary" | "found" | "faults">> {
  const { service, history } = all;
  const { register } = service;
  const backups: TakenBackup[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    await sleep(seconds * 1000);
    const file = databases.file(`during-${round}`);
    const fromMs = performance.now();
    await cadastre(["backup", file], register);
    backups.push({ file, window: { fromMs, toMs: performance.now() } });
    say(`  backup ${round} took ${((performance.now() - fromMs) / 1000).toFixed(1)} s`);
  }
  await sleep(seconds * 1000);
  await all.rest();
  await service.part.stop();
  const last = { file: databases.file("at-rest"), window: afterwards };
  await cadastre(["backup", last.file], register);
  const faults = [...faultsOf(history)];
  let found = 0;
  for (const one of [...backups, last]) {
    const judged = await verifyRestored(all, one, movedTo(register, await databases.next(engine)));
    faults.push(...judged.faults);
    found += judged.found;
  }
  const final = await rowsIn(last.file);
  for (const { file } of backups) faults.push(...lostSince(await rowsIn(file), final));
  faults.push(...(await differencesAfterMoves(last.file, databases, register)));
  const summary = `${rounds} backups during ${history.events.length} requests; one without load with ${countOf(final)} rows, unchanged after both databases`;
  return { summary, found, faults };
}

/** Verifies and restores a backup, serves it, and compares it with the history. */
async function verifyRestored(
  { world, history }: LoadedService,
  { file, window }: TakenBackup,
  register: Register,
): Promise<{ found: number; faults: readonly string[] }> {
  await cadastre(["backup", "verify", file], register);
  await cadastre(["restore", file], register);
  const database = register.environment["CADASTRE_DATABASE"] ?? "";
  const inconsistent = await inconsistencies(database);
  const service = await newService(join(file, ".."), register, "restored");
  service.part.start();
  try {
    await untilServing(service);
    const { found, faults } = await momentFaults(world.at(service.target), service.target, history, window);
    return { found, faults: [...inconsistent, ...faults] };
  } finally {
    await service.part.stop();
  }
}

/** Restores and backs up on both databases in turn; every row must stay the same. */
async function differencesAfterMoves(file: string, databases: DatabaseFactory, register: Register): Promise<string[]> {
  const faults: string[] = [];
  let from = file;
  for (const engine of ["postgres", "sqlite"] as const) {
    const there = movedTo(register, await databases.next(engine));
    await cadastre(["restore", from], there);
    const next = databases.file(`from-${engine}`);
    await cadastre(["backup", next], there);
    faults.push(...differencesOf(await rowsIn(from), await rowsIn(next)));
    from = next;
  }
  return faults;
}
