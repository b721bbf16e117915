/** Effects of runs on their workspace: lock, current run, included resources, state, and deletion. */
import { beforeAll, describe, expect, it } from "vitest";
import { discardOldSavedPlans } from "../../../../src/resources/runs/runs/saved-plan-expiry.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, makeOrganization, type Org } from "../../../support/builders.ts";
import { advanceRun, applyTransition, makeRun, makeRunnable, showRun } from "../../../support/runs.ts";
import { lock, stateOf, unlock, jobContextOf, writeState } from "../../../support/states.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
});

const show = async (id: string, query = ""): Promise<Json> => (await org.owner.get(`/workspaces/${id}${query}`)).body;
const currentOf = async (id: string): Promise<string | null> =>
  (await show(id)).data.relationships["current-run"].data?.id ?? null;
const statusOf = async (id: string): Promise<string> => (await showRun(org.owner, id)).attributes.status;
const on = (workspaceId: string, action: string) => org.owner.post(`/workspaces/${workspaceId}/actions/${action}`);

describe("the lock of a run", () => {
  it("409: can't be taken, released or force-unlocked while the run has not ended", async () => {
    const workspace = await makeRunnable(api, org.name);
    const { id } = await makeRun(org.owner, workspace.id);
    const locked = await on(workspace.id, "lock");
    expect([locked.status, details(locked)[0]]).toEqual([409, expect.stringContaining("already locked")]);
    const unlocked = await on(workspace.id, "unlock");
    expect([unlocked.status, details(unlocked)[0]]).toEqual([409, expect.stringContaining(`is locked by Run ${id}`)]);
    const forced = await on(workspace.id, "force-unlock");
    expect([forced.status, details(forced)[0]]).toEqual([409, expect.stringMatching(/is locked by Run .*Cancel/)]);
    expect((await show(workspace.id)).data.relationships["locked-by"].data).toEqual({ type: "runs", id });
  });

  it("of a user: runs wait, plan-only runs continue, and the unlock starts the oldest run immediately", async () => {
    const workspace = await makeRunnable(api, org.name);
    await lock(org.owner, workspace.id);
    const [first, second] = [await makeRun(org.owner, workspace.id), await makeRun(org.owner, workspace.id)];
    const plan = await makeRun(org.owner, workspace.id, { "plan-only": true });
    expect([first, second, plan].map((run) => run.attributes.status)).toEqual(["pending", "pending", "plan_queued"]);
    expect(first.attributes["waiting-for"]).toMatch(
      /^Waiting for the workspace to be unlocked: the user .* holds the lock\.$/,
    );
    expect(await currentOf(workspace.id)).toBe(first.id);
    const answer = data(await on(workspace.id, "unlock"));
    expect(answer.relationships["locked-by"].data).toEqual({ type: "runs", id: first.id });
    expect([await statusOf(first.id), await statusOf(second.id)]).toEqual(["plan_queued", "pending"]);
    expect((await show(workspace.id)).data).toEqual(answer);
  });

  it("of a user, force-unlocked: the same", async () => {
    const workspace = await makeRunnable(api, org.name);
    await lock(org.owner, workspace.id);
    const run = await makeRun(org.owner, workspace.id);
    expect((await on(workspace.id, "force-unlock")).status).toBe(200);
    expect(await statusOf(run.id)).toBe("plan_queued");
  });
});

