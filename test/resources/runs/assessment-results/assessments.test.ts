/** Drift assessments: when they run, what they find, and who can read them. */
import { beforeAll, describe, expect, it } from "vitest";
import { runAssessments } from "../../../../src/resources/runs/assessment-results/assessment-job.ts";
import { findingsOf } from "../../../../src/resources/runs/assessment-results/rules.ts";
import { summaryOf } from "../../../../src/resources/runs/plan-outputs/plan-bytes.ts";
import type { Json } from "../../../support/api.ts";
import { useApi } from "../../../support/api.ts";
import { data, type Org } from "../../../support/builders.ts";
import { storeOutput } from "../../../support/phases.ts";
import { applyTransition, makeRun, makeRunnable } from "../../../support/runs.ts";
import { jobContextOf } from "../../../support/states.ts";

const api = useApi({ options: { edition: "hosted" } });
let org: Org;

beforeAll(async () => {
  org = await api.makeOrganization();
});

const run = (): Promise<number> => runAssessments(jobContextOf(api, { edition: "hosted" }));
const show = async (id: string): Promise<Json> => data(await org.owner.get(`/workspaces/${id}`));
const resultOf = async (id: string): Promise<Json> =>
  data(
    await org.owner.get(`/assessment-results/${(await show(id)).relationships["current-assessment-result"].data.id}`),
  );

async function apply(workspaceId: string): Promise<void> {
  const { id } = await makeRun(org.owner, workspaceId, { "auto-apply": true });
  await applyTransition(api, id, { event: "claim" });
  await applyTransition(api, id, { event: "phase-finished", hasChanges: true });
  await applyTransition(api, id, { event: "claim" });
  await applyTransition(api, id, { event: "phase-finished" });
}

async function assessed(): Promise<Json> {
  const workspace = await makeRunnable(api, org.name, { "assessments-enabled": true });
  await apply(workspace.id);
  return workspace;
}

/** The run that assesses a workspace. */
async function underway(workspaceId: string): Promise<Json> {
  const found = await org.owner.get(`/workspaces/${workspaceId}/runs?filter[operation]=plan_only`);
  return found.body.data[0];
}

const plan = JSON.stringify({
  resource_drift: [
    { address: "a.b", change: { actions: ["update"] } },
    { address: "a.c", change: { actions: ["no-op"] } },
  ],
  checks: [{ status: "fail", instances: [{ status: "pass" }, { status: "fail" }] }, { status: "unknown" }],
});

async function end(runId: string, how: "phase-finished" | "phase-errored" = "phase-finished"): Promise<void> {
  await applyTransition(api, runId, { event: "claim" });
  if (how === "phase-finished")
    await storeOutput(api, { id: runId, organizationId: org.id } as never, "plan-json", plan);
  await applyTransition(api, runId, { event: how, hasChanges: true });
}

