/** Following a run by server-sent events: the events, their order, and resuming without loss or repetition. */
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Vault } from "../../../../src/database/vault.ts";
import { readLog } from "../../../../src/resources/runs/phases/logs.ts";
import { completeUtf8Length } from "../../../../src/resources/runs/run-streams/events.ts";
import { feedOf } from "../../../../src/resources/runs/run-streams/feed.ts";
import { useApi } from "../../../support/api.ts";
import { details, makeOrganization, makeWorkspace, type Org } from "../../../support/builders.ts";
import { openStream } from "../../../support/event-stream.ts";
import { storeEndedRun, type StoredRun, storeRun, testVault } from "../../../support/phases.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";
import { maxStatementsPerTurn } from "../../../support/event-loop.ts";
import { appendToLog, endLogOf } from "./writing.ts";

const api = useApi();
let org: Org;
let run: StoredRun;

beforeAll(async () => {
  org = await makeOrganization(api);
});
beforeEach(async () => {
  run = await storeRun(api, await makeWorkspace(api, org.name), org.id);
});

const open = (options: { lastEventId?: string; query?: string } = {}, id = run.id) =>
  openStream(api, id, { token: org.owner.token, ...options });
const finish = () =>
  api.database.write((tx) =>
    tx.db
      .updateTable("runs")
      .set({ status: "planned_and_finished", endedAt: new Date().toISOString(), version: 9 })
      .where("id", "=", run.id)
      .execute(),
  );

describe("streamRunEvents", () => {
  it("has headers that forbid caching, buffering and compression", async () => {
    const stream = await openStream(api, run.id, { token: org.owner.token });
    expect(stream.status).toBe(200);
    expect(stream.headers["content-type"]).toBe("text/event-stream");
    expect(stream.headers["cache-control"]).toBe("no-store");
    expect(stream.headers["x-accel-buffering"]).toBe("no");
    expect(stream.headers["content-encoding"]).toBeUndefined();
    stream.close();
  });

  it("starts with the run, then sends the existing log and its growth, with offsets", async () => {
    await appendToLog(api, run.plan.id, 0, "one\n");
    const stream = await open();
    const first = await stream.until(({ event }) => event === "run");
    expect(first.data.status).toBe("planning");
    await stream.until(() => stream.text() === "one\n");
    await appendToLog(api, run.plan.id, 4, "two\n");
    const second = await stream.until(({ data }) => data.text === "two\n");
    expect(second.data).toEqual({ phase: "plan", offset: 5, "next-offset": 9, text: "two\n", ended: false });
    stream.close();
  });

  it("does not block others while it catches up on a log, and decrypts each chunk once", async () => {
    const text = `${"x".repeat(99)}\n`.repeat(20_000);
    await appendToLog(api, run.plan.id, 0, text);
    const most = await maxStatementsPerTurn(api.database, async () => {
      const stream = await open({ query: "?last-event-id=0.0." });
      await stream.until(() => stream.text().length === text.length);
      stream.close();
    });
    // 62 parts of the log, each with its own statement; a check and a poll may come in between.
    expect(most).toBeLessThanOrEqual(6);
    let opened = 0;
    const vault = {
      ...testVault,
      open: (...parts: Parameters<Vault["open"]>) => ((opened += 1), testVault.open(...parts)),
    };
    const log = { id: (await storeRun(api, await makeWorkspace(api, org.name), org.id)).plan.id, logBytes: 200_001 };
    await appendToLog(api, log.id, 0, text.slice(0, 200_000));
    for (let offset = 0; offset < log.logBytes; offset += 32_768)
      await readLog({ database: api.database, vault, options: {} }, log, offset, 32_768);
    expect(opened).toBe(1);
  });

  it("HEAD opens no stream", async () => {
    const follow = vi.spyOn(feedOf(api.database), "follow");
    for (let count = 0; count < 40; count += 1)
      expect((await org.owner.send("HEAD", `/runs/${run.id}/events`)).status).toBe(200);
    expect(follow).not.toHaveBeenCalled();
    follow.mockRestore();
  });

  it("sends the run's final status after the end of its log, and ends", async () => {
    const stream = await open();
    await stream.until(({ event }) => event === "run");
    await appendToLog(api, run.plan.id, 0, "last\n");
    await endLogOf(api, run.plan.id);
    await finish();
    await stream.closed();
    const endings = stream.events
      .slice(1)
      .map(({ event, data }) => data.status ?? data.reason ?? (data.ended ? "ended" : event));
    expect(endings.filter((word) => word !== "log")).toEqual(["ended", "planned_and_finished", "finished"]);
    expect(stream.text()).toBe("last\n");
  });

  it("has the plan's log and then the apply's", async () => {
    await appendToLog(api, run.plan.id, 0, "plan\n");
    const stream = await open();
    await endLogOf(api, run.plan.id);
    await appendToLog(api, run.apply.id, 0, "apply\n");
    await stream.until(() => stream.text("apply") === "apply\n");
    expect(stream.text("plan")).toBe("plan\n");
    stream.close();
  });

  it("leaves out logs that have already ended", async () => {
    await appendToLog(api, run.plan.id, 0, "plan\n");
    await endLogOf(api, run.plan.id);
    const stream = await open();
    await appendToLog(api, run.apply.id, 0, "apply\n");
    await stream.until(() => stream.text("apply") === "apply\n");
    expect(stream.text("plan")).toBe("");
    stream.close();
  });

  it("sends the final status of an ended run, and closes", async () => {
    const ended = await storeEndedRun(api, await makeWorkspace(api, org.name), org.id);
    const stream = await open({}, ended.id);
    await stream.closed();
    expect(stream.events.map(({ event }) => event)).toEqual(["run", "end"]);
    expect(stream.events[1]?.data).toEqual({ reason: "finished" });
  });

  it("sends an event for each change of the run's document, also by changes of other rows", async () => {
    const workspace = await makeRunnable(api, org.name);
    const { id } = await makeRun(org.owner, workspace.id);
    const stream = await open({}, id);
    await stream.until(({ data }) => data.status === "plan_queued");
    const waiting = await makeRun(org.owner, workspace.id);
    const other = await open({}, waiting.id);
    await other.until(({ data }) => data.status === "pending");
    const before = stream.events.length;
    await org.owner.post(`/runs/${id}/comments`, { data: { type: "comments", attributes: { body: "hm" } } });
    await stream.until((event) => stream.events.indexOf(event) >= before, "the comment has an event");
    // It waits for the workspace's lock.
    await org.owner.post(`/runs/${id}/actions/cancel`);
    await other.until(({ data }) => data.status === "plan_queued");
    await stream.until(({ event }) => event === "end");
    other.close();
  });
});

