/** Lists of runs: of a workspace, of an organization, the queue, and of all organizations. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org, resource } from "../../../support/builders.ts";
import {
  advanceRun,
  cancelLongAgo,
  applyTransition,
  makeConfiguration,
  makeRun,
  makeRunnable,
  runBody,
} from "../../../support/runs.ts";

const api = useApi();
let org: Org;
let workspace: Json;
let member: Member;
/** Run ids by their kind. */
const ids: Record<string, string> = {};

const idsOf = (answer: Answer): string[] => answer.body.data.map((run: Json) => run.id);
const named = (answer: Answer): string[] =>
  idsOf(answer).map((id) => Object.keys(ids).find((name) => ids[name] === id) ?? id);

beforeAll(async () => {
  org = await api.makeOrganization();
  workspace = await makeRunnable(api, org.name);
  const team = await api.makeTeam(org.name);
  await api.grantWorkspace(workspace.id, team.id, "write");
  member = await api.makeMember(org.name, [team.id]);
  const make = async (name: string, attributes: object = {}): Promise<string> =>
    (ids[name] = (await makeRun(org.owner, workspace.id, attributes)).id);
  await advanceRun(api, await make("errored", { message: "The First Ärger" }), "errored");
  await cancelForced(await make("forced"));
  await advanceRun(api, await make("finished", { "refresh-only": true }), "finished");
  await make("plan", { "plan-only": true });
  await advanceRun(api, await make("saved", { "save-plan": true }), "planned");
  const ingress = JSON.stringify({ commitSha: "0a1b2c3d" });
  const configuration = await makeConfiguration(api, workspace.id, { ingress });
  const committed = await member.post("/runs", runBody(workspace.id, { "is-destroy": true }, configuration));
  ids["planned"] = data(committed).id;
  await advanceRun(api, ids["planned"] as string, "planned");
  await makeConfiguration(api, workspace.id);
  await make("pending", { "allow-empty-apply": true });
});

async function cancelForced(id: string): Promise<void> {
  await advanceRun(api, id, "planning");
  await cancelLongAgo(api, id);
  await applyTransition(api, id, { event: "force-cancel" });
}

const all = ["pending", "planned", "saved", "plan", "finished", "forced", "errored"];