describe("the current run", () => {
  it("is the lock holder, else the oldest pending run, else the last run that ended; never a plan-only run", async () => {
    const workspace = await makeRunnable(api, org.name);
    expect(await currentOf(workspace.id)).toBeNull();
    await advanceRun(api, (await makeRun(org.owner, workspace.id, { "plan-only": true })).id, "finished");
    expect(await currentOf(workspace.id)).toBeNull();
    const first = await makeRun(org.owner, workspace.id);
    const second = await makeRun(org.owner, workspace.id);
    expect(await currentOf(workspace.id)).toBe(first.id);
    await advanceRun(api, first.id, "planned");
    await applyTransition(api, first.id, { event: "discard" });
    expect(await currentOf(workspace.id)).toBe(second.id);
    await advanceRun(api, second.id, "finished");
    expect(await currentOf(workspace.id)).toBe(second.id);
    await lock(org.owner, workspace.id);
    const [third, fourth] = [await makeRun(org.owner, workspace.id), await makeRun(org.owner, workspace.id)];
    expect(await currentOf(workspace.id)).toBe(third.id);
    await applyTransition(api, third.id, { event: "cancel" });
    expect(await currentOf(workspace.id)).toBe(fourth.id);
    await applyTransition(api, fourth.id, { event: "discard" });
    expect(await currentOf(workspace.id)).toBe(fourth.id);
    await unlock(org.owner, workspace.id);
    expect((await show(workspace.id)).data.attributes.locked).toBe(false);
  });

  it("is used to filter and sort lists", async () => {
    const other = await makeOrganization(api);
    const [one, two] = [await makeRunnable(api, other.name), await makeRunnable(api, other.name)];
    const run = await makeRun(other.owner, two.id);
    await makeRun(other.owner, one.id);
    await advanceRun(api, run.id, "planned");
    const list = async (query: string): Promise<string[]> =>
      (await other.owner.get(`/organizations/${other.name}/workspaces?${query}`)).body.data.map(
        (each: Json) => each.id,
      );
    expect(await list("filter[current-run][status]=planned")).toEqual([two.id]);
    expect(await list("filter[current-run][status]=plan_queued")).toEqual([one.id]);
    expect(await list("sort=current-run.created-at")).toEqual([two.id, one.id]);
    expect(await list("sort=-current-run.created-at")).toEqual([one.id, two.id]);
  });

  it("is included with the workspace, with its plan", async () => {
    const workspace = await makeRunnable(api, org.name);
    const { id, relationships } = await makeRun(org.owner, workspace.id);
    const shown = await show(workspace.id, "?include=current_run,current_run.plan,locked_by");
    const included = shown.included.map((each: Json) => [each.type, each.id]);
    expect(included.toSorted()).toEqual([
      ["plans", relationships.plan.data.id],
      ["runs", id],
    ]);
    const listed = await org.owner.get(
      `/organizations/${org.name}/workspaces?include=current_run&search[name]=${workspace.attributes.name}`,
    );
    expect(listed.body.included.map((each: Json) => each.id)).toEqual([id]);
  });
});

describe("a state that an apply wrote", () => {
  it("becomes current when the run ends, in any final status, and names the run", async () => {
    for (const event of ["phase-finished", "phase-errored"] as const) {
      const workspace = await makeRunnable(api, org.name);
      const { id } = await makeRun(org.owner, workspace.id, { "auto-apply": true });
      await advanceRun(api, id, "planned");
      await applyTransition(api, id, { event: "claim" });
      // As the run's own token would write it, under the run's lock.
      const stateId = await storeState(workspace.id, id);
      await applyTransition(api, id, { event });
      const shown = await show(workspace.id);
      expect(shown.data.relationships["current-state-version"].data.id).toBe(stateId);
      const state = (await org.owner.get(`/state-versions/${stateId}?include=run,run.created_by`)).body;
      expect(state.data.attributes.intermediate).toBe(false);
      expect(state.included.map((each: Json) => each.type).toSorted()).toEqual(["runs", "users"]);
      const apply = data(await org.owner.get(`/runs/${id}/apply`));
      expect(apply.relationships["state-versions"].data).toEqual([{ type: "state-versions", id: stateId }]);
    }
  });
});

/** An intermediate state, written by a run's apply. */
async function storeState(workspaceId: string, runId: string): Promise<string> {
  const other = await makeRunnable(api, org.name);
  const written = await writeState(org.owner, other.id, stateOf());
  const { id: applyId } = data(await org.owner.get(`/runs/${runId}/apply`));
  const writer = { createdByKind: "run", createdById: runId, createdByTokenId: applyId };
  await api.database.write((tx) =>
    tx.db
      .updateTable("stateVersions")
      .set({ workspaceId, runId, intermediate: 1, ...writer })
      .where("id", "=", written.id)
      .execute(),
  );
  return written.id;
}

