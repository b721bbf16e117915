/**
 * Measures how requests scale to a million workspaces: CPU time of the server and of PostgreSQL, as a multiple of the same request with a
 * thousand workspaces in the same run.
 *
 *   npm run bench:scale                                   both engines, a million workspaces
 *   npm run bench:scale -- --engine sqlite --workspaces 100000 --only "search|filter"
 *   npm run bench:scale -- --turns 1                      measure once instead of taking the minimum of three
 *   npm run bench:scale -- --keep folder                  keep and reuse the filled SQLite files
 *   npm run bench:scale -- --engine postgres --server postgres://postgres@127.0.0.1:5432/postgres --keep folder
 *                                                         the same on an existing PostgreSQL
 *
 * Prints a table and writes the figures to `bench/scale/figures-ENGINE.json` (or `--out file`). Exits with 1 if a target is missed
 * or a large table is scanned.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { sql } from "kysely";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate } from "../../src/database/migrate.ts";
import { startPostgres, type TestPostgres } from "../../test/support/postgres.ts";
import { type Caller, type Case, casesFor } from "./cases.ts";
import { type Filled, fill, largeOrganization, tokens } from "./fill.ts";
import { costOf, type Cost, startService, warmUp, stopService, type Service } from "./measure.ts";
import type { Scan } from "./plans.ts";

const { values: options } = parseArgs({
  options: {
    engine: { type: "string", default: "all" },
    workspaces: { type: "string", default: "1000000" },
    base: { type: "string", default: "1000" },
    only: { type: "string", default: "" },
    keep: { type: "string" },
    server: { type: "string" },
    out: { type: "string" },
    turns: { type: "string", default: "3" },
  },
});

type Engine = "sqlite" | "postgres";

interface Figure {
  readonly name: string;
  readonly caller: Caller;
  readonly aim: number;
  readonly base: Cost;
  readonly large: Cost;
  readonly ratio: number;
  readonly scans: readonly Scan[];
}

async function main(): Promise<void> {
  const engines = (["sqlite", "postgres"] as const).filter(
    (name) => options.engine === "all" || options.engine === name,
  );
  if (engines.length === 0) throw new Error(`There is no engine '${options.engine}': use sqlite, postgres or all.`);
  for (const engine of engines) await runOn(engine);
}

async function runOn(engine: Engine): Promise<void> {
  const postgres = engine === "postgres" ? await postgresServer() : undefined;
  const folder = options.keep ?? mkdtempSync(join(tmpdir(), "cadastre-scale-"));
  mkdirSync(folder, { recursive: true });
  const services: Service[] = [];
  try {
    for (const size of [options.base, options.workspaces].map(Number)) {
      const facts = join(folder, `${engine}-${size}.json`);
      const address = postgres ? postgres.url(`scale_${size}`) : `sqlite:${join(folder, `${size}.db`)}`;
      const isFilled = options.keep !== undefined && existsSync(facts);
      if (postgres && !isFilled) await newPostgres(postgres, size);
      const filled = isFilled ? await keptDatabase(address, facts) : await filledDatabase(address, size, facts);
      services.push(await startService(address, filled));
    }
    const [base, large] = services as [Service, Service];
    const figures = await compareAll(base, large);
    report(engine, figures, large);
  } finally {
    await Promise.all(services.map(stopService));
    await postgres?.stop();
    if (options.keep === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** An existing server keeps its databases; a temporary one is removed. */
async function postgresServer(): Promise<Pick<TestPostgres, "url" | "stop">> {
  const { server } = options;
  if (server === undefined) return startPostgres({ durable: true });
  return { url: (database) => Object.assign(new URL(server), { pathname: `/${database}` }).href, stop: async () => {} };
}

/** With `--keep`, reuses what an earlier run has filled. */
async function keptDatabase(address: string, facts: string): Promise<Filled> {
  const database = openDatabase(address);
  if ((await migrate(database)).length > 0) await settle(database);
  else await database.close();
  return JSON.parse(readFileSync(facts, "utf8")) as Filled;
}

async function filledDatabase(address: string, size: number, facts: string): Promise<Filled> {
  const database = openDatabase(address);
  await migrate(database);
  const started = performance.now();
  const filled = await fill(database, size, (table, done, total) => {
    if (process.stderr.isTTY || done === total)
      process.stderr.write(`\r${size} workspaces: ${table} ${done}/${total}, ${seconds(started)} s${" ".repeat(20)}`);
  });
  process.stderr.write(`\r${size} workspaces: filled in ${seconds(started)} s${" ".repeat(50)}\n`);
  await settle(database);
  if (options.keep !== undefined) writeFileSync(facts, JSON.stringify(filled));
  return filled;
}

