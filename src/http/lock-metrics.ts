/** The locks of workspaces, as the register has them: how many are held, by whom, and for how long already. */
import { sql } from "kysely";
import { Gauge, type Registry } from "prom-client";
import type { Database, Tx } from "../database/database.ts";
import { now, nowMs } from "../kernel/time.ts";
import { soonOrNone } from "./health.ts";

interface Held {
  readonly holder: string;
  readonly count: number;
  readonly leased: number;
  readonly oldest: string;
}

const holders: Readonly<Record<string, string>> = { user: "users", team: "teams", run: "runs" };

/** Gives the function that takes a new look: one statement, by an index that holds what is locked alone. */
export function watchLocks(registry: Registry, database: Database): () => Promise<void> {
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ["holder"], registers: [registry] });
  const held = gauge("cadastre_workspace_locks", "Locks that are held, by the kind of their holder.");
  const leased = gauge("cadastre_workspace_locks_with_lease", "Those of them that end by themselves.");
  const oldest = gauge("cadastre_workspace_lock_oldest_age_seconds", "How long the oldest of them has been held.");
  return async () => {
    const rows = await look(database.reader);
    for (const metric of [held, leased, oldest]) metric.reset();
    if (rows === undefined) return;
    for (const [holder, type] of Object.entries(holders)) {
      const row = rows.find((each) => each.holder === type);
      held.set({ holder }, Number(row?.count ?? 0));
      leased.set({ holder }, Number(row?.leased ?? 0));
      oldest.set({ holder }, row === undefined ? 0 : Math.max(0, nowMs() - Date.parse(row.oldest)) / 1000);
    }
  };
}

async function look(tx: Tx): Promise<readonly Held[] | undefined> {
  const found = sql<Held>`
    select locked_by_type as holder, count(*) as count, count(lock_expires_at) as leased, min(locked_at) as oldest
    from workspaces where locked_by_type is not null and (lock_expires_at is null or lock_expires_at > ${now()})
    group by locked_by_type`.execute(tx.db);
  return (await soonOrNone(found))?.rows;
}
