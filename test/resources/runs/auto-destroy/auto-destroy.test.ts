/** Scheduled destroys: exactly one run at the due time, and the workspace's auto-destroy status. */
import { beforeAll, describe, expect, it } from "vitest";
import { startDueDestroys } from "../../../../src/resources/runs/auto-destroy/schedule.ts";
import type { Json } from "../../../support/api.ts";
import { useApi } from "../../../support/api.ts";
import { data, inProject, type Org, resource } from "../../../support/builders.ts";
import { applyTransition, makeConfiguration, makeRunnable } from "../../../support/runs.ts";
import { managed, stateOf, jobContextOf, writeState } from "../../../support/states.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await api.makeOrganization();
});

const hourMs = 3_600_000;
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
const run = (): Promise<number> => startDueDestroys(jobContextOf(api));
const show = async (id: string): Promise<Json> => data(await org.owner.get(`/workspaces/${id}`));
const statusOf = async (id: string): Promise<string | null> => (await show(id)).attributes["auto-destroy-status"];
const runsOf = async (id: string): Promise<Json[]> => (await org.owner.get(`/workspaces/${id}/runs`)).body.data;
const change = async (id: string, attributes: object): Promise<Json> =>
  data(await org.owner.patch(`/workspaces/${id}`, resource("workspaces", attributes)));
/** Moves times into the past, instead of waiting for days. */
const age = (id: string, ms: number) =>
  api.database.write((tx) =>
    tx.db
      .updateTable("workspaces")
      .set({ createdAt: ago(ms), latestChangeAt: ago(ms), currentRunCreatedAt: null })
      .where("id", "=", id)
      .execute(),
  );

async function end(runId: string, changes = true): Promise<void> {
  await applyTransition(api, runId, { event: "claim" });
  await applyTransition(api, runId, { event: "phase-finished", hasChanges: changes });
  if (!changes) return;
  await applyTransition(api, runId, { event: "claim" });
  await applyTransition(api, runId, { event: "phase-finished" });
}

describe("at a fixed time", () => {
  it("destroys once, regardless of auto-apply, and without a creator", async () => {
    const workspace = await makeRunnable(api, org.name, { "auto-destroy-at": ago(1000), "auto-apply": false });
    expect(await statusOf(workspace.id)).toBe("scheduled");
    expect(await run()).toBe(1);
    expect(await run()).toBe(0);
    const [only, ...others] = await runsOf(workspace.id);
    expect(others).toEqual([]);
    expect(only).toMatchObject({
      attributes: {
        "is-destroy": true,
        "auto-apply": true,
        message: "Scheduled destroy",
        "trigger-reason": "auto_destroy",
        status: "plan_queued",
      },
      relationships: { "created-by": { data: null } },
    });
    const shown = await show(workspace.id);
    expect(shown.attributes).toMatchObject({ "auto-destroy-at": null, "auto-destroy-status": "queued" });
    await end(only.id);
    expect(await statusOf(workspace.id)).toBeNull();
    expect(await run()).toBe(0);
    const auditEvents = await api.database.reader.db
      .selectFrom("auditEvents")
      .selectAll()
      .where("subjectId", "=", workspace.id)
      .where("action", "=", "workspaces.auto-destroy")
      .execute();
    expect(auditEvents).toHaveLength(1);
    expect(JSON.parse(auditEvents[0]?.after ?? "")).toEqual({ "auto-destroy-status": "queued", runId: only.id });
  });

  it("does nothing before that time", async () => {
    const at = new Date(Date.now() + hourMs).toISOString();
    const workspace = await makeRunnable(api, org.name, { "auto-destroy-at": at });
    expect(await run()).toBe(0);
    expect(await runsOf(workspace.id)).toEqual([]);
  });

  it("sets the status to null if there was nothing to destroy, and to errored if the run failed or was discarded", async () => {
    const outcomes = {
      nothing: async (id: string) => end(id, false),
      failed: async (id: string) => {
        await applyTransition(api, id, { event: "claim" });
        await applyTransition(api, id, { event: "phase-errored" });
      },
      canceled: async (id: string) => expect((await org.owner.post(`/runs/${id}/actions/cancel`)).status).toBe(202),
    };
    for (const [name, finish] of Object.entries(outcomes)) {
      const workspace = await makeRunnable(api, org.name, { "auto-destroy-at": ago(1000) });
      expect(await run()).toBe(1);
      await finish((await runsOf(workspace.id))[0].id);
      expect(await statusOf(workspace.id), name).toBe(name === "nothing" ? null : "errored");
      expect(await run()).toBe(0);
    }
  });

  it("sets the status to errored if no run can start, and starts over with a new schedule", async () => {
    const refused: Json[] = [
      await makeRunnable(api, org.name, { "allow-destroy-plan": false }),
      await api.makeWorkspace(org.name, { "execution-mode": "remote" }),
      await makeRunnable(api, org.name, { "execution-mode": "local" }),
    ];
    for (const { id } of refused) await change(id, { "auto-destroy-at": ago(1000) });
    expect(await run()).toBe(3);
    expect(await run()).toBe(0);
    for (const { id } of refused) {
      expect(await runsOf(id)).toEqual([]);
      expect((await show(id)).attributes).toMatchObject({ "auto-destroy-at": null, "auto-destroy-status": "errored" });
    }
    const id = refused[1]?.id;
    await makeConfiguration(api, id);
    await change(id, { "auto-destroy-at": ago(1000) });
    expect(await statusOf(id)).toBe("scheduled");
    expect(await run()).toBe(1);
    expect(await statusOf(id)).toBe("queued");
  });

  it("starts one run also with two concurrent jobs", async () => {
    const workspace = await makeRunnable(api, org.name, { "auto-destroy-at": ago(1000) });
    const handled = await Promise.all([run(), run(), run()]);
    expect(handled.reduce((sum, each) => sum + each, 0)).toBe(1);
    expect(await runsOf(workspace.id)).toHaveLength(1);
  });
});

