/** How notices fare: what waits, as the register has it, and what this server has tried. */
import { sql } from "kysely";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Database, Tx } from "../database/database.ts";
import { hearAttempts } from "../resources/shared/measures.ts";
import { soon } from "./health.ts";

/** Gives the function that ends the count. */
export function countAttempts(registry: Registry): () => void {
  const attempts = new Counter({
    name: "cadastre_notice_attempts_total",
    help: "Notices that this server tried to deliver, by how that ended: delivered, retried later, or failed for good.",
    labelNames: ["kind", "result"],
    registers: [registry],
  });
  return hearAttempts(({ kind, result }) => attempts.inc({ kind, result }));
}

/** Gives the function that takes a new look: one statement, by an index that holds what waits alone. */
export function watchNotices(registry: Registry, database: Database): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });
  const waiting = gauge("cadastre_notices_waiting", "Notices that wait to be delivered, or to be tried again.");
  const overdue = gauge("cadastre_notice_overdue_seconds", "For how long the notice that is due longest has been due.");
  return async () => {
    const found = await look(database.reader);
    waiting.reset();
    overdue.reset();
    if (found === undefined) return;
    waiting.set(Number(found.count));
    overdue.set(Math.max(0, Number(found.overdueMs ?? 0)) / 1000);
  };
}

interface Figures {
  readonly count: number;
  readonly overdueMs: number | null;
}

/** None when the database does not answer: the other metrics are wanted then most of all. */
async function look(tx: Tx): Promise<Figures | undefined> {
  try {
    const { rows } = await soon(
      sql<Figures>`select count(*) as count, ${tx.dialect.nowMs} - min(due_ms) as overdue_ms
        from notices where state = 'waiting'`.execute(tx.db),
    );
    return rows[0];
  } catch {
    return undefined;
  }
}
