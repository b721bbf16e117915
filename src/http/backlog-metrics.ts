/** What waits for a job to see to it, as the register has it: how much, and for how long already. */
import { type RawBuilder, sql } from "kysely";
import { Gauge, type Registry } from "prom-client";
import type { Database, Tx } from "../database/database.ts";
import { soonOrNone } from "./health.ts";

interface Backlog {
  readonly waiting: string;
  readonly waitingHelp: string;
  readonly overdue: string;
  readonly overdueHelp: string;
  /** What waits, by an index that holds nothing else. */
  readonly rows: RawBuilder<unknown>;
}

const backlogs: readonly Backlog[] = [
  {
    waiting: "cadastre_notices_waiting",
    waitingHelp: "Notices that wait to be delivered, or to be tried again.",
    overdue: "cadastre_notice_overdue_seconds",
    overdueHelp: "For how long the notice that is due longest has been due.",
    rows: sql`notices where state = 'waiting'`,
  },
  {
    waiting: "cadastre_vcs_events_waiting",
    waitingHelp: "Events of version control of which it is not decided yet what follows.",
    overdue: "cadastre_vcs_event_overdue_seconds",
    overdueHelp: "For how long the event that is due longest has been due.",
    rows: sql`vcs_events where outcome is null`,
  },
];

/** Gives the function that takes a new look: one statement for each. */
export function watchBacklogs(registry: Registry, database: Database): () => Promise<void> {
  const looks = backlogs.map((backlog) => watchBacklog(registry, database, backlog));
  return async () => {
    await Promise.all(looks.map((look) => look()));
  };
}

function watchBacklog(registry: Registry, { reader }: Database, backlog: Backlog): () => Promise<void> {
  const registers = [registry];
  const waiting = new Gauge({ name: backlog.waiting, help: backlog.waitingHelp, registers });
  const overdue = new Gauge({ name: backlog.overdue, help: backlog.overdueHelp, registers });
  return async () => {
    const found = await look(reader, backlog);
    // Unknown is not none: a gauge without a value is left out.
    if (found === undefined) return [waiting, overdue].forEach((gauge) => gauge.remove());
    waiting.set(Number(found.count));
    overdue.set(Math.max(0, Number(found.overdueMs ?? 0)) / 1000);
  };
}

interface Found {
  readonly count: number;
  readonly overdueMs: number | null;
}

async function look({ db, dialect }: Tx, { rows }: Backlog): Promise<Found | undefined> {
  const found = sql<Found>`select count(*) as count, ${dialect.nowMs} - min(due_ms) as overdue_ms from ${rows}`;
  return (await soonOrNone(found.execute(db)))?.rows[0];
}
