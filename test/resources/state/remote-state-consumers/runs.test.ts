/**
 * What a run's token can read of other workspaces: only the state of those that share it, in each of the three ways.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Org, resource } from "../../../support/builders.ts";
import { mainTf, uploadConfiguration } from "../../../support/configurations.ts";
import { makeRunCaller, type RunCaller } from "../../../support/agent-callers.ts";
import { stateAttributes, post, put, pendingStateAttributes, stateOf, writeState } from "../../../support/states.ts";

const api = useApi();
let org: Org;
let reader: Json;
let run: RunCaller;

const state = stateOf({ outputs: { address: { value: "10.0.0.1", type: "string" } } });

beforeAll(async () => {
  org = await api.makeOrganization();
  reader = await api.makeWorkspace(org.name);
  run = await makeRunCaller(api, { id: reader.id, organizationId: org.id });
});

/** A workspace with a state. */
async function makeSource(attributes: object = {}, projectId = org.defaultProjectId): Promise<Json> {
  const source = await api.makeWorkspace(org.name, attributes, inProject(projectId));
  const version = await writeState(org.owner, source.id, state);
  return { ...source, versionId: version.id, outputId: version.relationships.outputs.data[0].id };
}

/** Everything that an engine reads of another workspace's state. */
async function statuses(caller: RunCaller, source: Json): Promise<number[]> {
  const answers: number[] = [];
  for (const path of [
    `/workspaces/${source.id}`,
    `/organizations/${org.name}/workspaces/${source.attributes.name}`,
    `/workspaces/${source.id}/current-state-version`,
    `/workspaces/${source.id}/current-state-version-outputs`,
    `/state-versions/${source.versionId}`,
    `/state-versions/${source.versionId}/download`,
    `/state-versions/${source.versionId}/outputs`,
    `/state-version-outputs/${source.outputId}`,
  ])
    answers.push((await caller.get(path)).status);
  return answers;
}

const all = (status: number) => Array.from({ length: 8 }, () => status);
const consume = (source: Json, consumer: Json, method: "post" | "delete" = "post") =>
  org.owner[method](`/workspaces/${source.id}/relationships/remote-state-consumers`, {
    data: [{ type: "workspaces", id: consumer.id }],
  });

describe("a run's token", () => {
  it("can't read a workspace that does not share its state", async () => {
    expect(await statuses(run, await makeSource())).toEqual(all(404));
  });

  it("reads the state of a workspace that names its own as a consumer, as long as it does", async () => {
    const source = await makeSource();
    expect((await consume(source, reader)).status).toBe(204);
    expect(await statuses(run, source)).toEqual(all(200));
    expect((await run.get(`/state-versions/${source.versionId}/download`)).body).toEqual(JSON.parse(state));
    expect((await consume(source, reader, "delete")).status).toBe(204);
    expect(await statuses(run, source)).toEqual(all(404));
  });

  it("reads nothing of a workspace whose consumer is another", async () => {
    const source = await makeSource();
    await consume(source, await api.makeWorkspace(org.name));
    expect(await statuses(run, source)).toEqual(all(404));
  });

  it("sharing works in one direction only", async () => {
    const source = await makeSource();
    await consume(source, reader);
    const other = await makeRunCaller(api, { id: source.id, organizationId: org.id });
    expect((await other.get(`/workspaces/${reader.id}`)).status).toBe(404);
  });

  it("reads the state of a workspace with global-remote-state, until that is off", async () => {
    const source = await makeSource({ "global-remote-state": true });
    expect(await statuses(run, source)).toEqual(all(200));
    const off = resource("workspaces", { "global-remote-state": false });
    data(await org.owner.patch(`/workspaces/${source.id}`, off));
    expect(await statuses(run, source)).toEqual(all(404));
  });

  it("reads nothing of another organization's workspace with global-remote-state", async () => {
    const other = await api.makeOrganization();
    const workspace = await api.makeWorkspace(other.name, { "global-remote-state": true });
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(404);
    expect((await run.get(`/organizations/${other.name}/workspaces/${workspace.attributes.name}`)).status).toBe(404);
    expect((await run.get(`/organizations/${other.name}/entitlement-set`)).status).toBe(404);
  });

  it("reads the state of a workspace with project-remote-state in its own project, and of none in another", async () => {
    const project = await api.makeProject(org.name);
    const beside = await makeSource({ "project-remote-state": true });
    const elsewhere = await makeSource({ "project-remote-state": true }, project.id);
    expect(await statuses(run, beside)).toEqual(all(200));
    expect(await statuses(run, elsewhere)).toEqual(all(404));
  });

  it("does nothing else to a workspace that shares with it", async () => {
    const source = await makeSource({ "global-remote-state": true });
    const holding = await makeRunCaller(api, { id: source.id, organizationId: org.id }, { holding: true });
    expect((await post(run, source.id, stateAttributes(stateOf({ serial: 2 })))).status).toBe(403);
    for (const path of ["vars", "all-vars", "resources", "tag-bindings", "relationships/remote-state-consumers"])
      expect((await run.get(`/workspaces/${source.id}/${path}`)).status, path).toBe(404);
    expect((await run.patch(`/workspaces/${source.id}`, resource("workspaces", {}))).status).toBe(404);
    expect((await run.post(`/workspaces/${source.id}/actions/lock`)).status).toBe(404);
    expect((await holding.get(`/workspaces/${source.id}`)).status).toBe(200);
  });

  it("can include only the state with a workspace that shares with it", async () => {
    const source = await makeSource({ "global-remote-state": true, "execution-mode": "remote" });
    const entries = [mainTf, { name: "README.md", content: "# Internal\n" }];
    await uploadConfiguration(org.owner, source.id, { "auto-queue-runs": true }, entries);
    await org.owner.patch(`/workspaces/${source.id}/tag-bindings`, {
      data: [{ type: "tag-bindings", attributes: { key: "team", value: "internal" } }],
    });
    const everything = [
      "current_configuration_version",
      "current_configuration_version.ingress_attributes",
      "current_run",
      "current_run.plan",
      "current_run.configuration_version",
      "current_state_version",
      "effective_tag_bindings",
      "locked_by",
      "outputs",
      "project",
      "readme",
    ];
    const beside = async (caller: Caller, path: string, include: readonly string[]) => {
      const { body, status } = await caller.get(`${path}?include=${include.join(",")}`);
      expect(status, JSON.stringify(body)).toBe(200);
      return [...new Set((body.included as Json[]).map(({ type }) => type))].toSorted();
    };
    const types = ["configuration-versions", "plans", "projects", "runs", "workspace-readme"];
    expect(await beside(org.owner, `/workspaces/${source.id}`, everything)).toEqual(expect.arrayContaining(types));
    for (const path of [`/workspaces/${source.id}`, `/organizations/${org.name}/workspaces/${source.attributes.name}`])
      expect(await beside(run, path, everything)).toEqual(["state-versions", "workspace-outputs"]);
    const ofState = ["created_by", "outputs", "run", "run.created_by", "run.configuration_version"];
    for (const path of [`/state-versions/${source.versionId}`, `/workspaces/${source.id}/current-state-version`])
      expect(await beside(run, path, ofState)).toEqual(["state-version-outputs"]);
  });

  it("sees its only permission in a workspace that shares with it: reading the state", async () => {
    const source = await makeSource({ "global-remote-state": true });
    const { permissions } = data(await run.get(`/workspaces/${source.id}`)).attributes;
    const held = Object.keys(permissions).filter((name) => permissions[name]);
    expect(held.toSorted()).toEqual(["can-read-settings", "can-read-state-outputs", "can-read-state-versions"]);
  });

  it("can read its organization's entitlements, and its account is not a user", async () => {
    expect((await run.get(`/organizations/${org.name}/entitlement-set`)).status).toBe(200);
    for (const path of ["/account/details", `/organizations/${org.name}`, `/organizations/${org.name}/workspaces`])
      expect((await run.get(path)).status, path).toBe(404);
    expect((await run.get("/organizations")).status).toBe(404);
  });
});

