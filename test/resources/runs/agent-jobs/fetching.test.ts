/** Agents that fetch engines: what they can claim, jobs that they return, and which version a workspace gets. */
import { beforeEach, describe, expect, it } from "vitest";
import { shippedReleases } from "../../../../src/database/migrations/0008-identity.ts";
import { jobOf, makePool, type Job, type Pool } from "../../../support/agent-callers.ts";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, type Org, resource } from "../../../support/builders.ts";
import { applyTransition, makeRun, makeRunnable, showRun } from "../../../support/runs.ts";

const api = useApi();
let org: Org;
let pool: Pool;
const installed = { terraform: ["1.5.7"], tofu: ["1.8.0"] };

beforeEach(async () => {
  org = await makeOrganization(api);
  pool = await makePool(api, org);
});

const register = async (isFetching: boolean | undefined, engines: object = installed): Promise<Json> =>
  data(
    await pool.agent.post(
      "/agents",
      resource("agents", { name: "one", engines, ...(isFetching !== undefined && { "fetches-engines": isFetching }) }),
    ),
  );
const runnable = (attributes: object = {}): Promise<Json> =>
  makeRunnable(api, org.name, { "execution-mode": "agent", "agent-pool-id": pool.id, ...attributes });
const claim = (agent: Json, unavailable?: object[], wait = 0): Promise<Answer> =>
  pool.agent.post(`/agents/${agent.id}/actions/claim`, {
    wait,
    engines: installed,
    ...(unavailable !== undefined && { "unavailable-engines": unavailable }),
  });
const jobIn = (answer: Answer): Job => {
  expect(answer.status).toBe(200);
  return jobOf(api, pool.agent, answer.body.data);
};
const outage = { engine: "terraform", version: "1.9.5", reason: "mirror.example can't be reached (ECONNREFUSED)" };

describe("claimJob", () => {
  it("gives a version that the agent lacks only to one that fetches it, and not while it is unavailable", async () => {
    await makeRun(org.owner, (await runnable({ "terraform-version": "1.9.5" })).id);
    expect((await claim(await register(undefined))).status).toBe(204);
    expect((await claim(await register(false))).status).toBe(204);
    const agent = await register(true);
    expect(agent.attributes).toMatchObject({ "fetches-engines": true, "unavailable-engines": [] });
    expect((await claim(agent, [outage])).status).toBe(204);
    const { attributes } = data(await org.owner.get(`/agents/${agent.id}`));
    expect(attributes["unavailable-engines"]).toEqual([outage]);
    expect((await claim(agent, [{ ...outage, version: "1.9.4" }])).status).toBe(200);
  });

  it("an unavailable version that is installed can be claimed", async () => {
    await makeRun(org.owner, (await runnable({ "terraform-version": "1.5.7" })).id);
    expect((await claim(await register(true), [{ ...outage, version: "1.5.7" }])).status).toBe(200);
  });

  it("422 for a report that is too long", async () => {
    const agent = await register(true);
    for (const unavailable of [
      Array.from({ length: 101 }, () => outage),
      [{ ...outage, reason: "x".repeat(501) }],
      [{ version: "1.9.5" }],
    ])
      expect((await claim(agent, unavailable)).status).toBe(422);
  });
});

