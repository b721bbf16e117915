/** Which phase of a run writes state: the apply alone, over HTTP with the tokens that an agent is given. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  grantWorkspace,
  makeMember,
  makeOrganization,
  makeTeam,
  type Member,
  type Org,
} from "../../../support/builders.ts";
import { type Agent, type Job, makeAgent, makeSitePool } from "../../../support/machines.ts";
import { makeRun, makeRunnable, passCoolOff } from "../../../support/runs.ts";
import {
  announced,
  inRequest,
  lock,
  managed,
  post,
  put,
  stateOf,
  unlock,
  writeState,
} from "../../../support/states.ts";
import { setVersion, uploadUrlOf } from "./support.ts";

const api = useApi();
let org: Org;
let agent: Agent;
let planner: Member;
let workspace: Json;
let genuine: string;

beforeAll(async () => {
  org = await makeOrganization(api);
  agent = await makeAgent(api, await makeSitePool(api));
});

beforeEach(async () => {
  workspace = await makeRunnable(api, org.name, { "terraform-version": "1.9.5" });
  const team = await makeTeam(api, org.name);
  await grantWorkspace(api, org.id, workspace.id, team.id, "plan");
  planner = await makeMember(api, org.name, [team.id]);
  genuine = (await writeState(org.owner, workspace.id, stateOf({ serial: 1 }))).id;
});

const forged = (serial: number): string => stateOf({ serial, resources: [managed("forged")] });

async function currentId(): Promise<string> {
  return data(await org.owner.get(`/workspaces/${workspace.id}/current-state-version`)).id;
}

const discard = async (runId: string) =>
  expect((await org.owner.post(`/runs/${runId}/actions/discard`)).status).toBe(202);

/** A run whose plan is executed, by the planner unless somebody else is named. */
async function planning(attributes: object = {}, caller = planner): Promise<{ id: string; job: Job }> {
  const { id } = await makeRun(caller, workspace.id, attributes);
  return { id, job: await agent.job() };
}

/** The same run, confirmed, while its apply is executed. */
async function applying(): Promise<{ id: string; job: Job }> {
  const { id, job } = await planning();
  expect((await job.act("finish", { result: "finished", "has-changes": true })).status).toBe(204);
  expect((await org.owner.post(`/runs/${id}/actions/apply`)).status).toBe(202);
  return { id, job: await agent.job() };
}

describe("the token of a run that plans", () => {
  it("403: writes no state, with its content or without, however the run goes on", async () => {
    const { id, job } = await planning();
    for (const attributes of [inRequest(forged(2)), announced(forged(2)), inRequest(forged(2), { force: true })]) {
      const answer = await post(job.run, workspace.id, attributes);
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("can-create-state-versions");
    }
    const back = {
      data: {
        type: "state-versions",
        relationships: { "rollback-state-version": { data: { type: "state-versions", id: genuine } } },
      },
    };
    expect((await job.run.patch(`/workspaces/${workspace.id}/state-versions`, back)).status).toBe(404);
    for (const action of ["lock", "unlock", "force-unlock"])
      expect((await job.run.post(`/workspaces/${workspace.id}/actions/${action}`)).status, action).toBe(404);
    await job.act("finish", { result: "finished", "has-changes": true });
    await discard(id);
    await lock(org.owner, workspace.id);
    await unlock(org.owner, workspace.id);
    expect(await currentId()).toBe(genuine);
    expect((await org.owner.get(`/workspaces/${workspace.id}/state-versions`)).body.data).toHaveLength(1);
  });

  it("403: writes no state as a plan-only run or as one that saves its plan", async () => {
    for (const attributes of [{ "plan-only": true }, { "save-plan": true }]) {
      const { job } = await planning(attributes);
      expect((await post(job.run, workspace.id, inRequest(forged(2)))).status).toBe(403);
      await job.act("finish", { result: "finished", "has-changes": false });
    }
  });

  it("shows the workspace without the permission to write state, which the apply's token has", async () => {
    const { id, job } = await planning();
    const held = async (by: Job) => data(await by.run.get(`/workspaces/${workspace.id}`)).attributes.permissions;
    expect(await held(job)).toMatchObject({ "can-read-state-versions": true, "can-create-state-versions": false });
    await job.act("finish", { result: "finished", "has-changes": true });
    await org.owner.post(`/runs/${id}/actions/apply`);
    const apply = await agent.job();
    expect(await held(apply)).toMatchObject({ "can-read-state-versions": true, "can-create-state-versions": true });
    await apply.act("finish", { result: "finished" });
  });
});

