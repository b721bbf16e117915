/** Who may do what with a workspace's state: every level, and strangers. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Api, type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeTeam,
  makeTeamWorkspace,
  makeWorkspace,
  type Org,
} from "../../../support/builders.ts";
import { inRequest, lock, managed, post, stateOf, writeState } from "../../../support/states.ts";

const api = useApi();
let org: Org;
let workspace: Json;
let version: Json;
let outputId: string;
let hiddenId: string;
beforeAll(async () => {
  org = await makeOrganization(api);
  workspace = await makeWorkspace(api, org.name);
  const outputs = {
    hidden: { value: "hidden", type: "string", sensitive: true },
    open: { value: "open", type: "string" },
  };
  version = await writeState(org.owner, workspace.id, stateOf({ outputs, resources: [managed("one")] }));
  const found = data(await org.owner.get(`/state-versions/${version.id}/outputs`));
  [hiddenId, outputId] = found.map(({ id }: Json) => id);
});

/** Everything that can be asked about state, with what it needs. */
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
  create: async (caller) => (await post(caller, workspace.id, inRequest(stateOf({ serial: 2 })))).status,
};

const state = ["list", "list by names", "show", "current", "download"];
const outputs = ["list outputs", "list current outputs", "show output", "show sensitive output"];
/** 409 is what a caller gets who may write, without the lock. */
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
  const team = await makeTeam(api, org.name);
  await makeTeamWorkspace(api, workspace.id, team.id, attributes);
  return makeMember(api, org.name, [team.id]);
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
    // The content of the state in force stays, so whoever may remove contents is told that.
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

  it("the refusals name what is missing", async () => {
    const caller = await memberWith({ access: "custom", "state-versions": "none" });
    const { body } = await caller.get(`/state-versions/${version.id}`);
    expect(body.errors[0].detail).toContain("'read' on the workspace's state versions");
    const written = await post(caller, workspace.id, inRequest(stateOf({ serial: 2 })));
    expect(written.body.errors[0].detail).toContain("'write' on the workspace's state versions");
  });

  it("an owner, a site admin and the organization's token read all; the token writes nothing", async () => {
    for (const caller of [org.owner, api.admin]) expect(await all(caller)).toEqual(expected(true, true, true));
    expect(await all(await makeOrganizationToken(api, org.name))).toEqual(expected(true, true, false));
  });
});

describe("nobody", () => {
  const nothing = () => Object.fromEntries(Object.keys(requests).map((name) => [name, 404]));

  it("a member without access, another organization's owner and its token: 404", async () => {
    const other = await makeOrganization(api);
    for (const caller of [await makeMember(api, org.name), other.owner, await makeOrganizationToken(api, other.name)])
      expect(await all(caller)).toEqual(nothing());
  });

  it("without a token: 401", async () => {
    expect(new Set(Object.values(await all(api.nobody)))).toEqual(new Set([401]));
  });
});

describe("sensitive values", () => {
  const valuesOf = async (caller: Caller, path: string): Promise<unknown[]> =>
    data(await caller.get(path)).map(({ attributes }: Json) => attributes.value);

  it("a version's outputs show them to whoever may read the state itself, and to nobody else", async () => {
    const path = `/state-versions/${version.id}/outputs`;
    expect(await valuesOf(await memberWith({ access: "read" }), path)).toEqual(["hidden", "open"]);
    const lesser = await memberWith({ access: "custom", "state-versions": "read-outputs" });
    expect(await valuesOf(lesser, path)).toEqual([null, "open"]);
  });

  it("an output by its id shows its value to whoever may read outputs", async () => {
    const lesser = await memberWith({ access: "custom", "state-versions": "read-outputs" });
    expect(data(await lesser.get(`/state-version-outputs/${hiddenId}`)).attributes.value).toBe("hidden");
  });

  it("lists and includes show them to nobody", async () => {
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

  it("include=outputs shows nothing to whoever may not read outputs", async () => {
    const blind = await memberWith({ access: "custom", "state-versions": "none" });
    for (const path of [`/workspaces/${workspace.id}`, `/organizations/${org.name}/workspaces`])
      expect((await blind.get(`${path}?include=outputs`)).body.included).toEqual([]);
  });
});

describe("custom write without the permission to lock", () => {
  it("writes as soon as it holds the lock, which it can't get by itself", async () => {
    const own: Api = api;
    const place = await makeWorkspace(own, org.name);
    const team = await makeTeam(own, org.name);
    await makeTeamWorkspace(own, place.id, team.id, { access: "custom", "state-versions": "write" });
    const writer = await makeMember(own, org.name, [team.id]);
    expect((await writer.post(`/workspaces/${place.id}/actions/lock`)).status).toBe(404);
    expect((await post(writer, place.id, inRequest(stateOf()))).status).toBe(409);
    const locking = await makeTeam(own, org.name);
    await makeTeamWorkspace(own, place.id, locking.id, {
      access: "custom",
      "state-versions": "write",
      "workspace-locking": true,
    });
    const engine = await makeMember(own, org.name, [locking.id]);
    await lock(engine, place.id);
    expect((await post(engine, place.id, inRequest(stateOf()))).status).toBe(201);
  });
});
