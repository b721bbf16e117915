/** The lease of a job: its holder and expiry, and that nothing is written without it. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { LeaseLost } from "../../src/jobs/job.ts";
import { acquire, ensureJobs, type JobLease, release, renew } from "../../src/jobs/lease.ts";
import { scaled, until } from "../support/waiting.ts";
import { gate, hourMs, makeJob, mark, useJobs } from "./support.ts";

const jobs = useJobs();

const idle = () => makeJob(async () => 0);
const acquireOn = (job: ReturnType<typeof idle>, leaseMs: number, isForced = false) =>
  jobs.database.write(async (tx) => {
    await ensureJobs(tx, [job]);
    return acquire(tx, job, { leaseMs, isForced });
  });

async function leaseOn(job: ReturnType<typeof idle>, leaseMs: number): Promise<JobLease> {
  const acquisition = await acquireOn(job, leaseMs);
  if (acquisition.kind !== "acquired") throw new Error(`it is ${acquisition.kind}`);
  return acquisition.lease;
}

describe("a lease", () => {
  it("has one holder until it is released, forced or not", async () => {
    const job = idle();
    const lease = await leaseOn(job, hourMs);
    expect(lease.holder).toMatch(new RegExp(`-${process.pid}-[0-9a-f]{12}$`));
    for (const isForced of [false, true])
      expect(await acquireOn(job, hourMs, isForced)).toEqual({ kind: "held", holder: lease.holder });
    expect(
      await jobs.database.write((tx) => release(tx, { ...lease, holder: "other" }, { kind: "succeeded", handled: 1 })),
    ).toBe(false);
    expect(await jobs.row(job.name)).toMatchObject({ holder: lease.holder, runsTotal: 0 });
    await jobs.database.write((tx) => release(tx, lease, { kind: "succeeded", handled: 1 }));
    expect(await acquireOn(job, hourMs)).toEqual({ kind: "not-due" });
    expect(await acquireOn(job, hourMs, true)).toMatchObject({ kind: "acquired", abandonedBy: undefined });
  });

  it("is acquired by one of many concurrent callers", async () => {
    const job = idle();
    const acquisitions = await Promise.all(Array.from({ length: 20 }, () => acquireOn(job, hourMs)));
    expect(acquisitions.filter(({ kind }) => kind === "acquired")).toHaveLength(1);
    expect(acquisitions.filter(({ kind }) => kind === "held")).toHaveLength(19);
  });

  it("can be renewed by its holder until it expires, and by nobody afterwards", async () => {
    const job = idle();
    const lease = await leaseOn(job, hourMs);
    expect(await jobs.database.write((tx) => renew(tx, lease))).toBe(true);
    expect(await jobs.database.write((tx) => renew(tx, { ...lease, holder: "other" }))).toBe(false);
    await jobs.set(job.name, { leaseUntilMs: 1 });
    expect(await jobs.database.write((tx) => renew(tx, lease))).toBe(false);
  });

  it("that has expired is taken over, due or not, and the abandoned run counts as failed", async () => {
    const job = idle();
    const dead = await leaseOn(job, 1);
    await sleep(5);
    expect((await jobs.row(job.name)).dueMs).toBeGreaterThan(hourMs);
    expect(await acquireOn(job, hourMs)).toMatchObject({ kind: "acquired", abandonedBy: dead.holder });
    expect(await jobs.row(job.name)).toMatchObject({
      runsTotal: 1,
      failuresTotal: 1,
      lastError: `${dead.holder} disappeared during a run; another server took over.`,
    });
  });
});

describe("a run", () => {
  it("renews its lease as long as it lasts", async () => {
    const leaseMs = scaled(3_000);
    const job = makeJob(async ({ step }) => {
      await sleep(1.2 * leaseMs);
      await step(mark("long"));
      return 1;
    });
    expect(await jobs.server([job], { leaseMs }).runNow(job.name)).toEqual({ handled: 1 });
    expect(await jobs.marks("long")).toEqual(["long"]);
  });

  it("whose lease was taken over writes nothing more, and does not end the new holder's run", async () => {
    const [begun, door, taken, over] = [gate(), gate(), gate(), gate()];
    let raised: unknown;
    let signal: AbortSignal | undefined;
    const job = makeJob(async (work) => {
      if (signal !== undefined) {
        taken.open();
        await over.passed;
        await work.step(mark("fenced-second"));
        return 1;
      }
      ({ signal } = work);
      await work.step(mark("fenced-first"));
      begun.open();
      await door.passed;
      await work.step(mark("fenced-too-late")).catch((error: unknown) => (raised = error));
      return 1;
    });
    const slow = jobs.server([job], { leaseMs: hourMs });
    const run = slow.runNow(job.name);
    run.catch(() => {});
    await begun.passed;
    // As if it had been asleep for longer than its lease.
    await jobs.set(job.name, { leaseUntilMs: 1 });
    const quick = jobs.server([job], { leaseMs: hourMs });
    quick.start();
    await taken.passed;
    door.open();
    await expect(run).rejects.toThrow("lost its lease");
    expect(raised).toBeInstanceOf(LeaseLost);
    expect(signal?.aborted).toBe(true);
    expect((await jobs.row(job.name)).holder).not.toBeNull();
    over.open();
    await until(async () => (await jobs.row(job.name)).succeededMs !== null);
    expect(await jobs.marks("fenced-")).toEqual(["fenced-first", "fenced-second"]);
    expect(await jobs.row(job.name)).toMatchObject({ runsTotal: 2, failuresTotal: 1, handledTotal: 1 });
  });

  it("notices a lost lease by its heartbeat, and ends even if the job ignores the signal", async () => {
    const begun = gate();
    const job = makeJob(() => {
      begun.open();
      return new Promise<number>(() => {});
    });
    const run = jobs.server([job], { leaseMs: 300 }).runNow(job.name);
    run.catch(() => {});
    await begun.passed;
    await jobs.set(job.name, { holder: "somebody else", leaseUntilMs: Number.MAX_SAFE_INTEGER });
    await expect(run).rejects.toThrow("lost its lease");
    expect((await jobs.row(job.name)).holder).toBe("somebody else");
  });

  it("lets the server handle other events between two steps", async () => {
    let turns = 0;
    const job = makeJob(async ({ step }) => {
      for (let count = 0; count < 20; count += 1) {
        const before = turns;
        await step(async () => {});
        expect(turns).toBeGreaterThan(before);
      }
      return 1;
    });
    let isOver = false;
    const turn = () => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    turn();
    expect(await jobs.server([job]).runNow(job.name)).toEqual({ handled: 1 });
    isOver = true;
  });

  it("rolls a failed step back", async () => {
    const job = makeJob(async ({ step }) => {
      await step(mark("whole-1"));
      await step(async (tx) => {
        await mark("whole-2")(tx);
        throw new Error("in the middle");
      });
      return 0;
    });
    await expect(jobs.server([job]).runNow(job.name)).rejects.toThrow("in the middle");
    expect(await jobs.marks("whole-")).toEqual(["whole-1"]);
  });
});
