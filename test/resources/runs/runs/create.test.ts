/** POST /runs: what a run is when it begins, and what can't be run. */
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, type Org } from "../../../support/builders.ts";
import { bring, happen, makeRun, makeRunnable, showRun } from "../../../support/runs.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
});

describe("createRun", () => {
  it("201: queued at once in a free workspace, with its plan, its apply and its events", async () => {
    const workspace = await makeRunnable(api, org.name);
    const run = await makeRun(org.owner, workspace.id);
    expect(run.attributes).toMatchObject({
      status: "plan_queued",
      message: "Queued manually via the Terraform Enterprise API",
      "is-destroy": false,
      refresh: true,
      "refresh-only": false,
      "plan-only": false,
      "save-plan": false,
      "auto-apply": false,
      "allow-empty-apply": false,
      "allow-config-generation": false,
      "debugging-mode": false,
      "target-addrs": null,
      "replace-addrs": null,
      variables: [],
      source: "tfe-api",
      "trigger-reason": "manual",
      "has-changes": false,
      "canceled-at": null,
      "force-cancel-available-at": null,
      "position-in-queue": 1,
      engine: "terraform",
      actions: {
        "is-cancelable": true,
        "is-confirmable": false,
        "is-discardable": false,
        "is-force-cancelable": false,
      },
    });
    expect(Object.keys(run.attributes["status-timestamps"]).toSorted()).toEqual([
      "plan-queueable-at",
      "plan-queued-at",
    ]);
    expect(run.relationships["run-events"].data.length).toBe(2);
    expect(run.relationships["created-by"].data).toMatchObject({ type: "users" });
    const plan = data(await org.owner.get(`/plans/${run.relationships.plan.data.id}`));
    expect(plan.attributes).toMatchObject({ status: "queued", "has-changes": false });
    const apply = data(await org.owner.get(`/applies/${run.relationships.apply.data.id}`));
    expect(apply.attributes.status).toBe("pending");
    const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
    expect(shown.attributes.locked).toBe(true);
    expect(shown.relationships["locked-by"].data).toEqual({ type: "runs", id: run.id });
    expect(shown.relationships["current-run"].data).toEqual({ type: "runs", id: run.id });
    const listed = await org.owner.get(`/workspaces/${workspace.id}/runs`);
    expect(listed.body.data.map((each: { id: string }) => each.id)).toEqual([run.id]);
    expect(listed.body.meta.pagination["total-count"]).toBe(1);
  });

  it("waits behind another, and comes next when that has ended", async () => {
    const workspace = await makeRunnable(api, org.name);
    const first = await makeRun(org.owner, workspace.id);
    const second = await makeRun(org.owner, workspace.id);
    expect(second.attributes.status).toBe("pending");
    expect(second.attributes["waiting-for"]).toContain(first.id);
    await bring(api, first.id, "finished");
    expect((await showRun(org.owner, first.id)).attributes.status).toBe("planned_and_finished");
    expect((await showRun(org.owner, second.id)).attributes.status).toBe("plan_queued");
    const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
    expect(shown.relationships["locked-by"].data.id).toBe(second.id);
    await happen(api, second.id, { event: "cancel" });
    const free = data(await org.owner.get(`/workspaces/${workspace.id}`));
    expect(free.attributes.locked).toBe(false);
    expect(free.relationships["current-run"].data.id).toBe(second.id);
  });
});
