/** How runs fare, as the register has it: the same on every server. What waits, since when, what is executed, and by whom. */
import { Gauge, Histogram, type Registry } from "prom-client";
import { sql } from "kysely";
import type { Database, Tx } from "../database/database.ts";
import { silentMs } from "../resources/connections/agent-pools/reads.ts";
import { hearEndedPhases } from "../resources/shared/measures.ts";
import { soonOrNone } from "./health.ts";

interface Figures {
  readonly queued: readonly { readonly kind: string; readonly count: number; readonly oldestMs: number }[];
  readonly running: readonly { readonly kind: string; readonly count: number; readonly longestMs: number }[];
  readonly agents: readonly { readonly status: string; readonly count: number }[];
}

/** From a plan that looks at one resource to an apply that builds a cluster. */
const bucketSeconds = [1, 5, 15, 60, 300, 900, 3600, 14_400];

/** How long what has ended was executed, as far as it ended at this server. Gives the function that ends the count. */
export function countEndedPhases(registry: Registry): () => void {
  const seconds = new Histogram({
    name: "cadastre_phase_seconds",
    help: "How long plans and applies were executed that ended at this server, by how they ended.",
    labelNames: ["phase", "result"],
    buckets: bucketSeconds,
    registers: [registry],
  });
  return hearEndedPhases(({ phase, result, seconds: taken }) => seconds.observe({ phase, result }, taken));
}

/** Gives the function that takes a new look: three statements, each by an index that holds what lives alone. */
export function watchRuns(registry: Registry, database: Database): () => Promise<void> {
  const gauge = (name: string, help: string, labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const queue = gauge("cadastre_phases_queued", "Plans and applies that wait for an agent.", ["phase"]);
  const oldest = gauge("cadastre_phase_oldest_wait_seconds", "How long the one that waits longest has waited.", [
    "phase",
  ]);
  const running = gauge("cadastre_phases_running", "Plans and applies that are executed.", ["phase"]);
  const longest = gauge(
    "cadastre_phase_longest_run_seconds",
    "How long the one has been executed that was claimed first.",
    ["phase"],
  );
  const agents = gauge("cadastre_agents", "Agents by what they do.", ["status"]);
  return async () => {
    const figures = await look(database.reader);
    for (const metric of [queue, oldest, running, longest, agents]) metric.reset();
    if (figures === undefined) return;
    for (const phase of ["plan", "apply"]) {
      const waits = figures.queued.find(({ kind }) => kind === phase);
      queue.set({ phase }, Number(waits?.count ?? 0));
      oldest.set({ phase }, Math.max(0, Number(waits?.oldestMs ?? 0)) / 1000);
      const runs = figures.running.find(({ kind }) => kind === phase);
      running.set({ phase }, Number(runs?.count ?? 0));
      longest.set({ phase }, Math.max(0, Number(runs?.longestMs ?? 0)) / 1000);
    }
    for (const { status, count } of figures.agents) agents.set({ status }, Number(count));
  };
}

async function look(tx: Tx): Promise<Figures | undefined> {
  const { nowMs } = tx.dialect;
  const queued = sql<Figures["queued"][number]>`
    select kind, count(*) as count, ${nowMs} - min(queued_ms) as oldest_ms
    from run_phases where status = 'queued' group by kind`.execute(tx.db);
  const running = sql<Figures["running"][number]>`
    select kind, count(*) as count, ${nowMs} - min(claimed_ms) as longest_ms
    from run_phases where status = 'running' group by kind`.execute(tx.db);
  const agents = sql<Figures["agents"][number]>`
    select case when status in ('idle', 'busy') and last_ping_ms <= ${nowMs} - ${sql.lit(silentMs)}
      then 'unknown' else status end as status, count(*) as count
    from agents group by 1`.execute(tx.db);
  const found = await soonOrNone(Promise.all([queued, running, agents]));
  return found && { queued: found[0].rows, running: found[1].rows, agents: found[2].rows };
}
