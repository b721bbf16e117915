/** Concurrent requests: exactly one wins, and no ended run holds a lock. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, type Org } from "../../../support/builders.ts";
import { advanceRun, applyTransition, makeRun, makeRunnable, showRun, startRun } from "../../../support/runs.ts";
import { lock } from "../../../support/states.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
});

const rounds = 8;
const act = (id: string, action: string) => org.owner.post(`/runs/${id}/actions/${action}`);
const statusOf = async (id: string): Promise<string> => (await showRun(org.owner, id)).attributes.status;

afterEach(async () => {
  const broken = await api.database.reader.db
    .selectFrom("workspaces as w")
    .leftJoin("runs as r", "r.id", "w.lockedById")
    .select(["w.id", "r.status"])
    .where("w.lockedByType", "=", "runs")
    .where((where) => where.or([where("r.id", "is", null), where("r.endedAt", "is not", null)]))
    .execute();
  expect(broken, "workspaces that are held by what has ended").toEqual([]);
  const idle = await api.database.reader.db
    .selectFrom("runs as r")
    .innerJoin("workspaces as w", "w.id", "r.workspaceId")
    .select(["r.id"])
    .where("w.lockedByType", "is", null)
    .where("r.status", "=", "pending")
    .execute();
  expect(idle, "runs that wait for nobody").toEqual([]);
});

describe("concurrently", () => {
  it("many creations: one run is admitted, the others wait in order", async () => {
    const workspace = await makeRunnable(api, org.name);
    const made = await Promise.all(Array.from({ length: rounds }, () => startRun(org.owner, workspace.id)));
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 201));
    const listed: Json[] = (await org.owner.get(`/workspaces/${workspace.id}/runs`)).body.data;
    const statuses = listed.map((run) => run.attributes.status).toReversed();
    expect(statuses).toEqual(["plan_queued", ...Array.from({ length: rounds - 1 }, () => "pending")]);
    const positions = await api.database.reader.db
      .selectFrom("runs")
      .select("position")
      .where("workspaceId", "=", workspace.id)
      .orderBy("position")
      .execute();
    expect(positions.map((row) => Number(row.position))).toEqual(
      Array.from({ length: rounds }, (_, index) => index + 1),
    );
  });

  it("two confirmations: one succeeds", async () => {
    for (let round = 0; round < rounds; round += 1) {
      const workspace = await makeRunnable(api, org.name);
      const { id } = await makeRun(org.owner, workspace.id);
      await advanceRun(api, id, "planned");
      const answers = await Promise.all([act(id, "apply"), act(id, "apply"), act(id, "discard")]);
      const won = answers.filter(({ status }) => status === 202);
      expect(won.length).toBe(1);
      expect(answers.filter(({ status }) => status === 409).length).toBe(2);
      expect(await statusOf(id)).toBe(answers[2]?.status === 202 ? "discarded" : "apply_queued");
    }
  });

  it("a cancel and the end of the plan: one of them wins", async () => {
    for (let round = 0; round < rounds; round += 1) {
      const workspace = await makeRunnable(api, org.name);
      const { id } = await makeRun(org.owner, workspace.id);
      const next = await makeRun(org.owner, workspace.id);
      await advanceRun(api, id, "planning");
      const [canceled] = await Promise.all([
        act(id, "cancel"),
        applyTransition(api, id, { event: "phase-finished", hasChanges: false }),
      ]);
      expect(await statusOf(id)).toBe(canceled?.status === 202 ? "canceled" : "planned_and_finished");
      expect(await statusOf(next.id)).toBe("plan_queued");
    }
  });

  it("a claim and a cancel: never both", async () => {
    for (let round = 0; round < rounds; round += 1) {
      const workspace = await makeRunnable(api, org.name);
      const { id } = await makeRun(org.owner, workspace.id);
      const [claimed, canceled] = await Promise.allSettled([
        applyTransition(api, id, { event: "claim" }),
        act(id, "cancel"),
      ]);
      expect(canceled.status).toBe("fulfilled");
      expect(await statusOf(id)).toBe(claimed.status === "fulfilled" ? "planning" : "canceled");
    }
  });

  it("an unlock and a new run: it is admitted in any case", async () => {
    for (let round = 0; round < rounds; round += 1) {
      const workspace = await makeRunnable(api, org.name);
      await lock(org.owner, workspace.id);
      const [unlocked, made] = await Promise.all([
        org.owner.post(`/workspaces/${workspace.id}/actions/unlock`),
        startRun(org.owner, workspace.id),
      ]);
      expect([unlocked.status, made.status]).toEqual([200, 201]);
      expect(await statusOf(data(made).id)).toBe("plan_queued");
    }
  });

  it("the end of a run and a lock: either the next run or the user holds it", async () => {
    for (let round = 0; round < rounds; round += 1) {
      const workspace = await makeRunnable(api, org.name);
      const { id } = await makeRun(org.owner, workspace.id);
      await advanceRun(api, id, "planning");
      const [, locked] = await Promise.all([
        applyTransition(api, id, { event: "phase-errored" }),
        org.owner.post(`/workspaces/${workspace.id}/actions/lock`),
      ]);
      const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
      expect(shown.attributes.locked).toBe(locked.status === 200);
      expect(await statusOf(id)).toBe("errored");
    }
  });
});
