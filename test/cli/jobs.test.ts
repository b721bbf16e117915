/** `cadastre job …` on both engines, also next to a service that runs the same jobs. */
import { once } from "node:events";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import type { JobTable } from "../../src/database/schema/state.ts";
import { jobs } from "../../src/jobs/index.ts";
import { cadastre, dropRegistersAfterwards, newRegister, start, startService, stopService } from "./support.ts";

dropRegistersAfterwards();
const name = "expired-tokens";
type Register = Awaited<ReturnType<typeof newRegister>>;

async function onDatabase<T>({ CADASTRE_DATABASE }: Register, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(CADASTRE_DATABASE);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

const change = (register: Register, values: Partial<JobTable>) =>
  onDatabase(register, (database) =>
    database.write((tx) => tx.db.updateTable("jobs").set(values).where("name", "=", name).execute()),
  );

async function withExpiredToken(register: Register): Promise<void> {
  await cadastre(["user", "create", "--username", "ada", "--email", "ada@acme.example"], register);
  await cadastre(["token", "create", "--user", "ada", "--expires-in", "1h"], register);
  await cadastre(["token", "create", "--user", "ada"], register);
  await onDatabase(register, (database) =>
    database.write((tx) =>
      tx.db
        .updateTable("tokens")
        .set({ expiredAt: "2020-01-01T00:00:00.000Z" })
        .where("expiredAt", "is not", null)
        .execute(),
    ),
  );
}

/** The output without progress lines, which appear on a machine that takes longer than a second. */
const runByHand = async (register: Register) => {
  const outcome = await cadastre(["job", "run", name], register);
  const said = outcome.err.split("\n").filter((line) => !/^running expired-tokens: \d+ steps? done$/.test(line));
  return { ...outcome, err: said.join("\n") };
};

const tokens = async (register: Register) => JSON.parse((await cadastre(["token", "list", "--json"], register)).out);
const listed = async (register: Register) => {
  const rows = JSON.parse((await cadastre(["job", "list", "--json"], register)).out);
  return rows.find((row: { name: string }) => row.name === name);
};

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  test("runs and lists jobs", async () => {
    const register = await newRegister(engine);
    await cadastre(["migrate"], register);
    await withExpiredToken(register);
    const never = { name, every: "1h", "last-run": null, outcome: null, handled: 0, "running-on": null };
    expect(await listed(register)).toEqual(never);
    expect(await runByHand(register)).toEqual({ code: 0, out: `${name}: handled 1.`, err: "" });
    expect(await tokens(register)).toMatchObject([{ "expired-at": null }]);
    expect(await listed(register)).toEqual({
      ...never,
      "last-run": expect.stringMatching(/^\d{4}-.*Z$/),
      outcome: "succeeded",
      handled: 1,
    });
    const { out } = await cadastre(["job", "list"], register);
    expect(out).toMatch(/^NAME +EVERY +LAST RUN +OUTCOME +HANDLED +RUNNING ON\n/);
    expect(out).toMatch(/^expired-tokens +1h +\S+Z +succeeded +1 +-$/m);
    expect(out.split("\n")).toHaveLength(1 + jobs.length);
  });

  test("refuses a job that a server is running, but not one of a server that died", async () => {
    const register = await newRegister(engine);
    await cadastre(["migrate"], register);
    await cadastre(["job", "run", name], register);
    await change(register, { holder: "host-1-abc", leaseUntilMs: Number.MAX_SAFE_INTEGER });
    expect(await runByHand(register)).toEqual({
      code: 1,
      out: "",
      err: `The job ${name} is running on host-1-abc. Try again when it is done.`,
    });
    expect(await listed(register)).toMatchObject({ "running-on": "host-1-abc" });
    await change(register, { holder: "host-1-abc", leaseUntilMs: 1 });
    expect(await listed(register)).toMatchObject({ "running-on": null });
    expect((await cadastre(["job", "run", name], register)).code).toBe(0);
  });

  test("lists the error of a failed job, and a stopped one as stopped", async () => {
    const register = await newRegister(engine);
    await cadastre(["migrate"], register);
    await cadastre(["job", "run", name], register);
    await change(register, { lastError: "The shelf is full." });
    expect((await listed(register)).outcome).toBe("failed: The shelf is full.");
    await change(register, { lastError: null, finishedMs: 1_800_000_000_000 });
    expect(await listed(register)).toMatchObject({ outcome: "stopped", "last-run": "2027-01-15T08:00:00.000Z" });
  });

  test("a service runs jobs automatically, and leaves no lease when it is stopped", async () => {
    const register = await newRegister(engine);
    await cadastre(["migrate"], register);
    await withExpiredToken(register);
    const service = await startService({ ...register, CADASTRE_LOG_LEVEL: "warn" });
    while ((await listed(register)).outcome === null) await sleep(50);
    expect(await listed(register)).toMatchObject({ outcome: "succeeded", handled: 1 });
    expect(await tokens(register)).toMatchObject([{ "expired-at": null }]);
    expect(await stopService(service)).toMatchObject({ code: 0, err: "" });
    expect(await listed(register)).toMatchObject({ "running-on": null });
  });
});

test("a long run prints progress, and Ctrl+C stops it without losing completed steps", async () => {
  const register = await newRegister("postgres");
  await cadastre(["migrate"], register);
  await withExpiredToken(register);
  await onDatabase(register, async (database) => {
    const locked = Promise.withResolvers<void>();
    const door = Promise.withResolvers<void>();
    const lock = database.write(async (tx) => {
      await sql`lock table tokens`.execute(tx.db);
      locked.resolve();
      await door.promise;
    });
    await locked.promise;
    const running = start(["job", "run", name], register);
    const line = async () => String(await once(running.process.stderr as Readable, "data"));
    expect(await line()).toMatch(/^running expired-tokens: 0 steps done\n/);
    running.process.kill("SIGINT");
    // One line may have been on its way; at the second, the signal has arrived.
    await line();
    await line();
    door.resolve();
    await lock;
    const { code, out, err } = await running.ended;
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/The job expired-tokens was stopped before its end\. Finished steps are kept\.\n$/);
  });
  expect(await listed(register)).toMatchObject({ outcome: "stopped", handled: 1, "running-on": null });
  expect(await tokens(register)).toHaveLength(1);
});

test("the backup job without a directory is refused with the setting to set", async () => {
  expect(await cadastre(["job", "run", "backup"])).toEqual({
    code: 2,
    out: "",
    err: "There is no backup job because CADASTRE_BACKUP_DIRECTORY is not set. Set it, or run 'cadastre backup FILE'.",
  });
});

test("an unknown job is refused with the names of all", async () => {
  expect(await cadastre(["job", "run", "fly"])).toEqual({
    code: 2,
    out: "",
    err: `There is no job 'fly'. Jobs: ${jobs.map((job) => job.name).join(", ")}.`,
  });
});