describe("after a time without activity", () => {
  it("destroys the resources, again after the next state, and never an empty workspace", async () => {
    const workspace = await makeRunnable(api, org.name, { "auto-destroy-activity-duration": "2h" });
    await age(workspace.id, 3 * hourMs);
    expect(await run()).toBe(0);
    await writeState(org.owner, workspace.id, stateOf({ resources: [managed("one")] }));
    expect(await run()).toBe(0);
    await age(workspace.id, hourMs);
    expect(await run()).toBe(0);
    await age(workspace.id, 3 * hourMs);
    expect(await run()).toBe(1);
    expect(await statusOf(workspace.id)).toBe("queued");
    const [first] = await runsOf(workspace.id);
    await age(workspace.id, 3 * hourMs);
    expect(await run()).toBe(0);
    await end(first.id);
    expect((await show(workspace.id)).attributes).toMatchObject({
      "auto-destroy-status": "scheduled",
      "auto-destroy-activity-duration": "2h",
    });
  });

  it("follows the project's duration", async () => {
    const project = await api.makeProject(org.name, { "auto-destroy-activity-duration": "1d" });
    const workspace = await api.makeWorkspace(org.name, { "execution-mode": "remote" }, inProject(project.id));
    await makeConfiguration(api, workspace.id);
    await writeState(org.owner, workspace.id, stateOf({ resources: [managed("one")] }));
    await age(workspace.id, 23 * hourMs);
    expect(await run()).toBe(0);
    await age(workspace.id, 25 * hourMs);
    expect(await run()).toBe(1);
    expect((await runsOf(workspace.id))[0].attributes["is-destroy"]).toBe(true);
  });

  it("is not retried after a failure until a new state is written", async () => {
    const workspace = await makeRunnable(api, org.name, { "auto-destroy-activity-duration": "1h" });
    await writeState(org.owner, workspace.id, stateOf({ resources: [managed("one")] }));
    await change(workspace.id, { "allow-destroy-plan": false });
    await age(workspace.id, 2 * hourMs);
    expect(await run()).toBe(1);
    expect(await statusOf(workspace.id)).toBe("errored");
    expect(await run()).toBe(0);
    await writeState(org.owner, workspace.id, stateOf({ serial: 2, resources: [managed("one")] }));
    expect(await statusOf(workspace.id)).toBe("scheduled");
    await age(workspace.id, 2 * hourMs);
    expect(await run()).toBe(1);
  });
});