describe("listWorkspaceRuns", () => {
  const list = (query = "") => org.owner.get(`/workspaces/${workspace.id}/runs${query}`);

  it("shows the newest first, without plan-only runs", async () => {
    const answer = await list();
    expect(named(answer)).toEqual(all.filter((name) => name !== "plan"));
    expect(answer.body.meta.pagination).toMatchObject({ "total-count": 6, "total-pages": 1 });
  });

  it.each([
    ["filter[operation]=plan_only", ["plan"]],
    ["filter[operation]=plan_only,destroy", ["planned", "plan"]],
    ["filter[operation]=refresh_only", ["finished"]],
    ["filter[operation]=save_plan", ["saved"]],
    ["filter[operation]=empty_apply", ["pending"]],
    ["filter[operation]=plan_and_apply", ["forced", "errored"]],
    ["filter[operation]=unknown", []],
    ["filter[status]=pending,planned", ["pending", "planned"]],
    ["filter[status]=canceled", ["forced"]],
    ["filter[status]=force_canceled", ["forced"]],
    ["filter[status]=nonsense", []],
    ["filter[status_group]=non_final", ["pending", "planned", "saved"]],
    ["filter[status_group]=final", ["finished", "forced", "errored"]],
    ["filter[status_group]=discardable", ["planned", "saved"]],
    ["filter[status_group]=other", []],
    ["filter[source]=tfe-api", all.filter((name) => name !== "plan")],
    ["filter[source]=tfe-ui", []],
    [`filter[timeframe]=${new Date().getUTCFullYear()}`, all.filter((name) => name !== "plan")],
    ["filter[timeframe]=year", all.filter((name) => name !== "plan")],
    ["filter[timeframe]=2001", []],
    ["filter[timeframe]=decade", []],
    ["filter[agent_pool_names]=none", []],
    ["search[commit]=1B2C", ["planned"]],
    ["search[basic]=first", ["errored"]],
    [`search[basic]=${encodeURIComponent("FIRST Ärg")}`, ["errored"]],
    ["search[basic]=first&search[commit]=0a1b", ["planned"]],
    ["filter[status]=", all.filter((name) => name !== "plan")],
  ])("%s", async (query, expected) => {
    const answer = await list(`?${query}`);
    expect(named(answer)).toEqual(expected);
    expect(answer.body.meta.pagination["total-count"]).toBe(expected.length);
  });

  it("finds by the creator's name, and by the id", async () => {
    expect(named(await list(`?search[user]=${member.username.toUpperCase()}`))).toEqual(["planned"]);
    expect(named(await list(`?search[basic]=${member.username}`))).toEqual(["planned"]);
    expect(named(await list(`?search[basic]=${ids["forced"]}`))).toEqual(["forced"]);
  });

  it("is paged, and includes requested resources", async () => {
    const answer = await list("?page[size]=2&page[number]=2&include=plan,apply,created_by,workspace,task_stages");
    expect(named(answer)).toEqual(["saved", "finished"]);
    const types = answer.body.included.map((each: Json) => each.type).toSorted();
    expect(types).toEqual(["applies", "applies", "plans", "plans", "users", "workspaces"]);
    const past = await list("?page[size]=50&page[number]=9");
    expect([past.body.data, past.body.meta.pagination["total-count"]]).toEqual([[], 6]);
  });

  it("400: an unknown include", async () => {
    expect((await list("?include=policies")).status).toBe(400);
  });
});

describe("listOrganizationRuns", () => {
  const list = (query = "", caller: { get: typeof org.owner.get } = org.owner) =>
    caller.get(`/organizations/${org.name}/runs${query}`);

  it("shows all, newest first, without a total count", async () => {
    const answer = await list();
    expect(named(answer)).toEqual(all);
    expect(answer.body.meta.pagination).toEqual({
      "current-page": 1,
      "page-size": 20,
      "prev-page": null,
      "next-page": null,
    });
    expect(Object.keys(answer.body.links)).toEqual(["self", "prev", "next"]);
    const second = await list("?page[size]=3&page[number]=2");
    expect(named(second)).toEqual(all.slice(3, 6));
    expect(second.body.meta.pagination).toMatchObject({ "prev-page": 1, "next-page": 3 });
  });

  it("filters by the names of workspaces, and like a workspace's list", async () => {
    const other = await makeRunnable(api, org.name);
    const run = await makeRun(org.owner, other.id);
    expect(idsOf(await list(`?filter[workspace_names]=${other.attributes.name}`))).toEqual([run.id]);
    expect(
      named(await list(`?filter[workspace_names]=${workspace.attributes.name}&filter[operation]=plan_only`)),
    ).toEqual(["plan"]);
    expect(named(await list("?filter[status_group]=discardable"))).toEqual(["planned", "saved"]);
  });

  it("only shows runs that the caller can read", async () => {
    const hidden = await makeRunnable(api, org.name);
    const run = await makeRun(org.owner, hidden.id);
    const seen = idsOf(await list("?page[size]=100", member));
    expect(seen).not.toContain(run.id);
    expect(seen).toContain(ids["planned"]);
    expect((await list("", await api.makeMember((await api.makeOrganization()).name))).status).toBe(404);
  });
});

