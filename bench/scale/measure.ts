/** Measures the CPU time of requests, in the server and in PostgreSQL. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { repeat, request } from "../client.ts";
import type { Case } from "./cases.ts";
import { type Filled, tokens } from "./fill.ts";
import type { Scan } from "./plans.ts";
import type { ServiceCommand, Usage } from "./service.ts";

export interface Cost {
  readonly serviceMs: number;
  readonly databaseMs: number;
}

export interface Service {
  readonly port: number;
  readonly filled: Filled;
  usage(): Promise<Cost>;
  scansOf(one: Case): Promise<Scan[]>;
  /** Maximum memory of the process. */
  residentMax(): number;
  stop(): Promise<void>;
}

export async function startService(address: string, filled: Filled): Promise<Service> {
  const child = fork(fileURLToPath(new URL("service.ts", import.meta.url)), [address], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  const ended = once(child, "exit").then(() => {
    throw new Error("the service has ended");
  });
  ended.catch(() => {});
  const [port] = (await Promise.race([once(child, "message"), ended])) as [number];
  const tell = async <T>(question: ServiceCommand): Promise<T> => {
    child.send(question);
    const [reply] = (await Promise.race([once(child, "message"), ended])) as [T];
    return reply;
  };
  const postgres = address.startsWith("postgres:") ? await watchPostgres(address) : undefined;
  let residentMax = 0;
  return {
    port,
    filled,
    usage: async () => {
      const { cpuMicroseconds, residentBytes } = await tell<Usage>("usage");
      residentMax = Math.max(residentMax, residentBytes);
      return { serviceMs: cpuMicroseconds / 1000, databaseMs: (await postgres?.cpuMs()) ?? 0 };
    },
    scansOf: async (one) => {
      await tell("record");
      await askOnce(port, one);
      return tell<Scan[]>("plans");
    },
    residentMax: () => residentMax,
    stop: async () => {
      child.kill();
      await postgres?.stop();
    },
  };
}

export const stopService = (service: Service): Promise<void> => service.stop();

/** CPU time of all connections to a database, from Linux in nanoseconds. */
async function watchPostgres(address: string): Promise<{ cpuMs(): Promise<number>; stop(): Promise<void> }> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  const spent = new Map<number, number>();
  return {
    cpuMs: async () => {
      const { rows } = await client.query<{ pid: number }>(
        "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
      for (const { pid } of rows) {
        try {
          spent.set(pid, Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6);
        } catch {
          // It has exited; its time stays counted.
        }
      }
      return [...spent.values()].reduce((sum, ms) => sum + ms, 0);
    },
    stop: () => client.end(),
  };
}

/** Enough requests to exceed the clock's resolution, within a time limit. */
const wantedMs = 100;
const requestsMax = 200;
const requestsMin = 3;

export async function costOf(service: Service, one: Case): Promise<Cost> {
  const warm = await spend(service, one, 3);
  const each = (warm.serviceMs + warm.databaseMs) / 3;
  const count = Math.min(requestsMax, Math.max(requestsMin, Math.ceil(wantedMs / Math.max(each, 0.01))));
  const { serviceMs, databaseMs } = await spend(service, one, count);
  return { serviceMs: serviceMs / count, databaseMs: databaseMs / count };
}

async function spend(service: Service, one: Case, count: number): Promise<Cost> {
  const bytes = bytesOf(one);
  const before = await service.usage();
  const { refused } = await repeat({ host: "127.0.0.1", port: service.port }, 1, count, () => bytes);
  const after = await service.usage();
  if (refused > 0)
    throw new Error(`${one.caller}, ${one.name}: ${refused} of ${count} requests were refused (${one.path})`);
  return { serviceMs: after.serviceMs - before.serviceMs, databaseMs: after.databaseMs - before.databaseMs };
}

export async function warmUp(service: Service, one: Case): Promise<void> {
  await spend(service, one, 300);
}

async function askOnce(port: number, one: Case): Promise<void> {
  await repeat({ host: "127.0.0.1", port }, 1, 1, () => bytesOf(one));
}

const bytesOf = (one: Case) => request("GET", one.path, tokens[one.caller]);
