/** How the background jobs fare, as the register has it: the same on every server. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { Database } from "../database/database.ts";
import type { JobTable } from "../database/schema/state.ts";
import { soonOrNone } from "./health.ts";

type JobRow = Omit<JobTable, "dueMs" | "lastError"> & { readonly nowMs: number };

/** Gives the function that takes a new look: one statement for all of them, so it can't be each metric's own. */
export function watchJobs(registry: Registry, database: Database): () => Promise<void> {
  const common = { labelNames: ["job"], registers: [registry] };
  const counter = (name: string, help: string) => new Counter({ name, help, ...common });
  const gauge = (name: string, help: string) => new Gauge({ name, help, ...common });
  const runs = counter("cadastre_job_runs_total", "Runs that have ended.");
  const failures = counter("cadastre_job_failures_total", "Runs that have failed.");
  const handled = counter("cadastre_job_handled_total", "Things handled.");
  const success = gauge("cadastre_job_last_success_timestamp_seconds", "When a run last succeeded.");
  const duration = gauge("cadastre_job_last_duration_seconds", "How long the last run took; absent during a run.");
  const running = gauge("cadastre_job_running", "1 while a server runs it.");
  return async () => {
    const rows = await readJobs(database);
    for (const metric of [runs, failures, handled, success, duration, running]) metric.reset();
    for (const row of rows) {
      const job = { job: row.name };
      runs.inc(job, row.runsTotal);
      failures.inc(job, row.failuresTotal);
      handled.inc(job, row.handledTotal);
      running.set(job, isRunning(row) ? 1 : 0);
      if (row.succeededMs !== null) success.set(job, row.succeededMs / 1000);
      const lastMs = lastDurationMs(row);
      if (lastMs !== undefined) duration.set(job, lastMs / 1000);
    }
  };
}

async function readJobs({ reader }: Database): Promise<readonly JobRow[]> {
  const rows = reader.db
    .selectFrom("jobs")
    .select(["name", "holder", "leaseUntilMs", "startedMs", "finishedMs", "succeededMs"])
    .select(["runsTotal", "failuresTotal", "handledTotal", reader.dialect.nowMs.as("nowMs")])
    .execute();
  return (await soonOrNone(rows)) ?? [];
}

const isRunning = ({ holder, leaseUntilMs, nowMs }: JobRow) => holder !== null && leaseUntilMs > nowMs;

/** Unknown once another run has begun: the row tells when that one did. */
function lastDurationMs({ holder, startedMs, finishedMs }: JobRow): number | undefined {
  return holder !== null || startedMs === null || finishedMs === null ? undefined : finishedMs - startedMs;
}