describe("state that was written before the apply began", () => {
  /** As a server that still let plans write would have left it. */
  async function leftByPlan(run: { readonly id: string; readonly job: Job }, status = "finalized"): Promise<string> {
    const planId = data(await org.owner.get(`/runs/${run.id}`)).relationships.plan.data.id;
    await run.job.act("finish", { result: "finished", "has-changes": true });
    await org.owner.post(`/runs/${run.id}/actions/apply`);
    const apply = await agent.job();
    const version = data(await post(apply.run, workspace.id, inRequest(forged(9))));
    await setVersion(api, version.id, { createdByTokenId: planId, status });
    await apply.act("finish", { result: "finished" });
    return version.id;
  }

  it("does not become current with the run's end, nor with the next lock, and is in nobody's way", async () => {
    const left = await leftByPlan(await planning());
    expect(await currentId()).toBe(genuine);
    await lock(org.owner, workspace.id);
    await unlock(org.owner, workspace.id);
    expect(await currentId()).toBe(genuine);
    expect(data(await org.owner.get(`/state-versions/${left}`)).attributes).toMatchObject({
      status: "discarded",
      intermediate: false,
    });
    const next = await writeState(org.owner, workspace.id, stateOf({ serial: 2 }));
    expect(await currentId()).toBe(next.id);
  });

  it("does not become current where somebody else's lock follows it", async () => {
    await lock(org.owner, workspace.id);
    const version = data(await post(org.owner, workspace.id, inRequest(forged(2))));
    await setVersion(api, version.id, { createdByKind: "run", createdById: "run-1", createdByTokenId: "plan-1" });
    await unlock(org.owner, workspace.id);
    expect(await currentId()).toBe(genuine);
  });

  it("does not become current where it was written under an earlier lock", async () => {
    await lock(org.owner, workspace.id);
    const version = data(await post(org.owner, workspace.id, inRequest(forged(2))));
    await setVersion(api, version.id, { createdById: planner.id });
    const own = data(await post(org.owner, workspace.id, inRequest(stateOf({ serial: 3 }))));
    await unlock(org.owner, workspace.id);
    expect(await currentId()).toBe(own.id);
  });
});

describe("state that an apply writes", () => {
  it("becomes current when the run ends, also by a failure", async () => {
    for (const [serial, result] of [
      [2, "finished"],
      [3, "errored"],
    ] as const) {
      const { job } = await applying();
      const version = data(await post(job.run, workspace.id, inRequest(stateOf({ serial }))));
      expect(await currentId()).not.toBe(version.id);
      await job.act("finish", { result });
      expect(await currentId(), result).toBe(version.id);
    }
  });

  it("becomes current when the run is canceled, and when that is forced", async () => {
    for (const serial of [2, 3]) {
      const { id, job } = await applying();
      const pending = data(await post(job.run, workspace.id, announced(stateOf({ serial }))));
      expect((await put(uploadUrlOf(pending), stateOf({ serial }))).status).toBe(204);
      await org.owner.post(`/runs/${id}/actions/cancel`);
      if (serial === 2) await job.act("finish", { result: "errored" });
      else {
        await passCoolOff(api, id);
        expect((await org.owner.post(`/runs/${id}/actions/force-cancel`)).status).toBe(202);
      }
      expect(await currentId()).toBe(pending.id);
    }
  });
});
