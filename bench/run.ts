/**
 * Measures CPU time per request and throughput as an organization grows. Every figure is relative to a bare `node:http` server that sends the
 * same bytes in the same run, because machines differ and can be busy.
 *
 *   npm run bench                                everything: both engines, 100, 10,000 and 100,000 workspaces
 *   npm run bench -- sqlite 100                  one engine, one size
 *   npm run bench -- sqlite 100 "list of 20"     one case
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { openDatabase } from "../src/database/engines/open.ts";
import { migrate } from "../src/database/migrate.ts";
import { startPostgres, type TestPostgres } from "../test/support/postgres.ts";
import { type Case, casesFor, changes } from "./cases.ts";
import { type Child, startChild, copyResponse, usageOf } from "./children.ts";
import { sendAtRate, allowSleep, measure, type Measured } from "./client.ts";
import { memberToken, populate, type Population, type WritableWorkspaces } from "./population.ts";
import { printTables, type Row } from "./report.ts";

const seconds = Number(process.env["BENCH_SECONDS"] ?? 2);
const rounds = 3;
const writesPerSecond = 50;
const allSizes = [100, 10_000, 100_000];

async function main(): Promise<void> {
  const [engineOption = "all", sizeOption, caseOption] = process.argv.slice(2);
  const engines = engineOption === "all" ? ["sqlite", "postgres"] : [engineOption];
  const sizes = sizeOption === undefined ? allSizes : [Number(sizeOption)];
  const postgres = engines.includes("postgres") ? await startPostgres({ durable: true }) : undefined;
  const bare = await startChild("bare.ts");
  const rows: Row[] = [];
  try {
    for (const engine of engines) {
      for (const size of sizes) rows.push(...(await run(engine, size, caseOption, { postgres, bare })));
    }
  } finally {
    bare.process.kill();
    await postgres?.stop();
  }
  printTables(rows);
}

interface BenchServers {
  readonly postgres: TestPostgres | undefined;
  readonly bare: Child;
}

async function run(
  engine: string,
  size: number,
  caseName: string | undefined,
  { postgres, bare }: BenchServers,
): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "cadastre-bench-"));
  const address = engine === "sqlite" ? `sqlite:${join(folder, "bench.db")}` : await newPostgres(postgres!, size);
  allowSleep(engine === "postgres");
  console.error(`\n${engine}, ${size} workspaces: filling …`);
  const population = await fill(address, size);
  const service = await startChild("service.ts", address, join(folder, "service.log"));
  await warmUp(casesFor(population)[0]!, service, bare);
  const rows: Row[] = [];
  const report = (row: Row) => {
    rows.push(row);
    console.error(`  ${row.name.padEnd(20)} ${row.beside.padEnd(23)} ${summaryOf(row)}`);
  };
  try {
    for (const one of casesFor(population).filter(({ name }) => caseName === undefined || name === caseName)) {
      report({ engine, size, ...(await compare(one, service, bare)), beside: "at rest" });
      if (one.writes) continue;
      const written = {
        "beside writes": { ...population, token: memberToken },
        "beside writes elsewhere": population.elsewhere,
      };
      for (const [beside, writable] of Object.entries(written) as [Row["beside"], WritableWorkspaces][]) {
        const load = sendAtRate(service.target, writesPerSecond, changes(writable));
        try {
          report({ engine, size, ...(await compare(one, service, bare)), beside });
        } finally {
          await load.stop();
        }
      }
    }
    console.error(`  memory of the process: ${(await usageOf(service)).memoryMb.toFixed(0)} MiB`);
  } finally {
    service.process.kill();
    rmSync(folder, { recursive: true, force: true });
  }
  return rows;
}

const summaryOf = (row: Row): string =>
  `${row.cpu.toFixed(0).padStart(6)} µs  ${row.byCpu.toFixed(2)} of bare by CPU, ${row.byThroughput.toFixed(2)} by throughput` +
  `  (${row.perSecond.toFixed(0)}/s, p50 ${row.p50.toFixed(2)} ms, p99 ${row.p99.toFixed(2)} ms, ${(row.p99 / row.p50).toFixed(1)} ×, bare ${row.bareTail.toFixed(1)} ×${
    row.commitsEach === undefined ? "" : `, ${row.commitsEach.toFixed(2)} commits each`
  })`;

async function fill(address: string, size: number): Promise<Population> {
  const database = openDatabase(address);
  await migrate(database);
  const population = await populate(database, size);
  await sql.raw("analyze").execute(database.reader.db);
  await database.close();
  return population;
}

interface Totals {
  requests: number;
  seconds: number;
  cpu: number;
  commits: number;
  latencies: number[];
}

const warmUpSeconds = 4;

/** Lets the code be compiled first. */
async function warmUp(one: Case, service: Child, bare: Child): Promise<void> {
  await copyResponse(service, bare, one.next);
  for (const { target } of [service, bare]) await measure(target, one.connections, warmUpSeconds, one.next);
}

/** Alternates between both servers, so that other load affects both. */
async function compare(one: Case, service: Child, bare: Child): Promise<Omit<Row, "engine" | "size" | "beside">> {
  // The bare server has no such sequence.
  const sample = one.next();
  const bareCase = { ...one, next: () => sample };
  await copyResponse(service, bare, bareCase.next);
  await measure(service.target, one.connections, seconds / 4, one.next);
  const [ours, theirs] = [newTotals(), newTotals()];
  for (let round = 0; round < rounds; round += 1) {
    await addTo(ours, one, service);
    await addTo(theirs, bareCase, bare);
  }
  const [cpu, bareCpu] = [ours.cpu / ours.requests, theirs.cpu / theirs.requests];
  const perSecond = ours.requests / ours.seconds;
  const [at, bareAt] = [latenciesOf(ours), latenciesOf(theirs)];
  return {
    name: one.name,
    cpu,
    byCpu: bareCpu / cpu,
    byThroughput: perSecond / (theirs.requests / theirs.seconds),
    perSecond,
    p50: at(0.5),
    p99: at(0.99),
    bareTail: bareAt(0.99) / bareAt(0.5),
    commitsEach: one.writes ? ours.commits / ours.requests : undefined,
  };
}

/** A percentile, in milliseconds. */
function latenciesOf({ latencies }: Totals): (share: number) => number {
  const sorted = latencies.sort((less, more) => less - more);
  return (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const newTotals = (): Totals => ({ requests: 0, seconds: 0, cpu: 0, commits: 0, latencies: [] });

async function addTo(sum: Totals, { name, connections, next }: Case, child: Child): Promise<void> {
  const before = await usageOf(child);
  const measured: Measured = await measure(child.target, connections, seconds / rounds, next);
  const after = await usageOf(child);
  if (measured.refused > 1)
    throw new Error(`${name}: ${measured.refused} of ${measured.requests} requests were refused`);
  sum.requests += measured.requests;
  sum.seconds += measured.seconds;
  sum.cpu += after.cpu - before.cpu;
  sum.commits += (after.commits ?? 0) - (before.commits ?? 0);
  sum.latencies.push(...measured.latencies);
}

async function newPostgres(postgres: TestPostgres, size: number): Promise<string> {
  const admin = openDatabase(postgres.url("postgres"));
  await sql.raw(`create database bench_${size}`).execute(admin.reader.db);
  await admin.close();
  return postgres.url(`bench_${size}`);
}

await main();