describe("the job", () => {
  it("plans without the lock, records its findings, and does not run again within a day", async () => {
    const { id } = await assessed();
    expect(await run()).toBe(1);
    expect(await run()).toBe(0);
    const assessing = await underway(id);
    expect(assessing.attributes).toMatchObject({
      "plan-only": true,
      "refresh-only": true,
      "trigger-reason": "assessment",
      status: "plan_queued",
    });
    expect((await show(id)).attributes).toMatchObject({ locked: false, "last-assessment-result-at": null });
    await end(assessing.id);
    expect(await run()).toBe(1);
    expect(await run()).toBe(0);
    const result = await resultOf(id);
    expect(result.attributes).toMatchObject({
      drifted: true,
      succeeded: true,
      "error-msg": null,
      "all-checks-succeeded": false,
      "resources-drifted": 1,
      "checks-passed": 1,
      "checks-failed": 1,
      "checks-errored": 0,
      "checks-unknown": 1,
    });
    expect((await show(id)).attributes["last-assessment-result-at"]).toBe(result.attributes["created-at"]);
    await api.database.write((tx) =>
      tx.db
        .updateTable("workspaces")
        .set({ lastAssessmentResultAt: new Date(Date.now() - 25 * 3_600_000).toISOString() })
        .where("id", "=", id)
        .execute(),
    );
    expect(await run()).toBe(1);
  });

  it("records a failed result if the plan failed", async () => {
    const { id } = await assessed();
    await run();
    await end((await underway(id)).id, "phase-errored");
    await run();
    expect((await resultOf(id)).attributes).toMatchObject({
      succeeded: false,
      drifted: false,
      "error-msg": "The plan failed. See its log for the reason.",
    });
  });

  it("is canceled without a result by a run that starts in the meantime", async () => {
    const { id } = await assessed();
    await run();
    const assessing = await underway(id);
    await makeRun(org.owner, id);
    expect(data(await org.owner.get(`/runs/${assessing.id}`)).attributes.status).toBe("canceled");
    const events = data(await org.owner.get(`/runs/${assessing.id}/run-events`));
    expect(JSON.stringify(events)).toContain("Another run of the workspace has started.");
    await run();
    expect((await show(id)).relationships["current-assessment-result"].data).toBeNull();
  });

  it("is canceled by a pending run that starts with an unlock; its engine is interrupted", async () => {
    const { id } = await assessed();
    await run();
    const assessing = await underway(id);
    await applyTransition(api, assessing.id, { event: "claim" });
    await org.owner.post(`/workspaces/${id}/actions/lock`);
    await makeRun(org.owner, id);
    const shown = async () => data(await org.owner.get(`/runs/${assessing.id}`)).attributes;
    expect((await shown())["canceled-at"]).toBeNull();
    await org.owner.post(`/workspaces/${id}/actions/unlock`);
    expect(await shown()).toMatchObject({ status: "planning", "canceled-at": expect.any(String) });
    await applyTransition(api, assessing.id, { event: "phase-errored" });
    expect((await shown()).status).toBe("canceled");
    await run();
  });

  it("skips workspaces that have it disabled, were never applied, or failed last, and does nothing in the self-hosted edition", async () => {
    const unwanted = await makeRunnable(api, org.name);
    await apply(unwanted.id);
    await makeRunnable(api, org.name, { "assessments-enabled": true });
    const failed = await assessed();
    const { id } = await makeRun(org.owner, failed.id);
    await applyTransition(api, id, { event: "claim" });
    await applyTransition(api, id, { event: "phase-errored" });
    expect(await run()).toBe(0);
    await assessed();
    expect(await runAssessments(jobContextOf(api, { edition: "self-hosted" }))).toBe(0);
    expect(await run()).toBe(1);
  });
});

describe("showAssessmentResult and its outputs", () => {
  it("shows the result to readers, and the engine's output only to admins", async () => {
    const { id } = await assessed();
    await run();
    await end((await underway(id)).id);
    await run();
    const result = await resultOf(id);
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(id, team.id, "write");
    const [writer, stranger] = [await api.makeMember(org.name, [team.id]), await api.makeMember(org.name)];
    const token = await api.makeOrganizationToken(org.name);
    expect((await writer.get(result.links.self)).status).toBe(200);
    expect((await stranger.get(result.links.self)).status).toBe(404);
    expect((await org.owner.get(result.links["json-output"])).body).toEqual(JSON.parse(plan));
    expect((await org.owner.get(result.links["log-output"])).body).toBe("\u0002\u0003");
    expect((await org.owner.get(result.links["json-schema"])).status).toBe(404);
    for (const name of ["json-output", "json-schema", "log-output"])
      for (const caller of [writer, token]) expect((await caller.get(result.links[name])).status, name).toBe(403);
  });
});

describe("findingsOf", () => {
  it("finds nothing in an input that is not a plan", () => {
    for (const odd of [null, 7, [], { resource_drift: "x", checks: [null] }, { resource_drift: [null, {}] }])
      expect(findingsOf(summaryOf(odd), 3)).toMatchObject({ drifted: 0, resourcesDrifted: 0, resourcesUndrifted: 3 });
  });
});