describe("a saved plan", () => {
  it("is discarded when another state becomes current", async () => {
    const workspace = await makeRunnable(api, org.name);
    const { id } = await makeRun(org.owner, workspace.id, { "save-plan": true });
    await advanceRun(api, id, "planned");
    await writeState(org.owner, workspace.id, stateOf());
    expect(await statusOf(id)).toBe("discarded");
    const apply = data(await org.owner.get(`/runs/${id}/apply`));
    expect(apply.attributes.status).toBe("unreachable");
    const events = (await org.owner.get(`/runs/${id}/run-events`)).body.data;
    expect(events.at(-1).attributes).toMatchObject({
      action: "discarded",
      description: "The workspace's state has changed since this run was planned.",
    });
  });
});

describe("a saved plan that nobody confirms", () => {
  it("is discarded by a job after 14 days", async () => {
    const workspace = await makeRunnable(api, org.name);
    const [old, recent] = [
      await makeRun(org.owner, workspace.id, { "save-plan": true }),
      await makeRun(org.owner, workspace.id, { "save-plan": true }),
    ];
    for (const { id } of [old, recent]) await advanceRun(api, id, "planned");
    const madeDaysAgo = (id: string, days: number) =>
      api.database.write((tx) =>
        tx.db
          .updateTable("runs")
          .set({ createdAt: new Date(Date.now() - days * 86_400_000).toISOString() })
          .where("id", "=", id)
          .execute(),
      );
    await madeDaysAgo(old.id, 15);
    await madeDaysAgo(recent.id, 13);
    expect(await discardOldSavedPlans(jobContextOf(api))).toBe(1);
    expect([await statusOf(old.id), await statusOf(recent.id)]).toEqual(["discarded", "planned_and_saved"]);
    expect(await discardOldSavedPlans(jobContextOf(api))).toBe(0);
  });
});

describe("the variables of a run", () => {
  it("are those at its admission, encrypted, and deleted when it ends", async () => {
    const workspace = await makeRunnable(api, org.name);
    const { id } = await makeRun(org.owner, workspace.id);
    const pinned = async () =>
      (
        await api.database.reader.db
          .selectFrom("runs")
          .select("pinnedVariables")
          .where("id", "=", id)
          .executeTakeFirstOrThrow()
      ).pinnedVariables;
    expect(await pinned()).not.toBeNull();
    await advanceRun(api, id, "finished");
    expect(await pinned()).toBeNull();
  });
});

describe("deleting a workspace", () => {
  it("409 for a safe delete while a run has not ended, also one without the lock", async () => {
    for (const attributes of [{}, { "plan-only": true }]) {
      const workspace = await makeRunnable(api, org.name);
      const { id } = await makeRun(org.owner, workspace.id, attributes);
      const refused = await on(workspace.id, "safe-delete");
      expect([refused.status, details(refused)[0]]).toEqual([409, expect.stringContaining(id)]);
      await applyTransition(api, id, { event: "cancel" });
      expect((await on(workspace.id, "safe-delete")).status).toBe(204);
    }
  });

  it("204 for a force delete: the run is deleted, its reports are refused, and the audit log has an event", async () => {
    const workspace = await makeRunnable(api, org.name);
    const { id } = await makeRun(org.owner, workspace.id);
    await advanceRun(api, id, "planning");
    const deleted = await org.owner.delete(`/workspaces/${workspace.id}`);
    expect(deleted.status).toBe(204);
    expect((await org.owner.get(`/runs/${id}`)).status).toBe(404);
    await expect(applyTransition(api, id, { event: "phase-finished" })).rejects.toThrow(/no such run/);
    const auditEvents = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "before", "after"])
      .where("subjectId", "=", id)
      .where("requestId", "=", deleted.headers.get("x-request-id"))
      .execute();
    expect(auditEvents).toEqual([
      { action: "runs.workspace-deleted", before: '{"status":"planning"}', after: '{"status":"canceled"}' },
    ]);
  });
});
