/** The lease on a job, a row of `jobs`. All times are the database's, because servers' clocks differ. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../database/database.ts";
import type { BackgroundJob } from "./job.ts";

export const leaseMsByDefault = 10_000;

/** Each acquisition has a new holder id, so that an earlier run on this server has another. */
export interface JobLease {
  readonly job: Pick<BackgroundJob, "name" | "everyMs">;
  readonly holder: string;
  readonly leaseMs: number;
}

/** Means "immediately"; the release of an earlier run preserves it. */
const immediately = 0;

export async function ensureJobs(tx: Tx, jobs: readonly Pick<BackgroundJob, "name">[]): Promise<void> {
  if (jobs.length === 0) return;
  const rows = jobs.map(({ name }) => ({
    name,
    holder: null,
    leaseUntilMs: 0,
    dueMs: immediately,
    startedMs: null,
    finishedMs: null,
    succeededMs: null,
    lastError: null,
    runsTotal: 0,
    failuresTotal: 0,
    handledTotal: 0,
  }));
  await tx.db
    .insertInto("jobs")
    .values(rows)
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
}

export async function dueJobs(tx: Tx): Promise<string[]> {
  const { nowMs } = tx.dialect;
  const rows = await tx.db
    .selectFrom("jobs")
    .select("name")
    .where((where) =>
      where.or([
        where.and([where("holder", "is", null), where("dueMs", "<=", nowMs)]),
        where.and([where("holder", "is not", null), where("leaseUntilMs", "<=", nowMs)]),
      ]),
    )
    .execute();
  return rows.map(({ name }) => name);
}

export type Acquisition =
  | {
      readonly kind: "acquired";
      readonly lease: JobLease;
      readonly abandonedBy: string | undefined;
    }
  | { readonly kind: "held"; readonly holder: string }
  | { readonly kind: "not-due" };

/** `isForced` ignores the due time, but never a valid lease. */
export async function acquire(
  tx: Tx,
  job: Pick<BackgroundJob, "name" | "everyMs">,
  { leaseMs, isForced }: { readonly leaseMs: number; readonly isForced: boolean },
): Promise<Acquisition> {
  // Reads before it writes: the steps of a running job lock its row.
  const seen = await readRow(tx, job.name);
  if (seen === undefined) throw new Error(`the job ${job.name} has no row`);
  if (seen.holder !== null && seen.leaseUntilMs > seen.nowMs) return { kind: "held", holder: seen.holder };
  if (seen.holder === null && !isForced && seen.dueMs > seen.nowMs) return { kind: "not-due" };
  const lease: JobLease = { job, holder: newHolder(), leaseMs };
  if (await claimRow(tx, lease, { previousHolder: seen.holder, isForced }))
    return { kind: "acquired", lease, abandonedBy: seen.holder ?? undefined };
  const { holder = null } = (await readRow(tx, job.name)) ?? {};
  return holder === null ? { kind: "not-due" } : { kind: "held", holder };
}

/** Who runs the job now. */
export async function holderOf(tx: Tx, name: string): Promise<string | undefined> {
  const row = await readRow(tx, name);
  return row !== undefined && row.leaseUntilMs > row.nowMs ? (row.holder ?? undefined) : undefined;
}

/** For a job that no server runs: its times would otherwise look like those of a job that stopped working. */
export async function forgetJob(tx: Tx, name: string): Promise<void> {
  await tx.db.deleteFrom("jobs").where("name", "=", name).where("holder", "is", null).execute();
}

const newHolder = () => `${hostname()}-${process.pid}-${randomBytes(6).toString("hex")}`;

async function readRow(tx: Tx, name: string) {
  return tx.db
    .selectFrom("jobs")
    .select(["holder", "leaseUntilMs", "dueMs", tx.dialect.nowMs.as("nowMs")])
    .where("name", "=", name)
    .executeTakeFirst();
}

/** False if the row has changed since it was read. */
async function claimRow(
  tx: Tx,
  { job, holder, leaseMs }: JobLease,
  { previousHolder, isForced }: { readonly previousHolder: string | null; readonly isForced: boolean },
): Promise<boolean> {
  const { nowMs } = tx.dialect;
  let update = tx.db
    .updateTable("jobs")
    .set({ holder, leaseUntilMs: plusMs(nowMs, leaseMs), dueMs: plusMs(nowMs, job.everyMs), startedMs: nowMs })
    .where("name", "=", job.name);
  if (previousHolder === null) {
    update = update.where("holder", "is", null);
    if (!isForced) update = update.where("dueMs", "<=", nowMs);
  } else {
    // A missing release counts as a failure, so that a job that crashes its server is visible.
    update = update
      .set((row) => ({
        runsTotal: row("runsTotal", "+", 1),
        failuresTotal: row("failuresTotal", "+", 1),
        lastError: `${previousHolder} disappeared during a run; another server took over.`,
      }))
      .where("holder", "=", previousHolder)
      .where("leaseUntilMs", "<=", nowMs);
  }
  return (await update.returning("name").execute()).length > 0;
}

const plusMs = (nowMs: RawBuilder<number>, ms: number) => sql<number>`${nowMs} + ${ms}`;

/** False if the lease has expired or has another holder. Locks the row until the transaction ends: no other server can acquire it. */
export async function renew(tx: Tx, { job, holder, leaseMs }: JobLease): Promise<boolean> {
  const { nowMs } = tx.dialect;
  const rows = await tx.db
    .updateTable("jobs")
    .set({ leaseUntilMs: plusMs(nowMs, leaseMs) })
    .where("name", "=", job.name)
    .where("holder", "=", holder)
    .where("leaseUntilMs", ">", nowMs)
    .returning("name")
    .execute();
  return rows.length > 0;
}

/** The current run may have read too early. */
export async function requestRerun(tx: Tx, name: string): Promise<void> {
  await tx.db
    .updateTable("jobs")
    .set({ dueMs: immediately })
    .where("name", "=", name)
    .where("dueMs", ">", immediately)
    .execute();
}

export type BackgroundJobRecord =
  | { readonly kind: "succeeded"; readonly handled: number }
  /** Stored and visible: no secrets. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "stopped"; readonly handled: number };

const lastErrorLengthMax = 500;

/** The database would refuse a zero byte or half a surrogate pair. */
const storable = (message: string) => message.slice(0, lastErrorLengthMax).replace(/\p{C}/gu, " ");

/** True if the job should run again immediately; false also if the lease was lost. */
export async function release(tx: Tx, { job, holder }: JobLease, ending: BackgroundJobRecord): Promise<boolean> {
  const { nowMs } = tx.dialect;
  const [row] = await tx.db
    .updateTable("jobs")
    .set((row) => ({
      holder: null,
      leaseUntilMs: 0,
      finishedMs: nowMs,
      runsTotal: row("runsTotal", "+", 1),
      dueMs:
        ending.kind === "stopped"
          ? immediately
          : sql<number>`case when due_ms = ${immediately} then due_ms else ${plusMs(nowMs, job.everyMs)} end`,
      ...(ending.kind === "succeeded" && { succeededMs: nowMs }),
      ...(ending.kind === "failed"
        ? { failuresTotal: row("failuresTotal", "+", 1), lastError: storable(ending.message) }
        : { handledTotal: row("handledTotal", "+", ending.handled), lastError: null }),
    }))
    .where("name", "=", job.name)
    .where("holder", "=", holder)
    .returning("dueMs")
    .execute();
  return row?.dueMs === immediately;
}
