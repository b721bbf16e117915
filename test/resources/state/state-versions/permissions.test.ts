/**
 * Access to a workspace's state for every level and for strangers. Only the apply phase of a run can write state;
 * tested over HTTP with the tokens of agents.
 */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Api, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org } from "../../../support/builders.ts";
import { type Agent, type Job, makeAgent, makeSitePool } from "../../../support/agent-callers.ts";
import { makeRun, makeRunnable, passCoolOff } from "../../../support/runs.ts";
import {
  pendingStateAttributes,
  stateAttributes,
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
let workspace: Json;

describe("permissions", () => {
  let version: Json;
  let outputId: string;
  let hiddenId: string;
  beforeAll(async () => {
    org = await api.makeOrganization();
    workspace = await api.makeWorkspace(org.name);
    const outputs = {
      hidden: { value: "hidden", type: "string", sensitive: true },
      open: { value: "open", type: "string" },
    };
    version = await writeState(org.owner, workspace.id, stateOf({ outputs, resources: [managed("one")] }));
    const found = data(await org.owner.get(`/state-versions/${version.id}/outputs`));
    [hiddenId, outputId] = found.map(({ id }: Json) => id);
  });

  /** Every request about state, with the permission that it needs. */
  const requests: Record<string, (caller: Caller) => Promise<number>> = {
    list: async (caller) => (await caller.get(`/workspaces/${workspace.id}/state-versions`)).status,
    "list by names": async (caller) =>
      (
        await caller.get(
          `/state-versions?filter[organization][name]=${org.name}&filter[workspace][name]=${workspace.attributes.name}`,
        )
      ).status,
    show: async (caller) => (await caller.get(`/state-versions/${version.id}`)).status,
    current: async (caller) => (await caller.get(`/workspaces/${workspace.id}/current-state-version`)).status,
    download: async (caller) => (await caller.get(`/state-versions/${version.id}/download`)).status,
    "list outputs": async (caller) => (await caller.get(`/state-versions/${version.id}/outputs`)).status,
    "list current outputs": async (caller) =>
      (await caller.get(`/workspaces/${workspace.id}/current-state-version-outputs`)).status,
    "show output": async (caller) => (await caller.get(`/state-version-outputs/${outputId}`)).status,
    "show sensitive output": async (caller) => (await caller.get(`/state-version-outputs/${hiddenId}`)).status,
    resources: async (caller) => (await caller.get(`/workspaces/${workspace.id}/resources`)).status,
    create: async (caller) => (await post(caller, workspace.id, stateAttributes(stateOf({ serial: 2 })))).status,
  };

  const state = ["list", "list by names", "show", "current", "download"];
  const outputs = ["list outputs", "list current outputs", "show output", "show sensitive output"];
  /** 409 means that the caller can write, but does not hold the lock. */
  const expected = (readsOutputs: boolean, readsState: boolean, writes: boolean): Record<string, number> => ({
    ...Object.fromEntries(state.map((name) => [name, readsState ? 200 : 403])),
    ...Object.fromEntries(outputs.map((name) => [name, readsOutputs ? 200 : 403])),
    resources: 200,
    create: writes ? 409 : 403,
  });
  const all = async (caller: Caller): Promise<Record<string, number>> => {
    const statuses: Record<string, number> = {};
    for (const [name, request] of Object.entries(requests)) statuses[name] = await request(caller);
    return statuses;
  };

  async function memberWith(attributes: object): Promise<Caller> {
    const team = await api.makeTeam(org.name);
    await api.makeTeamWorkspace(workspace.id, team.id, attributes);
    return api.makeMember(org.name, [team.id]);
  }

  describe("levels", () => {
    it.each<[string, object, Record<string, number>]>([
      ["read", { access: "read" }, expected(true, true, false)],
      ["plan", { access: "plan" }, expected(true, true, false)],
      ["write", { access: "write" }, expected(true, true, true)],
      ["admin", { access: "admin" }, expected(true, true, true)],
      ["custom: none", { access: "custom", "state-versions": "none" }, expected(false, false, false)],
      ["custom: read-outputs", { access: "custom", "state-versions": "read-outputs" }, expected(true, false, false)],
      ["custom: read", { access: "custom", "state-versions": "read" }, expected(true, true, false)],
      ["custom: write", { access: "custom", "state-versions": "write" }, expected(true, true, true)],
    ])("%s", async (_, attributes, statuses) => {
      expect(await all(await memberWith(attributes))).toEqual(statuses);
    });

    it.each<[string, object, boolean, boolean]>([
      ["read", { access: "read" }, false, false],
      ["write", { access: "write" }, true, false],
      ["admin", { access: "admin" }, true, true],
      ["custom: read", { access: "custom", "state-versions": "read" }, false, false],
      ["custom: write", { access: "custom", "state-versions": "write" }, true, false],
    ])("documents promise what requests get: %s", async (_, attributes, writes, updates) => {
      const caller = await memberWith(attributes);
      const statuses = await all(caller);
      // The content of the current state can't be deleted, so callers with the permission get a 409.
      const removal = await caller.post(`/state-versions/${version.id}/actions/soft_delete_backing_data`);
      const promised = {
        "can-read-state-versions": statuses["download"] === 200,
        "can-read-state-outputs": statuses["list outputs"] === 200,
        "can-create-state-versions": statuses["create"] === 409,
        "can-update": removal.status === 409,
      };
      expect(data(await caller.get(`/state-versions/${version.id}`)).attributes.permissions).toEqual(promised);
      const listed = data(await caller.get(`/workspaces/${workspace.id}/state-versions`));
      expect(listed[0].attributes.permissions).toEqual(promised);
      expect([promised["can-create-state-versions"], promised["can-update"]]).toEqual([writes, updates]);
    });

    it("the refusals name the missing permission", async () => {
      const caller = await memberWith({ access: "custom", "state-versions": "none" });
      const { body } = await caller.get(`/state-versions/${version.id}`);
      expect(body.errors[0].detail).toContain("'read' on the workspace's state versions");
      const written = await post(caller, workspace.id, stateAttributes(stateOf({ serial: 2 })));
      expect(written.body.errors[0].detail).toContain("'write' on the workspace's state versions");
    });

    it("an owner, a site admin and the organization's token read all; the token writes nothing", async () => {
      for (const caller of [org.owner, api.admin]) expect(await all(caller)).toEqual(expected(true, true, true));
      expect(await all(await api.makeOrganizationToken(org.name))).toEqual(expected(true, true, false));
    });
  });

  describe("without a token", () => {
    const nothing = () => Object.fromEntries(Object.keys(requests).map((name) => [name, 404]));

    it("a member without access, another organization's owner and its token: 404", async () => {
      const other = await api.makeOrganization();
      for (const caller of [await api.makeMember(org.name), other.owner, await api.makeOrganizationToken(other.name)])
        expect(await all(caller)).toEqual(nothing());
    });
  });

  describe("sensitive values", () => {
    const valuesOf = async (caller: Caller, path: string): Promise<unknown[]> =>
      data(await caller.get(path)).map(({ attributes }: Json) => attributes.value);

    it("a version's outputs show them only to callers who can read the state", async () => {
      const path = `/state-versions/${version.id}/outputs`;
      expect(await valuesOf(await memberWith({ access: "read" }), path)).toEqual(["hidden", "open"]);
      const lesser = await memberWith({ access: "custom", "state-versions": "read-outputs" });
      expect(await valuesOf(lesser, path)).toEqual([null, "open"]);
    });

    it("an output by its id shows its value to callers who can read outputs", async () => {
      const lesser = await memberWith({ access: "custom", "state-versions": "read-outputs" });
      expect(data(await lesser.get(`/state-version-outputs/${hiddenId}`)).attributes.value).toBe("hidden");
    });

    it("lists and includes never show them", async () => {
      const path = `/workspaces/${workspace.id}/current-state-version-outputs`;
      for (const caller of [org.owner, api.admin]) expect(await valuesOf(caller, path)).toEqual([null, "open"]);
      for (const included of [
        `/workspaces/${workspace.id}?include=outputs`,
        `/organizations/${org.name}/workspaces?include=outputs`,
        `/state-versions/${version.id}?include=outputs`,
      ]) {
        const { body } = await org.owner.get(included);
        expect(body.included.map(({ attributes }: Json) => attributes.value)).toEqual([null, "open"]);
      }
    });

    it("include=outputs shows nothing to callers who can't read outputs", async () => {
      const blind = await memberWith({ access: "custom", "state-versions": "none" });
      for (const path of [`/workspaces/${workspace.id}`, `/organizations/${org.name}/workspaces`])
        expect((await blind.get(`${path}?include=outputs`)).body.included).toEqual([]);
    });
  });

  describe("custom write without the permission to lock", () => {
    it("can write once it holds the lock, which it can't get on its own", async () => {
      const own: Api = api;
      const place = await own.makeWorkspace(org.name);
      const team = await own.makeTeam(org.name);
      await own.makeTeamWorkspace(place.id, team.id, { access: "custom", "state-versions": "write" });
      const writer = await own.makeMember(org.name, [team.id]);
      expect((await writer.post(`/workspaces/${place.id}/actions/lock`)).status).toBe(404);
      expect((await post(writer, place.id, stateAttributes(stateOf()))).status).toBe(409);
      const locking = await own.makeTeam(org.name);
      await own.makeTeamWorkspace(place.id, locking.id, {
        access: "custom",
        "state-versions": "write",
        "workspace-locking": true,
      });
      const engine = await own.makeMember(org.name, [locking.id]);
      await lock(engine, place.id);
      expect((await post(engine, place.id, stateAttributes(stateOf()))).status).toBe(201);
    });
  });
});

describe("run phases", () => {
  let agent: Agent;
  let planner: Member;
  let genuine: string;

  beforeAll(async () => {
    org = await api.makeOrganization();
    agent = await makeAgent(api, await makeSitePool(api));
  });

  beforeEach(async () => {
    workspace = await makeRunnable(api, org.name, { "terraform-version": "1.9.5" });
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, team.id, "plan");
    planner = await api.makeMember(org.name, [team.id]);
    genuine = (await writeState(org.owner, workspace.id, stateOf({ serial: 1 }))).id;
  });

  const forged = (serial: number): string => stateOf({ serial, resources: [managed("forged")] });

  async function currentId(): Promise<string> {
    return data(await org.owner.get(`/workspaces/${workspace.id}/current-state-version`)).id;
  }

  const discard = async (runId: string) =>
    expect((await org.owner.post(`/runs/${runId}/actions/discard`)).status).toBe(202);

  /** A run whose plan is executed, by the planner unless another caller is named. */
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
      for (const attributes of [
        stateAttributes(forged(2)),
        pendingStateAttributes(forged(2)),
        stateAttributes(forged(2), { force: true }),
      ]) {
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
        expect((await post(job.run, workspace.id, stateAttributes(forged(2)))).status).toBe(403);
        await job.act("finish", { result: "finished", "has-changes": false });
      }
    });

    it("shows the workspace without the permission to write state, which the apply's token has", async () => {
      const { id, job } = await planning();
      const permissionsShownTo = async (by: Job) =>
        data(await by.run.get(`/workspaces/${workspace.id}`)).attributes.permissions;
      expect(await permissionsShownTo(job)).toMatchObject({
        "can-read-state-versions": true,
        "can-create-state-versions": false,
      });
      await job.act("finish", { result: "finished", "has-changes": true });
      await org.owner.post(`/runs/${id}/actions/apply`);
      const apply = await agent.job();
      expect(await permissionsShownTo(apply)).toMatchObject({
        "can-read-state-versions": true,
        "can-create-state-versions": true,
      });
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
      const version = data(await post(apply.run, workspace.id, stateAttributes(forged(9))));
      await setVersion(api, version.id, { createdByTokenId: planId, status });
      await apply.act("finish", { result: "finished" });
      return version.id;
    }

    it("does not become current when the run ends, nor with the next lock, and blocks nothing", async () => {
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

    it("does not become current with another caller's next lock", async () => {
      await lock(org.owner, workspace.id);
      const version = data(await post(org.owner, workspace.id, stateAttributes(forged(2))));
      await setVersion(api, version.id, { createdByKind: "run", createdById: "run-1", createdByTokenId: "plan-1" });
      await unlock(org.owner, workspace.id);
      expect(await currentId()).toBe(genuine);
    });

    it("does not become current where it was written under an earlier lock", async () => {
      await lock(org.owner, workspace.id);
      const version = data(await post(org.owner, workspace.id, stateAttributes(forged(2))));
      await setVersion(api, version.id, { createdById: planner.id });
      const own = data(await post(org.owner, workspace.id, stateAttributes(stateOf({ serial: 3 }))));
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
        const version = data(await post(job.run, workspace.id, stateAttributes(stateOf({ serial }))));
        expect(await currentId()).not.toBe(version.id);
        await job.act("finish", { result });
        expect(await currentId(), result).toBe(version.id);
      }
    });

    it("becomes current when the run is canceled, and when that is forced", async () => {
      for (const serial of [2, 3]) {
        const { id, job } = await applying();
        const pending = data(await post(job.run, workspace.id, pendingStateAttributes(stateOf({ serial }))));
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
});
