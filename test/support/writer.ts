/** A worker thread that writes one row after the other into the given tables, and reports the longest wait since the last question. */
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, Worker, workerData } from "node:worker_threads";
import pg from "pg";

interface WriterInput {
  readonly address: string;
  readonly tables: readonly string[];
}

export interface Writer {
  longestMs(): Promise<number>;
  stop(): Promise<void>;
}

export function startWriter(input: WriterInput): Writer {
  const worker = new Worker(import.meta.filename, { workerData: input });
  const failed = new Promise<never>((_, reject) => worker.once("error", reject));
  failed.catch(() => {});
  const longestMs = () => {
    const answered = new Promise<number>((resolve) => worker.once("message", resolve));
    worker.postMessage("longest");
    return Promise.race([answered, failed]);
  };
  return { longestMs, stop: async () => void (await worker.terminate()) };
}

async function connect(address: string): Promise<(statement: string) => Promise<void>> {
  if (address.startsWith("sqlite:")) {
    const db = new DatabaseSync(address.slice("sqlite:".length), {
      timeout: 600_000,
      enableForeignKeyConstraints: false,
    });
    return async (statement) => db.exec(`BEGIN IMMEDIATE; ${statement}; COMMIT`);
  }
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  return async (statement) =>
    void (await client.query(`BEGIN; LOCK TABLE migrations IN ROW SHARE MODE; ${statement}; COMMIT`));
}

const auditColumns = "actor_kind, actor_id, actor_name, action, subject_type, subject_id, request_id, created_at";

function statementOn(table: string, count: number): string {
  // It refuses updates.
  if (table === "audit_events")
    return `INSERT INTO audit_events (id, ${auditColumns}) VALUES ('w${count}'${", ''".repeat(8)})`;
  const key = table === "team_members" ? "team_id" : "id";
  return `UPDATE ${table} SET ${key} = ${key} WHERE ${key} = 'x${1 + (count % 1000)}'`;
}

if (parentPort !== null && (workerData as WriterInput | undefined)?.tables !== undefined) {
  const { address, tables } = workerData as WriterInput;
  let longest = 0;
  let pending: number | undefined;
  parentPort.on("message", () => {
    parentPort?.postMessage(Math.max(longest, pending === undefined ? 0 : performance.now() - pending));
    longest = 0;
  });
  const write = await connect(address);
  for (let count = 0; ; count += 1) {
    const table = tables[count % tables.length] ?? "";
    pending = performance.now();
    await write(statementOn(table, count));
    longest = Math.max(longest, performance.now() - pending);
    pending = undefined;
    await sleep(1);
  }
}
