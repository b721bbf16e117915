/** Metrics about the whole register, read from the database at each scrape and so the same on every server. */
import { type RawBuilder, sql } from "kysely";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { lastBackup } from "../backup/schedule.ts";
import type { Database, Tx } from "../database/database.ts";
import type { JobTable } from "../database/schema/state.ts";
import { now, nowMs } from "../kernel/time.ts";
import { agentTimeoutMs } from "../resources/connections/agent-pools/reads.ts";
import { type SiteStatistics, readSiteStatistics, tokenKinds } from "../resources/shared/site-statistics.ts";
import { endedPhases } from "../resources/shared/process-events.ts";
import { withDeadlineOrUndefined } from "./health.ts";

type Gauges = (name: string, help: string, labelNames?: string[]) => Gauge;

/** Omits a gauge without a value, because unknown is not zero. */
const gaugesOf =
  (registry: Registry): Gauges =>
  (name, help, labelNames = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });

type JobMetricsRow = Omit<JobTable, "dueMs" | "lastError"> & { readonly nowMs: number };

export function watchJobs(registry: Registry, database: Database): () => Promise<void> {
  const common = { labelNames: ["job"], registers: [registry] };
  const counter = (name: string, help: string) => new Counter({ name, help, ...common });
  const gauge = (name: string, help: string) => new Gauge({ name, help, ...common });
  const runs = counter("cadastre_job_runs_total", "Finished runs of the job.");
  const failures = counter("cadastre_job_failures_total", "Failed runs of the job.");
  const handled = counter("cadastre_job_handled_total", "Items handled by the job.");
  const success = gauge("cadastre_job_last_success_timestamp_seconds", "When a run last succeeded.");
  const duration = gauge("cadastre_job_last_duration_seconds", "How long the last run took; absent during a run.");
  const running = gauge("cadastre_job_running", "1 while a server runs the job.");
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

async function readJobs({ reader }: Database): Promise<readonly JobMetricsRow[]> {
  const rows = reader.db
    .selectFrom("jobs")
    .select(["name", "holder", "leaseUntilMs", "startedMs", "finishedMs", "succeededMs"])
    .select(["runsTotal", "failuresTotal", "handledTotal", reader.dialect.nowMs.as("nowMs")])
    .execute();
  return (await withDeadlineOrUndefined(rows)) ?? [];
}

const isRunning = ({ holder, leaseUntilMs, nowMs }: JobMetricsRow) => holder !== null && leaseUntilMs > nowMs;

/** Unknown during a run: the row has the start of the current one. */
function lastDurationMs({ holder, startedMs, finishedMs }: JobMetricsRow): number | undefined {
  return holder !== null || startedMs === null || finishedMs === null ? undefined : finishedMs - startedMs;
}

interface RunStatistics {
  readonly queued: readonly { readonly kind: string; readonly count: number; readonly oldestMs: number }[];
  readonly running: readonly { readonly kind: string; readonly count: number; readonly longestMs: number }[];
  readonly agents: readonly { readonly status: string; readonly count: number }[];
}

const bucketSeconds = [1, 5, 15, 60, 300, 900, 3600, 14_400];

export function countEndedPhases(registry: Registry): () => void {
  const seconds = new Histogram({
    name: "cadastre_phase_seconds",
    help: "Duration of plans and applies that ended on this server, by result.",
    labelNames: ["phase", "result"],
    buckets: bucketSeconds,
    registers: [registry],
  });
  return endedPhases.subscribe(({ phase, result, seconds: duration }) => seconds.observe({ phase, result }, duration));
}

/** Uses indexes of unfinished rows only. */
export function watchRuns(registry: Registry, database: Database): () => Promise<void> {
  const gauge = gaugesOf(registry);
  const queue = gauge("cadastre_phases_queued", "Plans and applies that are waiting for an agent.", ["phase"]);
  const oldest = gauge(
    "cadastre_phase_oldest_wait_seconds",
    "How long the oldest queued plan or apply has been waiting.",
    ["phase"],
  );
  const running = gauge("cadastre_phases_running", "Plans and applies that are running.", ["phase"]);
  const longest = gauge(
    "cadastre_phase_longest_run_seconds",
    "How long the oldest running plan or apply has been running.",
    ["phase"],
  );
  const agents = gauge("cadastre_agents", "Agents by status.", ["status"]);
  return async () => {
    const statistics = await readRunStatistics(database.reader);
    for (const metric of [queue, oldest, running, longest, agents]) metric.reset();
    if (statistics === undefined) return;
    for (const phase of ["plan", "apply"]) {
      const queued = statistics.queued.find(({ kind }) => kind === phase);
      queue.set({ phase }, Number(queued?.count ?? 0));
      oldest.set({ phase }, Math.max(0, Number(queued?.oldestMs ?? 0)) / 1000);
      const runs = statistics.running.find(({ kind }) => kind === phase);
      running.set({ phase }, Number(runs?.count ?? 0));
      longest.set({ phase }, Math.max(0, Number(runs?.longestMs ?? 0)) / 1000);
    }
    for (const { status, count } of statistics.agents) agents.set({ status }, Number(count));
  };
}

async function readRunStatistics(tx: Tx): Promise<RunStatistics | undefined> {
  const { nowMs } = tx.dialect;
  const queued = sql<RunStatistics["queued"][number]>`
    select kind, count(*) as count, ${nowMs} - min(queued_ms) as oldest_ms
    from run_phases where status = 'queued' group by kind`.execute(tx.db);
  const running = sql<RunStatistics["running"][number]>`
    select kind, count(*) as count, ${nowMs} - min(claimed_ms) as longest_ms
    from run_phases where status = 'running' group by kind`.execute(tx.db);
  const agents = sql<RunStatistics["agents"][number]>`
    select case when status in ('idle', 'busy') and last_ping_ms <= ${nowMs} - ${sql.lit(agentTimeoutMs)}
      then 'unknown' else status end as status, count(*) as count
    from agents group by 1`.execute(tx.db);
  const found = await withDeadlineOrUndefined(Promise.all([queued, running, agents]));
  return found && { queued: found[0].rows, running: found[1].rows, agents: found[2].rows };
}

interface LockCountRow {
  readonly holder: string;
  readonly count: number;
  readonly leased: number;
  readonly oldest: string;
}

const holders: Readonly<Record<string, string>> = { user: "users", team: "teams", run: "runs" };

/** Uses an index of locked rows only. */
export function watchLocks(registry: Registry, database: Database): () => Promise<void> {
  const gauge = (name: string, help: string) => gaugesOf(registry)(name, help, ["holder"]);
  const held = gauge("cadastre_workspace_locks", "Locked workspaces by kind of lock holder.");
  const leased = gauge("cadastre_workspace_locks_with_lease", "Locked workspaces whose lock has a lease.");
  const oldest = gauge("cadastre_workspace_lock_oldest_age_seconds", "Age of the oldest lock.");
  return async () => {
    const rows = await readLockCounts(database.reader);
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

async function readLockCounts(tx: Tx): Promise<readonly LockCountRow[] | undefined> {
  const found = sql<LockCountRow>`
    select locked_by_type as holder, count(*) as count, count(lock_expires_at) as leased, min(locked_at) as oldest
    from workspaces where locked_by_type is not null and (lock_expires_at is null or lock_expires_at > ${now()})
    group by locked_by_type`.execute(tx.db);
  return (await withDeadlineOrUndefined(found))?.rows;
}

interface Backlog {
  readonly waiting: string;
  readonly waitingHelp: string;
  readonly overdue: string;
  readonly overdueHelp: string;
  readonly rows: RawBuilder<unknown>;
}

const backlogs: readonly Backlog[] = [
  {
    waiting: "cadastre_notices_waiting",
    waitingHelp: "Notifications that are waiting to be delivered or retried.",
    overdue: "cadastre_notice_overdue_seconds",
    overdueHelp: "How long the oldest due notification has been due.",
    rows: sql`notices where state = 'waiting'`,
  },
  {
    waiting: "cadastre_vcs_events_waiting",
    waitingHelp: "VCS events that are waiting to be processed.",
    overdue: "cadastre_vcs_event_overdue_seconds",
    overdueHelp: "How long the oldest due event has been due.",
    rows: sql`vcs_events where outcome is null`,
  },
];

export function watchBacklogs(registry: Registry, database: Database): () => Promise<void> {
  const collectors = backlogs.map((backlog) => watchBacklog(registry, database, backlog));
  return async () => {
    await Promise.all(collectors.map((collect) => collect()));
  };
}

function watchBacklog(registry: Registry, { reader }: Database, backlog: Backlog): () => Promise<void> {
  const gauge = gaugesOf(registry);
  const waiting = gauge(backlog.waiting, backlog.waitingHelp);
  const overdue = gauge(backlog.overdue, backlog.overdueHelp);
  return async () => {
    const found = await readBacklog(reader, backlog);
    if (found === undefined) return [waiting, overdue].forEach((gauge) => gauge.remove());
    waiting.set(Number(found.count));
    overdue.set(Math.max(0, Number(found.overdueMs ?? 0)) / 1000);
  };
}

interface BacklogRow {
  readonly count: number;
  readonly overdueMs: number | null;
}

async function readBacklog({ db, dialect }: Tx, { rows }: Backlog): Promise<BacklogRow | undefined> {
  const found = sql<BacklogRow>`select count(*) as count, ${dialect.nowMs} - min(due_ms) as overdue_ms from ${rows}`;
  return (await withDeadlineOrUndefined(found.execute(db)))?.rows[0];
}

const contentKinds = ["state", "json", "archive"];

export function watchStatistics(registry: Registry, database: Database): () => Promise<void> {
  const gauge = gaugesOf(registry);
  const counted = gauge("cadastre_figures_timestamp_seconds", "When the register's totals were counted.");
  const size = gauge("cadastre_database_size_bytes", "Size of the database on disk.");
  const organizations = gauge("cadastre_organizations", "Organizations in the register.");
  const users = gauge("cadastre_users", "Users in the register.");
  const workspaces = gauge("cadastre_workspaces", "Workspaces in the register.");
  const bytes = gauge("cadastre_stored_bytes", "States and other contents, in bytes before compression.", ["kind"]);
  const contents = gauge("cadastre_stored_contents", "Number of stored states and other contents.", ["kind"]);
  const expiring = gauge("cadastre_tokens_expiring", "Tokens that expire within this number of days.", [
    "kind",
    "within_days",
  ]);
  return async () => {
    const statistics = await withDeadlineOrUndefined(readSiteStatistics(database.reader));
    for (const metric of [counted, size, organizations, users, workspaces]) metric.remove();
    for (const metric of [bytes, contents, expiring]) metric.reset();
    if (statistics === undefined) return;
    counted.set(Date.parse(statistics.at) / 1000);
    size.set(statistics.databaseBytes);
    organizations.set(statistics.organizations);
    users.set(statistics.users);
    workspaces.set(statistics.workspaces);
    for (const kind of new Set([...contentKinds, ...Object.keys(statistics.contents)])) {
      bytes.set({ kind }, statistics.contents[kind]?.bytes ?? 0);
      contents.set({ kind }, statistics.contents[kind]?.count ?? 0);
    }
    setExpiring(expiring, statistics);
  };
}

function setExpiring(expiring: Gauge, { tokensExpiring }: SiteStatistics): void {
  for (const kind of tokenKinds)
    for (const days of ["1", "7", "30"] as const)
      expiring.set({ kind, within_days: days }, tokensExpiring[kind]?.[days] ?? 0);
}

export function watchBackups(registry: Registry, { reader }: Database): () => Promise<void> {
  const gauge = gaugesOf(registry);
  const at = gauge(
    "cadastre_backup_last_success_timestamp_seconds",
    "When the last scheduled backup succeeded; absent where there was none.",
  );
  const bytes = gauge("cadastre_backup_last_size_bytes", "Size of the last scheduled backup.");
  return async () => {
    const last = await withDeadlineOrUndefined(lastBackup(reader));
    for (const metric of [at, bytes]) metric.remove();
    if (last === undefined) return;
    at.set(Date.parse(last.at) / 1000);
    bytes.set(last.bytes);
  };
}
