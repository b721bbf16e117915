/**
 * How fast the service is, and whether it stays so as an organization grows. Every figure is a share of what a bare
 * `node:http` server manages with the same bytes in the same run, because machines differ and this one may be busy.
 *
 *   npm run bench                      everything: both engines, 100, 10,000 and 100,000 workspaces
 *   npm run bench -- sqlite 100        one engine, one size
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../src/database/engines/open.ts";
import { migrate } from "../src/database/migrate.ts";
import { startPostgres, type TestPostgres } from "../test/support/postgres.ts";
import { sql } from "kysely";
import { measure, type NextRequest, request, type Target } from "./client.ts";
import { memberToken, organizationName, populate, type Population } from "./population.ts";

const connections = 16;
const seconds = Number(process.env["BENCH_SECONDS"] ?? 2);
const allSizes = [100, 10_000, 100_000];

interface Case {
  readonly name: string;
  readonly next: NextRequest;
  /** How many requests make one of what is counted: locking and unlocking is two. */
  readonly requestsEach: number;
}

interface Row {
  readonly engine: string;
  readonly size: number;
  readonly name: string;
  readonly perSecond: number;
  readonly share: number;
}

function casesFor({ workspaceId, workspaceName, projectId }: Population): Case[] {
  const get = (path: string): NextRequest => {
    const bytes = request("GET", `/api/v2${path}`, memberToken);
    return () => bytes;
  };
  const list = `/organizations/${organizationName}/workspaces`;
  let created = 0;
  const create = () => {
    created += 1;
    const data = {
      type: "workspaces",
      attributes: { name: `created-${process.pid}-${Date.now().toString(36)}-${created}` },
      relationships: { project: { data: { type: "projects", id: projectId } } },
    };
    return request("POST", `/api/v2${list}`, memberToken, { data });
  };
  return [
    { name: "show", next: get(`/workspaces/${workspaceId}`), requestsEach: 1 },
    { name: "show by name", next: get(`${list}/${workspaceName}`), requestsEach: 1 },
    { name: "list of 20", next: get(`${list}?page[size]=20`), requestsEach: 1 },
    { name: "list of 100", next: get(`${list}?page[size]=100`), requestsEach: 1 },
    { name: "search by name", next: get(`${list}?search[name]=${workspaceName.slice(8, 13)}`), requestsEach: 1 },
    { name: "list of projects", next: get(`/organizations/${organizationName}/projects`), requestsEach: 1 },
    { name: "create", next: create, requestsEach: 1 },
  ];
}

async function main(): Promise<void> {
  const [wantedEngine, wantedSize] = process.argv.slice(2);
  const engines = wantedEngine === undefined || wantedEngine === "all" ? ["sqlite", "postgres"] : [wantedEngine];
  const sizes = wantedSize === undefined ? allSizes : [Number(wantedSize)];
  const postgres = engines.includes("postgres") ? await startPostgres({ durable: true }) : undefined;
  const bare = await startChild("bare.ts");
  const rows: Row[] = [];
  try {
    for (const engine of engines) {
      for (const size of sizes) rows.push(...(await run(engine, size, postgres, bare)));
    }
  } finally {
    bare.child.kill();
    await postgres?.stop();
  }
  print(rows);
}

async function run(engine: string, size: number, postgres: TestPostgres | undefined, bare: Child): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "cadastre-bench-"));
  const address = engine === "sqlite" ? `sqlite:${join(folder, "bench.db")}` : await newPostgres(postgres!, size);
  console.error(`\n${engine}, ${size} workspaces: filling …`);
  const database = openDatabase(address);
  await migrate(database);
  const population = await populate(database, size);
  await sql.raw("analyze").execute(database.reader.db);
  await database.close();
  const service = await startChild("service.ts", address);
  const rows: Row[] = [];
  try {
    for (const one of casesFor(population)) {
      const row = await compare(one, service, bare);
      rows.push({ engine, size, ...row });
      console.error(
        `  ${row.name.padEnd(18)} ${row.perSecond.toFixed(0).padStart(7)}/s  ${(row.share * 100).toFixed(0).padStart(4)} % of bare`,
      );
    }
    const locking = await compareLocking(population, service, bare);
    rows.push({ engine, size, ...locking });
    console.error(
      `  ${locking.name.padEnd(18)} ${locking.perSecond.toFixed(0).padStart(7)}/s  ${(locking.share * 100).toFixed(0).padStart(4)} % of bare`,
    );
  } finally {
    service.child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
  return rows;
}

