/** When a job runs, and that it runs once, on one server. */
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { migrations } from "../../src/database/migrate.ts";
import { inBatches } from "../../src/jobs/job.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { until } from "../support/waiting.ts";
import { gate, makeJob, mark, useJobs } from "./support.ts";

const jobs = useJobs();
const servers = 5;
const five = <T>(make: () => T) => Array.from({ length: servers }, make);

describe("a job that is due", () => {
  it("is run by one of five servers that poll at the same time, and again only when it is due again", async () => {
    let runs = 0;
    const job = makeJob(async () => {
      runs += 1;
      return 3;
    });
    const runners = five(() => jobs.server([job]));
    for (const runner of runners) runner.start();
    await until(async () => (await jobs.row(job.name).catch(() => undefined))?.runsTotal === 1);
    const first = await jobs.row(job.name);
    expect(first).toMatchObject({ holder: null, handledTotal: 3, failuresTotal: 0, lastError: null });
    // PostgreSQL reads its clock for each column; the differences don't matter here.
    const { dueMs, startedMs, succeededMs } = first;
    const finishedMs = first.finishedMs ?? 0;
    expect(Math.abs(dueMs - finishedMs - job.everyMs)).toBeLessThan(job.everyMs / 100);
    expect(Math.abs((succeededMs ?? 0) - finishedMs)).toBeLessThan(job.everyMs / 100);
    expect(startedMs).toBeLessThanOrEqual(finishedMs);

    await jobs.set(job.name, { dueMs: 1 });
    await until(async () => (await jobs.row(job.name)).runsTotal === 2);
    await Promise.all(runners.map((runner) => runner.stop()));
    expect(runs).toBe(2);
  });

  it("is found with one statement, however many jobs there are", async () => {
    const list = five(() => makeJob(async () => 0));
    const counted = jobs.server(list, { database: jobs.database });
    for (const { name } of list) await counted.runNow(name);
    const before = jobs.database.statementCount();
    let polls = 0;
    const reader = new Proxy(jobs.database.reader, {
      get: (reader, name) => {
        if (name === "db") polls += 1;
        return reader[name as keyof typeof reader];
      },
    });
    const looking = jobs.server(list, { database: { ...jobs.database, reader } });
    looking.start();
    await until(() => polls >= 5);
    await looking.stop();
    // One more for the rows, which a runner creates once.
    expect(jobs.database.statementCount() - before).toBe(polls + 1);
  });
});

describe("a job that is woken", () => {
  it("on five servers at once, runs on one of them, and once more for the wakes in between", async () => {
    const door = gate();
    let running = 0;
    let runs = 0;
    const job = makeJob(async ({ step }) => {
      runs += 1;
      running += 1;
      expect(running).toBe(1);
      await door.passed;
      await step(mark(`woken-${runs}`));
      running -= 1;
      return 1;
    });
    const runners = five(() => jobs.server([job]));
    for (const runner of runners) runner.wake(job.name);
    await until(async () => running === 1 && (await jobs.row(job.name)).dueMs === 0);
    expect(runs).toBe(1);
    for (const runner of runners) for (let time = 0; time < 20; time += 1) runner.wake(job.name);
    for (const runner of runners) runner.start();
    door.open();
    await until(async () => {
      const { runsTotal, holder, dueMs } = await jobs.row(job.name);
      return runsTotal >= 2 && holder === null && dueMs > 0;
    });
    await Promise.all(runners.map((runner) => runner.stop()));
    // The one that ran it runs again for itself; whether that is also the run for the others depends on who comes first.
    expect(runs).toBeGreaterThanOrEqual(2);
    expect(runs).toBeLessThanOrEqual(2 * servers);
    expect((await jobs.marks("woken-")).length).toBe(runs);
  });

  it("while it runs here, runs once more afterwards, however often it was woken", async () => {
    const door = gate();
    let runs = 0;
    const job = makeJob(async () => {
      runs += 1;
      await door.passed;
      return 0;
    });
    const runner = jobs.server([job]);
    runner.wake(job.name);
    await until(() => runs === 1);
    for (let time = 0; time < 10; time += 1) runner.wake(job.name);
    door.open();
    await until(async () => (await jobs.row(job.name)).runsTotal === 2);
    await runner.stop();
    expect(runs).toBe(2);
  });

  it("can be unknown, and does nothing after stop", async () => {
    const job = makeJob(async () => 0);
    const runner = jobs.server([job]);
    runner.wake("unheard-of");
    await runner.runNow(job.name);
    await runner.stop();
    runner.wake(job.name);
    await runner.stop();
    expect((await jobs.row(job.name)).runsTotal).toBe(1);
  });

  it("can wake another", async () => {
    let woken = 0;
    const second = makeJob(async () => (woken += 1));
    const first = makeJob(async ({ context }) => {
      context.wake?.(second.name);
      return 0;
    });
    const runner = jobs.server([first, second], { tickMs: 3_600_000 });
    runner.start();
    runner.wake(first.name);
    await until(() => woken === 1);
  });
});

