/**
 * The lease on a job: a row of the table `jobs`, which one holder at a time has until a moment that it keeps moving. Every
 * moment here is of the database's clock, because servers' clocks differ.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../database/database.ts";
import type { Job } from "./job.ts";

export const leaseMsByDefault = 10_000;

/** One acquisition. The holder is new each time, so that what is left of an earlier run here is not taken for this one. */
export interface JobLease {
  readonly job: Pick<Job, "name" | "everyMs">;
  readonly holder: string;
  readonly leaseMs: number;
}

/** A due time that says "at once", and stays through the release of a run that began before somebody asked for another. */
const atOnce = 0;

/** Adds the rows of jobs that the register does not know yet; they are due at once. */
export async function ensureJobs(tx: Tx, jobs: readonly Pick<Job, "name">[]): Promise<void> {
  if (jobs.length === 0) return;
  const rows = jobs.map(({ name }) => ({
    name,
    holder: null,
    leaseUntilMs: 0,
    dueMs: atOnce,
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

/** The names of the jobs that somebody should run now: one statement for all of them. */
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
      /** Whoever had it, and let the lease run out in the middle of its run. */
      readonly abandonedBy: string | undefined;
    }
  | { readonly kind: "held"; readonly holder: string }
  | { readonly kind: "not-due" };

/** `isForced` takes it before it is due; nothing takes it from a holder whose lease has not run out. */
export async function acquire(
  tx: Tx,
  job: Pick<Job, "name" | "everyMs">,
  { leaseMs, isForced }: { readonly leaseMs: number; readonly isForced: boolean },
): Promise<Acquisition> {
  // Looks before it writes: the row of a job that runs is locked by its steps, and nobody needs to wait for them.
  const seen = await look(tx, job.name);
  if (seen === undefined) throw new Error(`the job ${job.name} has no row`);
  if (seen.holder !== null && seen.leaseUntilMs > seen.nowMs) return { kind: "held", holder: seen.holder };
  if (seen.holder === null && !isForced && seen.dueMs > seen.nowMs) return { kind: "not-due" };
  const lease: JobLease = { job, holder: newHolder(), leaseMs };
  if (await take(tx, lease, { former: seen.holder, isForced }))
    return { kind: "acquired", lease, abandonedBy: seen.holder ?? undefined };
  const { holder = null } = (await look(tx, job.name)) ?? {};
  return holder === null ? { kind: "not-due" } : { kind: "held", holder };
}

/** Tells machine and process to a person, and acquisitions apart. */
const newHolder = () => `${hostname()}-${process.pid}-${randomBytes(6).toString("hex")}`;

async function look(tx: Tx, name: string) {
  return tx.db
    .selectFrom("jobs")
    .select(["holder", "leaseUntilMs", "dueMs", tx.dialect.nowMs.as("nowMs")])
    .where("name", "=", name)
    .executeTakeFirst();
}

/** Compare and set: false where it has changed hands, or was run, since it was looked at. */
async function take(
  tx: Tx,
  { job, holder, leaseMs }: JobLease,
  { former, isForced }: { readonly former: string | null; readonly isForced: boolean },
): Promise<boolean> {
  const { nowMs } = tx.dialect;
  let update = tx.db
    .updateTable("jobs")
    .set({ holder, leaseUntilMs: later(nowMs, leaseMs), dueMs: later(nowMs, job.everyMs), startedMs: nowMs })
    .where("name", "=", job.name);
  if (former === null) {
    update = update.where("holder", "is", null);
    if (!isForced) update = update.where("dueMs", "<=", nowMs);
  } else {
    // A run that ended without a word is a failure: a job that brings its server down must show.
    update = update
      .set((row) => ({
        runsTotal: row("runsTotal", "+", 1),
        failuresTotal: row("failuresTotal", "+", 1),
        lastError: `${former} went away in the middle of a run; another took over.`,
      }))
      .where("holder", "=", former)
      .where("leaseUntilMs", "<=", nowMs);
  }
  return (await update.returning("name").execute()).length > 0;
}

const later = (nowMs: RawBuilder<number>, ms: number) => sql<number>`${nowMs} + ${ms}`;

/**
 * Extends the lease; false where it has run out or is somebody else's. Inside a transaction it is also the fence: the row
 * stays locked until the transaction ends, so nobody takes the job over before.
 */
export async function renew(tx: Tx, { job, holder, leaseMs }: JobLease): Promise<boolean> {
  const { nowMs } = tx.dialect;
  const rows = await tx.db
    .updateTable("jobs")
    .set({ leaseUntilMs: later(nowMs, leaseMs) })
    .where("name", "=", job.name)
    .where("holder", "=", holder)
    .where("leaseUntilMs", ">", nowMs)
    .returning("name")
    .execute();
  return rows.length > 0;
}

/** Has it run again as soon as the present run is over, on whichever server: that run may have looked too early. */
export async function askAgain(tx: Tx, name: string): Promise<void> {
  await tx.db.updateTable("jobs").set({ dueMs: atOnce }).where("name", "=", name).where("dueMs", ">", atOnce).execute();
}

export type JobRunRecord =
  | { readonly kind: "succeeded"; readonly handled: number }
  /** `sentence` is stored for everybody who may look: nothing secret. */
  | { readonly kind: "failed"; readonly sentence: string }
  /** Another server should go on at once. */
  | { readonly kind: "stopped"; readonly handled: number };

const lastErrorLengthMax = 500;

/** A zero byte or half a character would be refused by the database, and with it the release. */
const storable = (sentence: string) => sentence.slice(0, lastErrorLengthMax).replace(/\p{C}/gu, " ");

/** Records how the run ended. True where the job is wanted again at once; false too where somebody else has it by now. */
export async function release(tx: Tx, { job, holder }: JobLease, ending: JobRunRecord): Promise<boolean> {
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
          ? atOnce
          : sql<number>`case when due_ms = ${atOnce} then due_ms else ${later(nowMs, job.everyMs)} end`,
      ...(ending.kind === "succeeded" && { succeededMs: nowMs }),
      ...(ending.kind === "failed"
        ? { failuresTotal: row("failuresTotal", "+", 1), lastError: storable(ending.sentence) }
        : { handledTotal: row("handledTotal", "+", ending.handled), lastError: null }),
    }))
    .where("name", "=", job.name)
    .where("holder", "=", holder)
    .returning("dueMs")
    .execute();
  return row?.dueMs === atOnce;
}