/** The bare server is told what the service answers, then both are measured, twice in turn. */
async function compare({ name, next }: Case, service: Child, bare: Child): Promise<Omit<Row, "engine" | "size">> {
  await teach(service, bare, next);
  const [ours, theirs] = [
    { requests: 0, seconds: 0 },
    { requests: 0, seconds: 0 },
  ];
  await measure(service.target, connections, seconds / 4, next);
  for (let turn = 0; turn < 2; turn += 1) {
    for (const [sum, target] of [
      [ours, service.target],
      [theirs, bare.target],
    ] as const) {
      const measured = await measure(target, connections, seconds / 2, next);
      if (measured.refused > 0)
        throw new Error(`${name}: ${measured.refused} of ${measured.requests} requests were refused`);
      sum.requests += measured.requests;
      sum.seconds += measured.seconds;
    }
  }
  const perSecond = ours.requests / ours.seconds;
  return { name, perSecond, share: perSecond / (theirs.requests / theirs.seconds) };
}

/** On one connection, because a lock is one caller's: lock, unlock, lock, … */
async function compareLocking(
  { workspaceId }: Population,
  service: Child,
  bare: Child,
): Promise<Omit<Row, "engine" | "size">> {
  const [lock, unlock] = ["lock", "unlock"].map((action) =>
    request("POST", `/api/v2/workspaces/${workspaceId}/actions/${action}`, memberToken, {}),
  );
  let turn = 0;
  const next = () => (turn++ % 2 === 0 ? lock! : unlock!);
  await teach(service, bare, next);
  await measure(service.target, 1, 0.2, next);
  const ours = await measureEven(service.target, next, () => turn % 2 === 0);
  const theirs = await measure(bare.target, 1, seconds, next);
  return { name: "lock + unlock", perSecond: ours / 2, share: ours / theirs.perSecond };

  async function measureEven(target: Target, following: NextRequest, isEven: () => boolean): Promise<number> {
    if (!isEven()) await measure(target, 1, 0, following);
    const measured = await measure(target, 1, seconds, following);
    if (measured.refused > 1) throw new Error(`lock + unlock: ${measured.refused} requests were refused`);
    return measured.perSecond;
  }
}

async function teach(service: Child, bare: Child, next: NextRequest): Promise<void> {
  const [head = "", ...body] = next().toString().split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const [method = "GET", path = "/"] = first.split(" ");
  const headers = Object.fromEntries(
    lines
      .map((line) => line.split(": ") as [string, string])
      .filter(([name]) => name !== "Content-Length" && name !== "Host"),
  );
  const response = await fetch(`http://127.0.0.1:${service.target.port}${path}`, {
    method,
    headers,
    ...(method !== "GET" && { body: body.join("") }),
  });
  bare.child.send({ status: response.status, body: await response.text() });
  await once(bare.child, "message");
}

interface Child {
  readonly child: ChildProcess;
  readonly target: Target;
}

async function startChild(file: string, ...args: string[]): Promise<Child> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  const [port] = (await once(child, "message")) as [number];
  return { child, target: { host: "127.0.0.1", port } };
}

async function newPostgres(postgres: TestPostgres, size: number): Promise<string> {
  const admin = openDatabase(postgres.url("postgres"));
  await sql.raw(`create database bench_${size}`).execute(admin.reader.db);
  await admin.close();
  return postgres.url(`bench_${size}`);
}

function print(rows: readonly Row[]): void {
  const sizes = [...new Set(rows.map((row) => row.size))];
  for (const engine of new Set(rows.map((row) => row.engine))) {
    console.log(`\n${engine}: requests a second (share of a bare node:http server with the same bytes)\n`);
    console.log(
      `| | ${sizes.map((size) => size.toLocaleString("en")).join(" | ")} | slower at the largest |\n|---|${sizes.map(() => "---:|").join("")}---:|`,
    );
    for (const name of new Set(rows.map((row) => row.name))) {
      const cells = sizes.map((size) =>
        rows.find((row) => row.engine === engine && row.size === size && row.name === name),
      );
      const growth = cells.at(0) && cells.at(-1) ? cells[0]!.share / cells.at(-1)!.share : 1;
      console.log(
        `| ${name} | ${cells.map((cell) => (cell ? `${cell.perSecond.toFixed(0)} (${(cell.share * 100).toFixed(0)} %)` : "")).join(" | ")} | ${growth.toFixed(2)} × |`,
      );
    }
  }
}

await main();
