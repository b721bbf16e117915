/** Runs the server in a separate process on a filled database; reports its CPU time and, on request, all statements that the drivers executed. */
import type { AddressInfo } from "node:net";
import { DatabaseSync, StatementSync } from "node:sqlite";
import pg from "pg";
import pino from "pino";
import { openDatabase } from "../../src/database/engines/open.ts";
import { benchServer } from "../server.ts";
import { plansOf, type Statement } from "./plans.ts";

/** Messages from the parent. */
export type ServiceCommand = "usage" | "record" | "plans";

export interface Usage {
  readonly cpuMicroseconds: number;
  readonly residentBytes: number;
}

const recorded = new Map<string, Statement>();
let isRecording = false;

function record(text: string, parameters: readonly unknown[]): void {
  if (isRecording && /^\s*(\/\*.*?\*\/\s*)?(with|select)\b/i.test(text)) recorded.set(text, { text, parameters });
}

const texts = new WeakMap<StatementSync, string>();
const prepare = DatabaseSync.prototype.prepare;
DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...given: Parameters<typeof prepare>) {
  const statement = prepare.apply(this, given);
  texts.set(statement, given[0]);
  return statement;
};
for (const method of ["all", "get"] as const) {
  const original = StatementSync.prototype[method] as (...parameters: never[]) => never;
  StatementSync.prototype[method] = function (this: StatementSync, ...parameters: never[]) {
    record(texts.get(this) ?? "", parameters);
    return original.apply(this, parameters);
  };
}
const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;
pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
  const [first, second] = given as [unknown, unknown];
  const { text = "", values = [] } =
    typeof first === "string"
      ? { text: first, values: Array.isArray(second) ? (second as unknown[]) : [] }
      : (first as { text?: string; values?: unknown[] });
  record(text, values);
  return query.apply(this, given);
} as typeof pg.Client.prototype.query;

const address = process.argv[2] ?? "";
const database = openDatabase(address);
const server = benchServer(database, { logger: pino({ level: "silent" }), cacheBytes: 0 });

async function answer(question: ServiceCommand): Promise<unknown> {
  if (question === "record") {
    recorded.clear();
    isRecording = true;
    return true;
  }
  if (question === "plans") {
    isRecording = false;
    return plansOf(address, [...recorded.values()]);
  }
  const { user, system } = process.cpuUsage();
  return { cpuMicroseconds: user + system, residentBytes: process.memoryUsage.rss() } satisfies Usage;
}

await server.listen({ host: "127.0.0.1", port: 0 });
process.on("message", (question: ServiceCommand) => {
  void answer(question).then((reply) => process.send?.(reply));
});
process.on("SIGTERM", () => process.exit(0));
process.on("disconnect", () => process.exit(0));
process.send?.((server.server.address() as AddressInfo).port);
