/** Two real servers on one database: one is killed in the middle of a job, and the other finishes the work. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { until } from "../support/waiting.ts";
import { useJobs } from "./support.ts";

const jobs = useJobs();
const script = fileURLToPath(new URL("fixtures/slow-server.ts", import.meta.url));
const children: ChildProcess[] = [];
afterAll(() => children.forEach((child) => child.kill("SIGKILL")));

function startServer(units: number): ChildProcess {
  const words = ["--disable-warning=ExperimentalWarning", script, jobs.address, String(units)];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "inherit"] });
  children.push(child);
  return child;
}

const done = () =>
  jobs.database.reader.db.selectFrom("meta").selectAll().where("name", "like", "unit-%").orderBy("name").execute();
const job = () => jobs.row("slow").catch(() => undefined);

const doneBy = ({ pid }: ChildProcess, rows: readonly { value: string }[]) =>
  rows.filter(({ value }) => value === `${pid} done`).length;

it("every unit of work is done exactly once", async () => {
  const units = 100;
  const pair = [startServer(units), startServer(units)];
  await until(async () => (await done()).length >= 10);
  const holder = (await job())?.holder ?? "";
  const victim = pair.find(({ pid }) => holder.includes(`-${pid}-`));
  const survivor = pair.find((child) => child !== victim);
  if (victim === undefined || survivor === undefined) throw new Error(`neither of the two is ${holder}`);
  victim.kill("SIGKILL");
  await once(victim, "exit");
  expect((await done()).length).toBeLessThan(units);

  await until(async () => (await job())?.succeededMs != null);
  const rows = await done();
  expect(rows.map(({ name }) => name).sort()).toEqual(
    Array.from({ length: units }, (_, unit) => `unit-${unit}`).sort(),
  );
  // No step was left half done, and no unit was done by both: the second would have violated the table's key.
  expect(doneBy(victim, rows)).toBeGreaterThanOrEqual(1);
  expect(doneBy(survivor, rows)).toBe(units - doneBy(victim, rows));
  const row = await job();
  expect(row).toMatchObject({ holder: null, lastError: null, handledTotal: doneBy(survivor, rows) });
  expect(row?.failuresTotal).toBeGreaterThanOrEqual(1);
  survivor.kill("SIGTERM");
  expect(await once(survivor, "exit")).toEqual([0, null]);
});
