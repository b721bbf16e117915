/** Lost agents: no job hangs, none runs twice concurrently, and late reports are refused. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { removeVanishedAgents } from "../../../../src/resources/runs/agents/writes.ts";
import { resolveLostJobs } from "../../../../src/resources/runs/agent-jobs/lost-jobs.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, type Org } from "../../../support/builders.ts";
import { type Agent, type Job, makeAgent, makeSitePool, type Pool } from "../../../support/agent-callers.ts";
import { jobContextOf } from "../../../support/states.ts";
import { applyTransition, makeRun, makeRunnable, showRun } from "../../../support/runs.ts";

const api = useApi();
let org: Org;
let pool: Pool;
let agent: Agent;
let workspace: Json;
let run: Json;
let job: Job;

beforeAll(async () => {
  org = await makeOrganization(api);
  pool = await makeSitePool(api);
  agent = await makeAgent(api, pool, "builder");
});
beforeEach(async () => {
  // Jobs that other tests left running must not be considered lost on a slow machine.
  const dayMs = 86_400_000;
  await api.database.write((tx) =>
    tx.db
      .updateTable("runPhases")
      .set((row) => ({ heardMs: row("heardMs", "+", dayMs) }))
      .execute(),
  );
  workspace = await makeRunnable(api, org.name, { "terraform-version": "1.9.5" });
  run = await makeRun(org.owner, workspace.id);
  job = await agent.job();
});

/** Runs the lost-job check. */
const decide = () => resolveLostJobs(jobContextOf(api));
const earlier = (columns: readonly ("heardMs" | "claimedMs")[], ms: number) =>
  api.database.write((tx) =>
    tx.db
      .updateTable("runPhases")
      .set((row) => Object.fromEntries(columns.map((column) => [column, row(column, "-", ms)])))
      .where("id", "=", job.id)
      .execute(),
  );
const silent = () => earlier(["heardMs"], 31_000);
const shown = async () => (await showRun(org.owner, run.id)).attributes;
const isLocked = async () => data(await org.owner.get(`/workspaces/${workspace.id}`)).attributes.locked;

describe("a lost agent", () => {
  it("before 30 seconds: nothing happens", async () => {
    await earlier(["heardMs"], 20_000);
    expect(await decide()).toBe(0);
    expect((await shown()).status).toBe("planning");
  });

  it("a plan whose engine was not started is queued again, and the next agent gets another attempt", async () => {
    await silent();
    expect(await decide()).toBe(1);
    expect((await shown()).status).toBe("plan_queued");
    const second = await makeAgent(api, pool);
    const again = await second.job();
    expect([again.id, again.attempt]).toEqual([job.id, 2]);
    // The first agent reports again.
    expect((await job.run.get(`/workspaces/${workspace.id}`)).status).toBe(401);
    expect((await job.act("start")).status).toBe(409);
    expect((await job.act("heartbeat")).status).toBe(409);
    expect((await job.put("log", "&offset=0", "late")).status).toBe(409);
    expect((await job.act("finish", { result: "finished", "has-changes": true })).status).toBe(409);
    expect((await shown()).status).toBe("planning");
    expect((await again.run.get(`/workspaces/${workspace.id}`)).status).toBe(200);
    expect((await again.act("finish", { result: "finished", "has-changes": false })).status).toBe(204);
    expect((await shown()).status).toBe("planned_and_finished");
  });

  it("a plan whose engine was not started is queued again at most three times, then it fails", async () => {
    for (const attempt of [1, 2, 3]) {
      expect(job.attempt).toBe(attempt);
      await silent();
      await decide();
      expect((await shown()).status).toBe("plan_queued");
      job = await agent.job();
    }
    await silent();
    expect(await decide()).toBe(1);
    expect((await shown()).status).toBe("errored");
    expect(await isLocked()).toBe(false);
    expect((await agent.claim()).status).toBe(204);
    const plan = data(await org.owner.get(`/runs/${run.id}/plan`));
    expect(await (await fetch(plan.attributes["log-read-url"])).text()).toContain("The agent builder was lost: ");
  });

  it("a plan whose engine was started fails, and its lock is released", async () => {
    await job.act("start");
    await silent();
    expect(await decide()).toBe(1);
    expect((await shown()).status).toBe("errored");
    expect(await isLocked()).toBe(false);
    expect((await job.act("finish", { result: "finished", "has-changes": true })).status).toBe(409);
    expect((await shown()).status).toBe("errored");
    const events = await api.database.reader.db
      .selectFrom("runEvents")
      .select("description")
      .where("runId", "=", run.id)
      .execute();
    expect(JSON.stringify(events)).toContain("The agent builder was lost");
    const plan = data(await org.owner.get(`/runs/${run.id}/plan`));
    const log = await (await fetch(plan.attributes["log-read-url"])).text();
    expect([log.at(0), log.at(-1)]).toEqual(["\u0002", "\u0003"]);
    expect(log).toContain("\nThe agent builder was lost: ");
  });

  it("an apply always fails, whether or not the engine was started", async () => {
    await job.act("finish", { result: "finished", "has-changes": true });
    await applyTransition(api, run.id, { event: "apply" });
    job = await agent.job();
    await silent();
    expect(await decide()).toBe(1);
    expect((await shown()).status).toBe("errored");
    expect(await isLocked()).toBe(false);
    expect((await agent.claim()).status).toBe(204);
  });

  it("one with the signal cancel is canceled", async () => {
    await job.act("start");
    await applyTransition(api, run.id, { event: "cancel" });
    await silent();
    await decide();
    expect((await shown()).status).toBe("canceled");
  });

  it("an agent that sends heartbeats in time keeps its job", async () => {
    await silent();
    await job.act("heartbeat");
    expect(await decide()).toBe(0);
    expect((await shown()).status).toBe("planning");
  });
});

describe("a phase that exceeds its time limit", () => {
  it("fails, although its agent sends heartbeats", async () => {
    await job.act("start");
    await earlier(["claimedMs"], (7200 + 601) * 1000);
    expect(await decide()).toBe(1);
    expect((await shown()).status).toBe("errored");
    expect((await job.act("heartbeat")).body).toEqual({ signal: "kill" });
  });
});

describe("agents without a ping for a long time", () => {
  it("are removed after a day, with an audit event", async () => {
    const gone = await makeAgent(api, pool);
    await api.database.write((tx) =>
      tx.db
        .updateTable("agents")
        .set((row) => ({ lastPingMs: row("lastPingMs", "-", 25 * 3_600_000) }))
        .where("id", "=", gone.id)
        .execute(),
    );
    expect(await api.database.write((tx) => removeVanishedAgents(tx, jobContextOf(api), 100))).toBe(1);
    expect((await api.admin.get(`/agents/${gone.id}`)).status).toBe(404);
    expect((await api.admin.get(`/agents/${agent.id}`)).status).toBe(200);
  });
});