describe("the queue", () => {
  it("orders applies, then plans that can be applied, then plan-only runs, with their positions", async () => {
    const busy = await api.makeOrganization();
    const make = async (attributes: object): Promise<string> =>
      (await makeRun(busy.owner, (await makeRunnable(api, busy.name)).id, attributes)).id;
    const plan = await make({ "plan-only": true });
    const first = await make({});
    const second = await make({});
    const applied = await make({ "auto-apply": true });
    const running = await make({});
    await advanceRun(api, applied, "planned");
    await advanceRun(api, running, "planning");
    const queue = await busy.owner.get(`/organizations/${busy.name}/runs/queue`);
    expect(idsOf(queue)).toEqual([applied, first, second, plan]);
    expect(queue.body.data.map((run: Json) => run.attributes["position-in-queue"])).toEqual([1, 2, 3, 4]);
    expect(queue.body.meta.pagination["total-count"]).toBe(4);
    const page = await busy.owner.get(`/organizations/${busy.name}/runs/queue?page[size]=1&page[number]=3`);
    expect(idsOf(page)).toEqual([second]);
    expect(page.body.data[0].attributes["position-in-queue"]).toBe(3);
    const capacity = data(await busy.owner.get(`/organizations/${busy.name}/capacity`));
    expect(capacity).toMatchObject({
      id: busy.name,
      type: "organization-capacity",
      attributes: { pending: 4, running: 1 },
    });
    expect(
      (await api.makeMember(org.name).then((other) => other.get(`/organizations/${busy.name}/capacity`))).status,
    ).toBe(404);
    expect(data(await busy.owner.get(`/runs/${running}`)).attributes["position-in-queue"]).toBe(0);
  });

  it("has waiting-for sentences: no agent, no version, no free agent", async () => {
    const pool = data(
      await org.owner.post(`/organizations/${org.name}/agent-pools`, resource("agent-pools", { name: "workers" })),
    );
    const ours = await makeRunnable(api, org.name, {
      "execution-mode": "agent",
      "agent-pool-id": pool.id,
      "engine-version": "1.5.7",
    });
    const { id } = await makeRun(org.owner, ours.id);
    const waits = async () => data(await org.owner.get(`/runs/${id}`)).attributes["waiting-for"];
    expect(await waits()).toBe("Waiting for an agent of the pool workers with Terraform 1.5.7: none is connected.");
    const agent = {
      id: `agent-${id.slice(4)}`,
      organizationId: org.id,
      agentPoolId: pool.id,
      siteAgentPoolId: null,
      name: "one",
      status: "idle",
      ipAddress: "127.0.0.1",
      agentVersion: "0.0.0",
      engines: JSON.stringify({ terraform: ["1.13.3"], tofu: ["1.5.7"] }),
      fetching: "",
      lastPingMs: Date.now(),
      lastPingAt: new Date().toISOString(),
      createdAt: new Date().toISOString(),
      version: 1,
    };
    await api.database.write((tx) => tx.db.insertInto("agents").values(agent).execute());
    expect(await waits()).toBe("Waiting for an agent of the pool workers with Terraform 1.5.7: none of them has it.");
    const set = (columns: object) =>
      api.database.write((tx) => tx.db.updateTable("agents").set(columns).where("id", "=", agent.id).execute());
    await set({ fetching: JSON.stringify({ "terraform 1.5.7": "mirror.example can't be reached (ECONNREFUSED)" }) });
    expect(await waits()).toBe(
      "Waiting for an agent of the pool workers with Terraform 1.5.7: none of them has it, and it can't be fetched (mirror.example can't be reached (ECONNREFUSED)).",
    );
    await set({ fetching: "{}" });
    expect(await waits()).toBe("Waiting for an agent of the pool workers with Terraform 1.5.7 to be free.");
    await set({ fetching: "" });
    await set({ engines: JSON.stringify({ terraform: ["1.13.3", "1.5.7"] }) });
    expect(await waits()).toBe("Waiting for an agent of the pool workers with Terraform 1.5.7 to be free.");
    await set({ lastPingMs: Date.now() - 60_000 });
    expect(await waits()).toBe("Waiting for an agent of the pool workers with Terraform 1.5.7: none is connected.");
    const plan = data(await org.owner.get(`/runs/${id}/plan`));
    expect(plan.attributes["execution-details"]).toMatchObject({ mode: "agent", "agent-pool-id": pool.id });
    expect(idsOf(await org.owner.get(`/organizations/${org.name}/runs?filter[agent_pool_names]=workers`))).toEqual([
      id,
    ]);
    await advanceRun(api, id, "planning");
    expect(await waits()).toBeNull();
  });
});