describe("a client that resumes", () => {
  const lines = Array.from({ length: 200 }, (_, index) => `Zeile ${index} für später ✓\n`);
  const whole = lines.join("");

  it("has every byte once, wherever it was cut off", async () => {
    const bytes = Buffer.from(whole);
    let received = "";
    let lastEventId: string | undefined;
    for (let at = 0, step = 0; at < bytes.length; step += 1) {
      const next = Math.min(bytes.length, at + 701);
      await appendToLog(api, run.plan.id, at, bytes.subarray(at, next));
      at = next;
      const stream = await open(
        step % 2 === 0 ? { ...(lastEventId && { lastEventId }) } : { query: `?last-event-id=${lastEventId}` },
      );
      const { id } = await stream.until(({ event }) => event === "log");
      stream.close();
      received += stream.events.find((event) => event.id === id && event.event === "log")?.data.text;
      lastEventId = id;
    }
    await endLogOf(api, run.plan.id);
    await finish();
    const last = await open({ ...(lastEventId && { lastEventId }) });
    await last.closed();
    expect(received + last.text()).toBe(whole);
  });

  it("does not receive the run's version again", async () => {
    await appendToLog(api, run.plan.id, 0, "one\n");
    const first = await open();
    const { id } = await first.until(({ event }) => event === "log");
    first.close();
    const second = await open({ lastEventId: id });
    await appendToLog(api, run.plan.id, 4, "two\n");
    await second.until(({ event }) => event === "log");
    expect(second.events.map(({ data }) => data.text)).toEqual(["two\n"]);
    second.close();
  });

  it("starts from the beginning with 0.0., also for ended logs", async () => {
    await appendToLog(api, run.plan.id, 0, whole);
    await endLogOf(api, run.plan.id);
    await finish();
    const stream = await open({ query: "?last-event-id=0.0." });
    await stream.closed();
    expect(stream.text()).toBe(whole);
  });

  it("400: an invalid id", async () => {
    const byHeader = await open({ lastEventId: "yesterday" });
    expect(byHeader.status).toBe(400);
    expect(byHeader.refusal.errors[0].detail).toContain("Last-Event-ID");
    const byQuery = await org.owner.get(`/runs/${run.id}/events?last-event-id=1`);
    expect(byQuery.status).toBe(400);
    expect(details(byQuery)[0]).toContain("last-event-id");
  });

  it("receives no text of a log that was deleted in the meantime", async () => {
    await appendToLog(api, run.plan.id, 0, "secret\n");
    await endLogOf(api, run.plan.id);
    await finish();
    await api.database.write((tx) =>
      tx.db.updateTable("runPhases").set({ backingDataStatus: "soft-deleted" }).where("id", "=", run.plan.id).execute(),
    );
    const stream = await open({ query: "?last-event-id=0.0." });
    await stream.closed();
    expect(stream.text()).toBe("");
  });
});

it("complete UTF-8 characters are those whose last byte is present", () => {
  for (const [text, cut, whole] of [
    ["aé", 1, 1],
    ["aé", 2, 1],
    ["aé", 3, 3],
    ["✓✓", 5, 3],
    ["✓", 2, 0],
    ["😀", 3, 0],
    ["😀", 4, 4],
  ] as const)
    expect(completeUtf8Length(Buffer.from(text).subarray(0, cut)), `${text} ${cut}`).toBe(whole);
  // Invalid UTF-8 is not waited for.
  expect(completeUtf8Length(Buffer.from([0x80, 0x80, 0x80, 0x80]))).toBe(4);
});