/** Brings the database to the state after longer use: counters folded, statistics current, WAL checkpointed, tables vacuumed. */
async function settle(database: Database): Promise<void> {
  const isEmbedded = database.dialect.name === "sqlite";
  while ((await database.write((tx) => tx.dialect.counts.mergeDifferences(tx.db, 100_000))) > 0);
  await sql.raw(isEmbedded ? "analyze" : "vacuum analyze").execute(database.reader.db);
  if (isEmbedded) await sql.raw("pragma wal_checkpoint(truncate)").execute(database.reader.db);
  await database.close();
}

const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(0);

async function newPostgres(postgres: Pick<TestPostgres, "url">, size: number): Promise<void> {
  const admin = openDatabase(postgres.url("postgres"));
  await sql.raw(`create database scale_${size}`).execute(admin.reader.db);
  // Not durable while filling; only the measured reads must be as in production.
  await sql.raw(`alter database scale_${size} set synchronous_commit = off`).execute(admin.reader.db);
  await admin.close();
}

async function compareAll(base: Service, large: Service): Promise<Figure[]> {
  const [ofBase, ofLarge] = [await readableCases(base), await readableCases(large)];
  const figures: Figure[] = [];
  // Warms up the JIT before measuring.
  for (const [service, cases] of [
    [base, ofBase],
    [large, ofLarge],
  ] as const) {
    for (const one of cases.filter(({ name }) => name.includes("first 20"))) await warmUp(service, one);
  }
  for (const [position, one] of ofLarge.entries()) {
    if (!options.only.split("|").some((part) => `${one.caller} ${one.name}`.includes(part))) continue;
    const figure = await compare(ofBase[position]!, one, base, large);
    figures.push(figure);
    console.error(row(figure));
  }
  return figures;
}

async function readableCases(service: Service): Promise<Case[]> {
  const countFor = async (caller: Caller) => {
    const address = `http://127.0.0.1:${service.port}/api/v2/organizations/${largeOrganization}/workspaces?page[size]=1`;
    const response = await fetch(address, { headers: { authorization: `Bearer ${tokens[caller]}` } });
    const body = (await response.json()) as { meta: { pagination: { "total-count": number } } };
    return body.meta.pagination["total-count"];
  };
  return casesFor(service.filled, { owner: await countFor("owner"), member: await countFor("member") });
}

/** Alternates, so that other load affects both. */
async function compare(ofBase: Case, ofLarge: Case, base: Service, large: Service): Promise<Figure> {
  const scans = await large.scansOf(ofLarge);
  const costs: [Cost[], Cost[]] = [[], []];
  for (let turn = 0; turn < Number(options.turns); turn += 1) {
    costs[0].push(await costOf(base, ofBase));
    costs[1].push(await costOf(large, ofLarge));
  }
  const [small, big] = costs.map(least) as [Cost, Cost];
  const { name, caller, aim } = ofLarge;
  return { name, caller, aim, base: small, large: big, ratio: totalOf(big) / totalOf(small), scans };
}

/** The minimum, because disturbances only add. */
const least = (costs: readonly Cost[]): Cost => costs.toSorted((one, two) => totalOf(one) - totalOf(two))[0]!;
const totalOf = ({ serviceMs, databaseMs }: Cost) => serviceMs + databaseMs;

function row({ name, caller, aim, base, large, ratio, scans }: Figure): string {
  const cost = ({ serviceMs, databaseMs }: Cost) =>
    databaseMs === 0 ? serviceMs.toFixed(2) : `${serviceMs.toFixed(2)} + ${databaseMs.toFixed(2)}`;
  const scanned = scans.length === 0 ? "" : ` reads ${[...new Set(scans.map(({ table }) => table))].join(", ")} whole`;
  const note = ratio <= aim ? "" : "**missed**";
  return `| ${name} | ${caller} | ${cost(base)} | ${cost(large)} | ${ratio.toFixed(1)} | ${aim} | ${note}${scanned} |`;
}

function report(engine: Engine, figures: readonly Figure[], large: Service): void {
  const mebibytes = Math.round(large.residentMax() / 1024 / 1024);
  const unit = engine === "postgres" ? "ms of CPU, service + PostgreSQL" : "ms of CPU";
  console.log(`\n## ${engine}: ${options.workspaces} workspaces against ${options.base} (${unit})\n`);
  console.log(`| request | caller | at ${options.base} | at ${options.workspaces} | times | aim | |`);
  console.log("|---|---|---:|---:|---:|---:|---|");
  for (const figure of figures) console.log(row(figure));
  console.log(`\nThe service's process grew to ${mebibytes} MiB.`);
  const missed = figures.filter(({ ratio, aim }) => ratio > aim).length;
  const scanning = figures.filter(({ scans }) => scans.length > 0).length;
  console.log(`${figures.length} kinds of requests: ${missed} miss their target, ${scanning} scan a large table.`);
  const file = options.out ?? join(import.meta.dirname, `figures-${engine}.json`);
  writeFileSync(
    file,
    `${JSON.stringify({ engine, workspaces: Number(options.workspaces), residentMebibytes: mebibytes, figures }, undefined, 2)}\n`,
  );
  if (missed + scanning > 0) process.exitCode = 1;
}

await main();