describe("listAdminRuns", () => {
  it("shows the runs of all organizations to site admins", async () => {
    const other = await api.makeOrganization();
    const theirs = await makeRunnable(api, other.name);
    const { id } = await makeRun(other.owner, theirs.id);
    const answer = await api.admin.get("/admin/runs?page[size]=100&include=workspace");
    expect(idsOf(answer)).toEqual(expect.arrayContaining([id, ids["planned"]]));
    expect(idsOf(await api.admin.get(`/admin/runs?q=${theirs.attributes.name.toUpperCase()}`))).toEqual([id]);
    expect(idsOf(await api.admin.get(`/admin/runs?q=${other.name}`))).toEqual([id]);
    expect(idsOf(await api.admin.get(`/admin/runs?q=${id}`))).toEqual([id]);
    expect(idsOf(await api.admin.get(`/admin/runs?q=${other.name}&filter[status]=errored`))).toEqual([]);
    expect(idsOf(await api.admin.get(`/admin/runs?q=${other.name}&filter[from]=2020-01-01T00:00:00Z`))).toEqual([id]);
    expect(idsOf(await api.admin.get(`/admin/runs?q=${other.name}&filter[to]=2020-01-01`))).toEqual([]);
    const bad = await api.admin.get("/admin/runs?filter[from]=yesterday");
    expect([bad.status, details(bad)[0]]).toEqual([400, expect.stringContaining("filter[from]")]);
    expect((await other.owner.get("/admin/runs")).status).toBe(404);
    const beside = await api.admin.get(`/admin/runs?q=${id}&include=workspace.organization.owners`);
    const types: string[] = beside.body.included.map((each: Json) => each.type);
    expect([...new Set(types)].toSorted()).toEqual(["organizations", "users", "workspaces"]);
  });

  it("forceCancelAdminRun: ends a run in any status, without the waiting time", async () => {
    const ours = await makeRunnable(api, org.name);
    const { id } = await makeRun(org.owner, ours.id);
    await advanceRun(api, id, "planning");
    expect((await org.owner.post(`/admin/runs/${id}/actions/force-cancel`)).status).toBe(404);
    expect((await api.admin.post(`/admin/runs/${id}/actions/force-cancel`, { comment: "Stuck" })).status).toBe(202);
    const shown = data(await org.owner.get(`/runs/${id}`));
    expect(shown.attributes.status).toBe("canceled");
    expect(shown.attributes["status-timestamps"]["force-canceled-at"]).toBeDefined();
    expect(data(await org.owner.get(`/workspaces/${ours.id}`)).attributes.locked).toBe(false);
    expect((await api.admin.post(`/admin/runs/${id}/actions/force-cancel`)).status).toBe(409);
    const queued = await makeRun(org.owner, ours.id);
    expect((await api.admin.post(`/admin/runs/${queued.id}/actions/force-cancel`)).status).toBe(202);
    expect(data(await org.owner.get(`/runs/${queued.id}`)).attributes.status).toBe("canceled");
    const planned = await makeRun(org.owner, ours.id);
    await advanceRun(api, planned.id, "planned");
    expect((await org.owner.post(`/runs/${planned.id}/actions/force-cancel`)).status).toBe(409);
    expect((await api.admin.post(`/admin/runs/${planned.id}/actions/force-cancel`)).status).toBe(202);
    expect(data(await org.owner.get(`/runs/${planned.id}`)).attributes.status).toBe("canceled");
    expect(data(await org.owner.get(`/workspaces/${ours.id}`)).attributes.locked).toBe(false);
  });
});