describe("a run's token in its own workspace", () => {
  it("writes states under the run's lock, which are intermediate until the run ends", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const own = await makeRunCaller(api, { id: workspace.id, organizationId: org.id }, { holding: true });
    const relationship = { run: { data: { type: "runs", id: own.runId } } };
    const body = resource("state-versions", stateAttributes(state), relationship);
    const version = data(await own.post(`/workspaces/${workspace.id}/state-versions`, body));
    expect(version.attributes.intermediate).toBe(true);
    expect(version.relationships.run.data).toEqual({ type: "runs", id: own.runId });
    const pending = data(
      await own.post(
        `/workspaces/${workspace.id}/state-versions`,
        resource("state-versions", pendingStateAttributes(stateOf({ serial: 2 })), relationship),
      ),
    );
    expect((await put(pending.attributes["hosted-state-upload-url"], stateOf({ serial: 2 }))).status).toBe(204);
    const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
    expect(shown.relationships["locked-by"].data).toEqual({ type: "runs", id: own.runId });
  });

  it("can't write a state without the lock, or while another caller holds it", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const own = await makeRunCaller(api, { id: workspace.id, organizationId: org.id }, { phase: "apply" });
    const unlocked = await post(own, workspace.id, stateAttributes(state));
    expect(unlocked.status).toBe(409);
    await org.owner.post(`/workspaces/${workspace.id}/actions/lock`);
    const locked = await post(own, workspace.id, stateAttributes(state));
    expect(locked.status).toBe(409);
    expect(details(locked)[0]).toContain(`locked by User ${org.owner.username}`);
  });

  it("is refused to name another run as the one that wrote it", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const own = await makeRunCaller(api, { id: workspace.id, organizationId: org.id }, { holding: true });
    const body = resource("state-versions", stateAttributes(state), { run: { data: { type: "runs", id: run.runId } } });
    expect((await own.post(`/workspaces/${workspace.id}/state-versions`, body)).status).toBe(422);
  });

  it("neither locks nor unlocks it, nor reads its variables", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const own = await makeRunCaller(api, { id: workspace.id, organizationId: org.id });
    for (const action of ["lock", "unlock", "force-unlock"])
      expect((await own.post(`/workspaces/${workspace.id}/actions/${action}`)).status, action).toBe(404);
    expect((await own.get(`/workspaces/${workspace.id}/vars`)).status).toBe(404);
    expect((await own.delete(`/workspaces/${workspace.id}`)).status).toBe(404);
  });
});