describe("a job that fails", () => {
  it("is recorded with its error message, and retried when it is due", async () => {
    let runs = 0;
    const job = makeJob(async () => {
      runs += 1;
      if (runs === 1) throw new AppError("conflict", `The shelf\0 is full. ${"x".repeat(600)}`, { internal: "s3cret" });
      return 1;
    });
    const runner = jobs.server([job]);
    runner.start();
    await until(async () => (await jobs.row(job.name).catch(() => undefined))?.failuresTotal === 1);
    const failed = await jobs.row(job.name);
    expect(failed).toMatchObject({ holder: null, runsTotal: 1, succeededMs: null, handledTotal: 0 });
    expect(failed.lastError).toMatch(/^The shelf {2}is full\. x+$/);
    expect(failed.lastError).toHaveLength(500);
    expect(failed.dueMs).toBeGreaterThan(failed.finishedMs ?? 0);
    await jobs.set(job.name, { dueMs: 1 });
    await until(async () => (await jobs.row(job.name)).runsTotal === 2);
    expect(await jobs.row(job.name)).toMatchObject({ failuresTotal: 1, lastError: null, handledTotal: 1 });
    await runner.stop();
  });

  it("with an unexpected error shows its message only in the log", async () => {
    const job = makeJob(() => {
      throw new Error("password=s3cret");
    });
    const lines: { err?: Error; requestId?: string }[] = [];
    const note = (line: object) => void lines.push(line);
    const runner = jobs.server([job], { logger: { debug: note, info: note, warn: note, error: note } });
    await expect(runner.runNow(job.name)).rejects.toThrow("password=s3cret");
    const { lastError } = await jobs.row(job.name);
    expect(lastError).toMatch(/^Unexpected error\. See the log for the request id job-test-\d+-[\w-]{36}\.$/);
    const line = lines.find(({ err }) => err?.message === "password=s3cret");
    expect(lastError).toContain(line?.requestId);
  });
});

describe("a job that an operator runs", () => {
  it("runs even if it isn't due, as the operator, and returns how much it handled", async () => {
    const job = makeJob(async ({ context }) => {
      expect(context).toMatchObject({ actor: { kind: "operator" }, options: { publicUrl: "http://cadastre.example" } });
      expect(context.requestId).toMatch(new RegExp(`^job-${job.name}-[0-9a-f-]{36}$`));
      return 7;
    });
    const runner = jobs.server([job]);
    expect(await runner.runNow(job.name)).toEqual({ handled: 7 });
    expect(await runner.runNow(job.name)).toEqual({ handled: 7 });
  });

  it("is refused while another server runs it, with that server's name", async () => {
    const door = gate();
    const job = makeJob(async () => {
      await door.passed;
      return 1;
    });
    const busy = jobs.server([job]).runNow(job.name);
    await until(async () => (await jobs.row(job.name).catch(() => undefined))?.holder != null);
    const { holder } = await jobs.row(job.name);
    await expect(jobs.server([job]).runNow(job.name)).rejects.toMatchObject({
      code: "conflict",
      message: `The job ${job.name} is running on ${holder}. Try again when it is done.`,
    });
    door.open();
    expect(await busy).toEqual({ handled: 1 });
    // A refused run leaves no request that would run later.
    expect(await jobs.row(job.name)).toMatchObject({ runsTotal: 1, holder: null });
    expect((await jobs.row(job.name)).dueMs).toBeGreaterThan(0);
  });

  it("must exist", async () => {
    await expect(jobs.server([]).runNow("fly")).rejects.toMatchObject({
      code: "not-found",
      message: "There is no job 'fly'.",
    });
  });
});