describe("finishJob with returned", () => {
  it("queues the plan again, with the reason in waiting-for, and not for this agent's waiting claims", async () => {
    const run = await makeRun(org.owner, (await runnable({ "terraform-version": "1.9.5" })).id);
    const agent = await register(true);
    const job = jobIn(await claim(agent, []));
    expect((await job.act("finish", { result: "returned", "error-message": outage.reason })).status).toBe(204);
    const { attributes } = await showRun(org.owner, run.id);
    expect(attributes.status).toBe("plan_queued");
    expect(attributes["waiting-for"]).toMatch(
      /^Waiting for an agent of the pool \S+ with Terraform 1\.9\.5: none of them has it, and it can't be fetched \(mirror\.example can't be reached \(ECONNREFUSED\)\)\.$/,
    );
    // A claim of another slot, whose report is older than the fault, counts as a report: the agent's next one has it.
    await pool.agent.post(`/agents/${agent.id}/actions/ping`, { status: "idle", "unavailable-engines": [outage] });
    expect((await claim(agent, [outage])).status).toBe(204);
    const other = await register(true);
    const again = jobIn(await claim(other, []));
    expect(again.attempt).toBe(2);
    expect((await job.act("finish", { result: "returned" })).status).toBe(409);
  });

  it("queues an apply again; a canceled run ends instead", async () => {
    const workspace = await runnable({ "terraform-version": "1.9.5" });
    const run = await makeRun(org.owner, workspace.id);
    const agent = await register(true);
    await jobIn(await claim(agent, [])).act("finish", { result: "finished", "has-changes": true });
    await applyTransition(api, run.id, { event: "apply" });
    const apply = jobIn(await claim(agent, []));
    expect(apply.attributes.phase).toBe("apply");
    await apply.act("finish", { result: "returned", "error-message": "x" });
    expect((await showRun(org.owner, run.id)).attributes.status).toBe("apply_queued");
    const again = jobIn(await claim(agent, []));
    expect((await org.owner.post(`/runs/${run.id}/actions/cancel`)).status).toBe(202);
    await again.act("finish", { result: "returned", "error-message": "x" });
    expect((await showRun(org.owner, run.id)).attributes.status).toBe("canceled");
  });

  it("409 once the engine has started: its work is not repeated", async () => {
    const run = await makeRun(org.owner, (await runnable({ "terraform-version": "1.9.5" })).id);
    const job = jobIn(await claim(await register(true), []));
    await job.act("start");
    const answer = await job.act("finish", { result: "returned", "error-message": "x" });
    expect(answer.status).toBe(409);
    expect((await showRun(org.owner, run.id)).attributes.status).toBe("planning");
  });
});

describe("a workspace without a version", () => {
  const versionOf = async (attributes: object = {}): Promise<string> =>
    (await runnable(attributes)).attributes["terraform-version"];

  it("gets the newest known one if no agent has registered, or if it runs locally", async () => {
    expect(await versionOf()).toBe(shippedReleases.at(-1));
    await register(false);
    expect(await versionOf({ "execution-mode": "local", "agent-pool-id": undefined })).toBe(shippedReleases.at(-1));
  });

  it("gets the newest that an agent of its pool has", async () => {
    await register(false, { terraform: ["1.5.7", "1.9.8", "1.12.0-beta1"], tofu: ["1.8.0"] });
    expect(await versionOf()).toBe("1.9.8");
    expect(await versionOf({ engine: "tofu" })).toBe("1.8.0");
  });

  it("gets the newest known one if an agent of its pool fetches it", async () => {
    await register(true);
    expect(await versionOf()).toBe(shippedReleases.at(-1));
    expect(await versionOf({ engine: "tofu" })).toBe("1.12.6");
  });

  it("gets what the last agent of its pool could execute, if none is running", async () => {
    const end = async ({ id }: Json) => expect((await pool.agent.delete(`/agents/${id}`)).status).toBe(204);
    await end(await register(false));
    expect(await versionOf()).toBe("1.5.7");
    await end(await register(true));
    expect(await versionOf()).toBe(shippedReleases.at(-1));
    await register(false);
    expect(await versionOf()).toBe("1.5.7");
  });

  it("the same for constraints, when a run is created", async () => {
    const workspace = await runnable({ "terraform-version": ">= 1.5.0" });
    const versionOfRun = async () => (await makeRun(org.owner, workspace.id)).attributes["terraform-version"];
    await register(false);
    expect(await versionOfRun()).toBe("1.5.7");
    await register(true);
    expect(await versionOfRun()).toBe(shippedReleases.at(-1));
  });
});
