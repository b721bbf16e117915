/** Logs move to the object store when their run has ended, and are read there by range. */
import { randomBytes } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { appendLog, plainLog } from "../../src/resources/runs/phases/logs.ts";
import { moveEndedLogs } from "../../src/resources/runs/phases/moved-logs.ts";
import { updatePhases } from "../../src/resources/runs/phases/writes.ts";
import type { UnmovedLog } from "../../src/resources/runs/phases/store.ts";
import { newObjectName } from "../../src/resources/shared/contents/content-place.ts";
import { discardObject } from "../../src/resources/shared/contents/unattached-objects.ts";
import { now } from "../../src/kernel/time.ts";
import { makeOrganization, makeWorkspace, type Org } from "../support/builders.ts";
import { jobContextOf } from "../support/states.ts";
import { logUrlOf, type StoredRun, storeRun, testVault } from "../support/phases.ts";
import { useStore } from "./support.ts";

const stage = useStore();
const { api } = stage;
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
});

const phase = (id: string) =>
  api.database.reader.db.selectFrom("runPhases").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
const chunksOf = (id: string) =>
  api.database.reader.db.selectFrom("runLogChunks").select("start").where("phaseId", "=", id).execute();

async function runWithLog(text: Buffer): Promise<StoredRun> {
  const run = await storeRun(api, await makeWorkspace(api, org.name), org.id);
  for (let offset = 0; offset < text.length; offset += 100_000) {
    const piece = text.subarray(offset, offset + 100_000);
    await api.database.write(async (tx) => appendLog(tx, testVault, await phase(run.plan.id), offset, piece));
  }
  await api.database.write(async (tx) => {
    const changes = [{ phase: await phase(run.plan.id), changes: { status: "finished" } }];
    const options = { contentPlace: api.contentPlace } as never;
    await updatePhases(tx, {} as never, { vault: testVault, options }, changes);
  });
  return run;
}

const end = (run: StoredRun) =>
  api.database.write((tx) => tx.db.updateTable("runs").set({ endedAt: now() }).where("id", "=", run.id).execute());

async function read(id: string, query = ""): Promise<Buffer> {
  const answer = await fetch((await logUrlOf(api, id)) + query);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

const incompressible = (bytes: number) => Buffer.from(randomBytes(bytes).toString("base64").slice(0, bytes));

it("stays in the database while the run is active, and moves when it has ended", async () => {
  const text = incompressible(500_000);
  const run = await runWithLog(text);
  await stage.runJob();
  expect((await phase(run.plan.id)).logContentId).toBeNull();
  expect(stage.store.objects()).toEqual([]);

  await end(run);
  await stage.runJob();
  expect((await phase(run.plan.id)).logContentId).toMatch(/^sc-/);
  expect((await phase(run.plan.id)).logUnmoved).toBe(0);
  expect(await chunksOf(run.plan.id)).toEqual([]);
  expect(stage.store.objects()).toHaveLength(1);

  const whole = Buffer.concat([Buffer.from([2]), text, Buffer.from([3])]);
  const pieces: Buffer[] = [];
  for (let offset = 0; offset < whole.length; offset += 77_777)
    pieces.push(await read(run.plan.id, `?offset=${offset}&limit=77777`));
  expect(Buffer.concat(pieces).equals(whole)).toBe(true);

  const before = stage.proxy.bytesSent;
  await read(run.plan.id, "?offset=100000&limit=1000");
  expect(stage.proxy.bytesSent - before).toBeLessThanOrEqual(1000 + 256 * 1024);
});

it("chunks that were exchanged in the object are refused one by one", async () => {
  // Random bytes are not compressed, so that chunks have one size.
  const text = randomBytes(4 * 65_536);
  const known = stage.store.objects();
  const run = await runWithLog(text);
  await end(run);
  await stage.runJob();
  const [path = ""] = stage.store.objects().filter((each) => !known.includes(each));
  const bytes = await stage.store.read(path);
  const { logContentId } = await phase(run.plan.id);
  const { chunkSizes } = await api.database.reader.db
    .selectFrom("contents")
    .select("chunkSizes")
    .where("id", "=", logContentId)
    .executeTakeFirstOrThrow();
  const [first, second] = (chunkSizes ?? "").split(",").map(Number) as [number, number];
  expect(first).toBe(second);
  const exchanged = [bytes.subarray(first, 2 * first), bytes.subarray(0, first), bytes.subarray(2 * first)];
  await stage.store.write(path, Buffer.concat(exchanged));
  const answer = await fetch(`${await logUrlOf(api, run.plan.id)}?offset=10&limit=100`);
  expect(answer.status).toBe(500);
  expect(await answer.text()).toContain("is damaged");
});

it("is moved once if two processes move it at the same time, and neither fails", async () => {
  const before = stage.store.objects().length;
  const run = await runWithLog(incompressible(500_000));
  await end(run);
  const contentId = async () => (await phase(run.plan.id)).logContentId;
  const { database } = api;
  // The slower one has read a part when the faster one has moved the log and deleted its chunks.
  async function* interrupted(_: unknown, log: UnmovedLog) {
    let isInterrupted = false;
    for await (const piece of plainLog(database.reader, testVault, log)) {
      yield piece;
      if (!isInterrupted) await stage.runJob();
      isInterrupted = true;
    }
  }
  const failures = new Map<string, unknown>();
  await moveEndedLogs(jobContextOf(api), interrupted, failures);
  expect(failures).toEqual(new Map());
  expect(await contentId()).toMatch(/^sc-/);
  await stage.runJob();
  expect(stage.store.objects()).toHaveLength(before + 1);
  expect(await stage.unattached()).toEqual([]);
});

it("a log whose object is damaged does not keep others from moving, and its reader gets the reason", async () => {
  const [first, second] = [await runWithLog(Buffer.from("one")), await runWithLog(Buffer.from("two"))];
  await end(first);
  await end(second);
  await api.database.write((tx) =>
    tx.db
      .updateTable("runLogChunks")
      .set({ bytes: Buffer.alloc(60) })
      .where("phaseId", "=", first.plan.id)
      .execute(),
  );
  const name = newObjectName();
  const place = api.contentPlace?.name ?? "";
  await api.database.write((tx) => discardObject(tx, { place, name }));
  await expect(stage.runJob()).rejects.toThrow();
  expect((await phase(second.plan.id)).logContentId).not.toBeNull();
  expect((await phase(first.plan.id)).logContentId).toBeNull();
  // The rest of the job is done, too.
  expect(await stage.unattached()).toEqual([]);
});