describe("stopping", () => {
  it("during a run finishes the step and releases the lease, and another server continues immediately", async () => {
    const [inStep, door] = [gate(), gate()];
    const units = ["stop-1", "stop-2", "stop-3"];
    const job = makeJob(async ({ step, signal }) => {
      let handled = 0;
      for (const unit of units.slice((await jobs.marks("stop-")).length)) {
        if (signal.aborted) break;
        await step(async (tx) => {
          inStep.open();
          await door.passed;
          await mark(unit)(tx);
        });
        handled += 1;
      }
      return handled;
    });
    const first = jobs.server([job], { leaseMs: 3_600_000 });
    const run = first.runNow(job.name);
    run.catch(() => {});
    await inStep.passed;
    const stopped = first.stop();
    door.open();
    await stopped;
    await expect(run).rejects.toThrow(`The job ${job.name} was stopped before its end.`);
    expect(await jobs.row(job.name)).toMatchObject({
      holder: null,
      dueMs: 0,
      handledTotal: 1,
      failuresTotal: 0,
      succeededMs: null,
    });
    const second = jobs.server([job]);
    second.start();
    await until(async () => (await jobs.row(job.name)).succeededMs !== null);
    expect(await jobs.marks("stop-")).toEqual(units);
    expect((await jobs.row(job.name)).handledTotal).toBe(3);
  });

  it("counts the finished batches", async () => {
    let count = 0;
    const job = makeJob((work) =>
      inBatches(work, 1, async () => {
        count += 1;
        if (count === 3) setImmediate(() => void runner.stop());
        return 1;
      }),
    );
    const runner = jobs.server([job]);
    await expect(runner.runNow(job.name)).rejects.toThrow("was stopped");
    expect(await jobs.row(job.name)).toMatchObject({ handledTotal: count, dueMs: 0, lastError: null });
  });

  it("does not wait for a job that ignores the signal, and refuses its later steps", async () => {
    const [begun, door] = [gate(), gate()];
    let late: unknown;
    const job = makeJob(async ({ step }) => {
      begun.open();
      await door.passed;
      await step(mark("deaf")).catch((error: unknown) => (late = error));
      return 0;
    });
    const runner = jobs.server([job]);
    runner.wake(job.name);
    await begun.passed;
    await runner.stop();
    expect(await jobs.row(job.name)).toMatchObject({ holder: null, dueMs: 0 });
    door.open();
    await until(() => late !== undefined);
    expect(await jobs.marks("deaf")).toEqual([]);
  });
});

it("an unresponsive database ends nothing, and jobs resume when it is back", async () => {
  let runs = 0;
  const job = makeJob(async () => (runs += 1));
  const lines: string[] = [];
  const logger = { debug: () => {}, error: () => {}, info: keep, warn: keep };
  function keep(...line: unknown[]) {
    lines.push(String(line.at(-1)));
  }
  const runner = jobs.server([job], { logger });
  const rename = (from: string, to: string) =>
    jobs.database.write(async (tx) => {
      await sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(tx.db);
    });
  await rename("jobs", "jobs_away");
  runner.start();
  runner.wake(job.name);
  await until(() => lines.length > 0);
  await rename("jobs_away", "jobs");
  await until(() => runs > 0);
  await until(() => lines.includes("jobs resumed"));
  await runner.stop();
  expect(lines.filter((line) => line === "jobs paused: the database does not respond")).toHaveLength(1);
});

it("a server whose writes are refused logs that, and does not blame the database", async () => {
  const lines: string[] = [];
  const keep = (...line: unknown[]) => void lines.push(JSON.stringify(line));
  const logger = { debug: () => {}, error: keep, info: () => {}, warn: keep };
  const { database } = jobs;
  const runner = jobs.server([makeJob(async () => 0)], { logger, database });
  const { fence } = database;
  const known = migrations.map(({ name }) => name);
  fence.setMigrations([...known, "9999-missing"]);
  try {
    runner.start();
    await until(() => lines.length > 0);
  } finally {
    await runner.stop();
    fence.setMigrations(known);
  }
  expect(lines).toEqual(['["jobs paused: writes are refused"]']);
});
