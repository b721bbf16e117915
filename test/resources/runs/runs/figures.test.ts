/** The figures of a workspace over its latest runs. */
import { beforeAll, describe, expect, it } from "vitest";
import { runStatisticsOf } from "../../../../src/resources/runs/runs/rules.ts";
import type { Json } from "../../../support/api.ts";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, type Org } from "../../../support/builders.ts";
import { applyTransition, makeRun, makeRunnable } from "../../../support/runs.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
});

const names = ["workspace-kpis-runs-count", "run-failures", "policy-check-failures"] as const;
async function figures(id: string): Promise<number[]> {
  const { attributes } = data(await org.owner.get(`/workspaces/${id}`));
  return names.map((name) => attributes[name]);
}

async function end(
  workspaceId: string,
  how: "applied" | "errored" | "errored in apply" | "finished",
  given = {},
): Promise<void> {
  const run: Json = await makeRun(org.owner, workspaceId, { "auto-apply": true, ...given });
  await applyTransition(api, run.id, { event: "claim" });
  if (how === "errored") return applyTransition(api, run.id, { event: "phase-errored" });
  await applyTransition(api, run.id, { event: "phase-finished", hasChanges: how !== "finished" });
  if (how === "finished") return;
  await applyTransition(api, run.id, { event: "claim" });
  await applyTransition(api, run.id, { event: how === "applied" ? "phase-finished" : "phase-errored" });
}

describe("runStatisticsOf", () => {
  const at = (second: number) => new Date(second * 1000).toISOString();
  const phase = (start: number | undefined, end: number | undefined, name = "finished-at") =>
    JSON.stringify({
      ...(start !== undefined && { "started-at": at(start) }),
      ...(end !== undefined && { [name]: at(end) }),
    });

  it("averages phases that have started and ended, and rounds", () => {
    expect(
      runStatisticsOf([
        { status: "applied", planTimestamps: phase(0, 1), applyTimestamps: phase(2, 5) },
        { status: "errored", planTimestamps: phase(0, 2, "errored-at"), applyTimestamps: phase(undefined, undefined) },
        { status: "errored", planTimestamps: phase(0, 2), applyTimestamps: phase(undefined, 7, "canceled-at") },
      ]),
    ).toEqual({ runsCount: 3, runFailures: 2, planDurationAverage: 1667, applyDurationAverage: 3000 });
  });

  it("is 0 without any", () => {
    expect(runStatisticsOf([])).toEqual({
      runsCount: 0,
      runFailures: 0,
      planDurationAverage: 0,
      applyDurationAverage: 0,
    });
  });
});

describe("a workspace", () => {
  it("counts only applied and errored runs, when they end", async () => {
    const { id } = await makeRunnable(api, org.name);
    expect(await figures(id)).toEqual([0, 0, 0]);
    await end(id, "applied");
    expect(await figures(id)).toEqual([1, 0, 0]);
    await end(id, "errored");
    await end(id, "errored in apply");
    expect(await figures(id)).toEqual([3, 2, 0]);
    await end(id, "finished");
    await end(id, "errored", { "plan-only": true, "auto-apply": false });
    const discarded = await makeRun(org.owner, id);
    await org.owner.post(`/runs/${discarded.id}/actions/cancel`);
    expect(await figures(id)).toEqual([3, 2, 0]);
  });

  it("covers the latest 30", async () => {
    const { id } = await makeRunnable(api, org.name);
    for (let count = 0; count < 3; count += 1) await end(id, "errored");
    for (let count = 0; count < 28; count += 1) await end(id, "applied");
    expect(await figures(id)).toEqual([30, 2, 0]);
  });

  it("shows how long phases took", async () => {
    const { id } = await makeRunnable(api, org.name);
    const run = await makeRun(org.owner, id, { "auto-apply": true });
    await applyTransition(api, run.id, { event: "claim" });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await applyTransition(api, run.id, { event: "phase-errored" });
    const { attributes } = data(await org.owner.get(`/workspaces/${id}`));
    expect(attributes["plan-duration-average"]).toBeGreaterThanOrEqual(30);
    expect(attributes["apply-duration-average"]).toBe(0);
  });
});
