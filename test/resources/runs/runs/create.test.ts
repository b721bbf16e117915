/** POST /runs: a new run, invalid requests, and permissions. */
import { beforeAll, describe, expect, it } from "vitest";
import { newToken, tokenHash } from "../../../../src/kernel/ids.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource } from "../../../support/builders.ts";
import { makeAgent, makeSitePool } from "../../../support/agent-callers.ts";
import {
  advanceRun,
  applyTransition,
  makeConfiguration,
  makeRun,
  makeRunnable,
  runBody,
  showRun,
  startRun,
} from "../../../support/runs.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await api.makeOrganization();
});

async function memberWith(level: "read" | "plan" | "write", workspaceId: string): Promise<Caller> {
  const team = await api.makeTeam(org.name);
  await api.grantWorkspace(workspaceId, team.id, level);
  return api.makeMember(org.name, [team.id]);
}

describe("createRun", () => {
  it("201: queued immediately in an unlocked workspace, with its plan, apply and events", async () => {
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
      "policy-paths": null,
      "invoke-action-addrs": null,
      variables: [],
      source: "tfe-api",
      "trigger-reason": "manual",
      "has-changes": false,
      "canceled-at": null,
      "force-cancel-available-at": null,
      engine: "terraform",
      "engine-version": workspace.attributes["engine-version"],
      "terraform-version": workspace.attributes["engine-version"],
      permissions: {
        "can-apply": true,
        "can-cancel": true,
        "can-comment": true,
        "can-discard": true,
        "can-force-execute": true,
        "can-force-cancel": true,
        "can-override-policy-check": true,
      },
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
    expect(run.relationships).toMatchObject({
      "cost-estimate": { data: null },
      "policy-checks": { data: [] },
      "task-stages": { data: [] },
      "workspace-run-alerts": { data: [] },
      "confirmed-by": { data: null },
      "input-state-version": { data: null },
      comments: { data: [] },
      workspace: { data: { type: "workspaces", id: workspace.id } },
      "created-by": { data: { type: "users" } },
    });
    expect(run.relationships["run-events"].data.length).toBe(2);
    const plan = data(await org.owner.get(`/plans/${run.relationships.plan.data.id}`));
    expect(plan.attributes).toMatchObject({
      status: "queued",
      "has-changes": false,
      "generated-configuration": false,
      "resource-additions": 0,
      "resource-changes": 0,
      "resource-destructions": 0,
      "resource-imports": 0,
      "action-invocations": 0,
      "execution-details": { mode: "remote" },
      "log-read-url": expect.stringMatching(/^http/),
    });
    const apply = data(await org.owner.get(`/applies/${run.relationships.apply.data.id}`));
    expect(apply.attributes.status).toBe("pending");
    const listed = await org.owner.get(`/workspaces/${workspace.id}/runs`);
    expect(listed.body.data.map((each: { id: string }) => each.id)).toEqual([run.id]);
  });

  it("201: attributes are stored and returned, with encrypted variables", async () => {
    const workspace = await makeRunnable(api, org.name);
    const sent = {
      message: "Why",
      "is-destroy": true,
      refresh: false,
      "auto-apply": true,
      "allow-empty-apply": true,
      "allow-config-generation": true,
      "debugging-mode": true,
      "target-addrs": ["a.b", 'c["d"].e'],
      "replace-addrs": ["f.g"],
      "policy-paths": ["./policies"],
      variables: [{ key: "region", value: '"a very special region"' }],
    };
    const run = await makeRun(org.owner, workspace.id, sent);
    expect(run.attributes).toMatchObject(sent);
    const row = await api.database.reader.db
      .selectFrom("runs")
      .select(["variables", "operation"])
      .where("id", "=", run.id)
      .executeTakeFirstOrThrow();
    expect(Buffer.from(row.variables ?? []).includes("very special")).toBe(false);
    expect(row.operation).toBe("destroy");
  });

  it("ends immediately if actions are to be invoked, with the reason in its log and events, without a plan", async () => {
    const workspace = await makeRunnable(api, org.name, { "auto-apply": true });
    const sent = { "invoke-action-addrs": ["action.a.b"] };
    for (const more of [{}, { "plan-only": true }, { "save-plan": true }]) {
      const run = await makeRun(org.owner, workspace.id, { ...sent, ...more });
      expect(run.attributes).toMatchObject({ ...sent, ...more, status: "errored" });
      const plan = data(await org.owner.get(`/plans/${run.relationships.plan.data.id}`));
      expect(plan.attributes.status).toBe("errored");
      const apply = data(await org.owner.get(`/applies/${run.relationships.apply.data.id}`));
      expect(apply.attributes.status).toBe("unreachable");
      const log = await (await fetch(`${plan.attributes["log-read-url"]}?limit=1000&offset=0`)).text();
      expect([log.at(0), log.at(-1)]).toEqual(["\u0002", "\u0003"]);
      expect(log.slice(1, -1)).toMatch(/^\nInvoking actions .* is not supported yet, so nothing was planned\. .*\n$/);
      const events = await org.owner.get(`/runs/${run.id}/run-events`);
      expect(events.body.data.map((event: Json) => event.attributes.action)).toEqual(["created", "errored"]);
      expect(events.body.data[1].attributes.description).toContain("is not supported yet");
    }
    const free = data(await org.owner.get(`/workspaces/${workspace.id}`));
    expect([free.attributes.locked, free.relationships["current-run"].data]).toEqual([false, expect.anything()]);
    expect((await makeRun(org.owner, workspace.id)).attributes.status).toBe("plan_queued");
    // Behind a run that holds the lock, it neither waits nor blocks.
    expect((await makeRun(org.owner, workspace.id, sent)).attributes.status).toBe("errored");
    expect((await makeRun(org.owner, workspace.id)).attributes.status).toBe("pending");
  });

  it("waits for another run, and is next when that has ended", async () => {
    const workspace = await makeRunnable(api, org.name);
    const first = await makeRun(org.owner, workspace.id);
    const second = await makeRun(org.owner, workspace.id);
    expect(second.attributes.status).toBe("pending");
    expect(second.attributes["waiting-for"]).toBe(`Waiting for ${first.id}, which holds the workspace lock.`);
    await advanceRun(api, first.id, "finished");
    expect((await showRun(org.owner, first.id)).attributes.status).toBe("planned_and_finished");
    expect((await showRun(org.owner, second.id)).attributes.status).toBe("plan_queued");
    const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
    expect(shown.relationships["locked-by"].data.id).toBe(second.id);
    await applyTransition(api, second.id, { event: "cancel" });
    const free = data(await org.owner.get(`/workspaces/${workspace.id}`));
    expect(free.attributes.locked).toBe(false);
    expect(free.relationships["current-run"].data.id).toBe(second.id);
  });

  it("the source and the log format depend on the calling CLI", async () => {
    const workspace = await makeRunnable(api, org.name);
    const sources: unknown[] = [];
    for (const headers of [
      {},
      { "terraform-version": "1.5.7" },
      { "terraform-version": "1.5.7", "x-terraform-integration": "cloud" },
    ] as Record<string, string>[]) {
      const run = data(await org.owner.post("/runs", runBody(workspace.id, { "plan-only": true }), headers));
      const row = await api.database.reader.db
        .selectFrom("runs")
        .select("structured")
        .where("id", "=", run.id)
        .executeTakeFirstOrThrow();
      sources.push([run.attributes.source, row.structured]);
    }
    expect(sources).toEqual([
      ["tfe-api", 1],
      ["terraform", 0],
      ["terraform+cloud", 1],
    ]);
  });

  it("a constraint on OpenTofu selects the newest version that an agent has", async () => {
    await makeAgent(api, await makeSitePool(api));
    const versionOf = async (constraint: string) => {
      const workspace = await makeRunnable(api, org.name, { engine: "tofu", "engine-version": constraint });
      return (await makeRun(org.owner, workspace.id)).attributes;
    };
    expect(await versionOf("~> 1.10.0")).toMatchObject({ engine: "tofu", "engine-version": "1.10.6" });
  });

  it.each([false, true])(
    "ends immediately if no version meets the workspace's constraint, with the reason (an agent fetches engines: %s)",
    async (isFetching) => {
      const { agent } = await makeSitePool(api);
      const engines = { tofu: ["1.10.6"] };
      data(await agent.post("/agents", resource("agents", { name: "a", engines, "fetches-engines": isFetching })));
      const workspace = await makeRunnable(api, org.name, { engine: "tofu", "engine-version": ">= 99.0.0" });
      const run = await makeRun(org.owner, workspace.id);
      expect(run.attributes).toMatchObject({ status: "errored", "engine-version": ">= 99.0.0", "waiting-for": null });
      const plan = data(await org.owner.get(`/plans/${run.relationships.plan.data.id}`));
      const log = await (await fetch(`${plan.attributes["log-read-url"]}?limit=1000&offset=0`)).text();
      expect(log).toContain("No version of OpenTofu that is known here or that an agent has meets '>= 99.0.0'");
      const events = await org.owner.get(`/runs/${run.id}/run-events`);
      expect(events.body.data[1].attributes.description).toContain("meets '>= 99.0.0'");
    },
  );

  it("the engine and its version are resolved at creation", async () => {
    const workspace = await makeRunnable(api, org.name, { engine: "terraform", "engine-version": "~> 1.5.0" });
    expect(workspace.attributes.engine).toBe("terraform");
    const run = await makeRun(org.owner, workspace.id);
    expect(run.attributes).toMatchObject({ engine: "terraform", "engine-version": "1.5.7" });
    const changed = await org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", { engine: null }));
    expect(data(changed).attributes.engine).toBeNull();
    const other = await org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", { engine: "pulumi" }));
    expect(other.status).toBe(422);
    const planOnly = { "plan-only": true, "terraform-version": "1.6.6" };
    expect((await makeRun(org.owner, workspace.id, planOnly)).attributes["engine-version"]).toBe("1.6.6");
  });

  it("a speculative configuration makes it plan-only, and does not change the workspace", async () => {
    const workspace = await makeRunnable(api, org.name);
    const configuration = await makeConfiguration(api, workspace.id, { speculative: 1 });
    const run = data(await org.owner.post("/runs", runBody(workspace.id, {}, configuration)));
    expect(run.attributes).toMatchObject({ "plan-only": true, status: "plan_queued", "auto-apply": false });
    const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
    expect([shown.attributes.locked, shown.relationships["current-run"].data]).toEqual([false, null]);
  });

  it("a configuration of another workspace can be used by callers who can read it", async () => {
    const [source, target] = [await makeRunnable(api, org.name), await api.makeWorkspace(org.name)];
    const configuration = await makeConfiguration(api, source.id);
    expect((await org.owner.post("/runs", runBody(target.id, {}, configuration))).status).toBe(201);
    const member = await memberWith("write", target.id);
    const refused = await member.post("/runs", runBody(target.id, {}, configuration));
    expect([refused.status, pointers(refused)]).toEqual([422, ["/data/relationships/configuration-version"]]);
  });

  it.each([
    ["is-destroy with refresh-only", { "is-destroy": true, "refresh-only": true }, "/data/attributes/refresh-only"],
    ["plan-only with save-plan", { "plan-only": true, "save-plan": true }, "/data/attributes/save-plan"],
    [
      "actions with targets",
      { "invoke-action-addrs": ["action.a.b"], "target-addrs": ["c.d"] },
      "/data/attributes/invoke-action-addrs",
    ],
    [
      "actions with destroy",
      { "invoke-action-addrs": ["action.a.b"], "is-destroy": true },
      "/data/attributes/invoke-action-addrs",
    ],
    ["a version for one that may apply", { "terraform-version": "1.6.6" }, "/data/attributes/engine-version"],
    [
      "a constraint as version",
      { "plan-only": true, "terraform-version": "~> 1.6" },
      "/data/attributes/engine-version",
    ],
  ])("422: %s", async (_, attributes, pointer) => {
    const workspace = await makeRunnable(api, org.name);
    const refused = await startRun(org.owner, workspace.id, attributes);
    expect([refused.status, pointers(refused)]).toEqual([422, [pointer]]);
  });

  it.each([
    ["local mode", { "execution-mode": "local" }, {}, "/data/relationships/workspace"],
    ["no destroy plans", { "allow-destroy-plan": false }, { "is-destroy": true }, "/data/attributes/is-destroy"],
  ])("422: the workspace has %s", async (_, settings, attributes, pointer) => {
    const workspace = await makeRunnable(api, org.name, settings);
    const refused = await startRun(org.owner, workspace.id, attributes);
    expect([refused.status, pointers(refused)]).toEqual([422, [pointer]]);
  });

  it.each([
    ["pending", { status: "pending" }, {}, "it is pending"],
    ["archived by hand", { status: "archived" }, {}, "it is archived"],
    [
      "speculative, and sent as if it could be applied",
      { speculative: 1 },
      { "plan-only": false },
      "Plan only must be",
    ],
  ])("422: a configuration that is %s", async (_, columns, attributes, sentence) => {
    const workspace = await makeRunnable(api, org.name);
    const configuration = await makeConfiguration(api, workspace.id, columns);
    const refused = await org.owner.post("/runs", runBody(workspace.id, attributes, configuration));
    expect(refused.status).toBe(422);
    expect(details(refused).join()).toContain(sentence);
  });

  it("201: an archived one that comes from a commit", async () => {
    const workspace = await makeRunnable(api, org.name);
    const ingress = JSON.stringify({ commitSha: "abc123" });
    const configuration = await makeConfiguration(api, workspace.id, { status: "archived", ingress });
    expect((await org.owner.post("/runs", runBody(workspace.id, {}, configuration))).status).toBe(201);
  });

  it("422: no configuration, or an unknown one", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const none = await startRun(org.owner, workspace.id);
    expect([none.status, details(none)[0]]).toEqual([422, expect.stringContaining("Upload one first")]);
    const unknown = await org.owner.post("/runs", runBody(workspace.id, {}, "cv-1111111111111111"));
    expect([unknown.status, details(unknown)[0]]).toEqual([422, expect.stringContaining("does not exist")]);
  });

  it("permissions: plan for a plan, apply for a destroy; auto-apply only for callers who can apply", async () => {
    const workspace = await makeRunnable(api, org.name, { "auto-apply": true });
    const [reader, planner, writer] = [
      await memberWith("read", workspace.id),
      await memberWith("plan", workspace.id),
      await memberWith("write", workspace.id),
    ];
    const token = await api.makeOrganizationToken(org.name);
    const statusOf = async (caller: Caller, attributes: object) =>
      (await startRun(caller, workspace.id, attributes)).status;
    expect(await statusOf(reader, {})).toBe(404);
    expect(await statusOf(token, {})).toBe(404);
    expect(await statusOf(planner, { "is-destroy": true })).toBe(404);
    expect(await statusOf(planner, { "is-destroy": true, "plan-only": true })).toBe(201);
    expect(await statusOf(writer, { "is-destroy": true })).toBe(201);
    expect((await makeRun(planner, workspace.id)).attributes["auto-apply"]).toBe(false);
    expect((await makeRun(planner, workspace.id, { "auto-apply": true })).attributes["auto-apply"]).toBe(false);
    expect((await makeRun(writer, workspace.id)).attributes["auto-apply"]).toBe(true);
    expect((await makeRun(writer, workspace.id, { "auto-apply": false })).attributes["auto-apply"]).toBe(false);
  });
});

describe("permissions for actions on a run", () => {
  it("404: callers who can only read or plan; but the creator of a plan-only run can cancel it", async () => {
    const workspace = await makeRunnable(api, org.name);
    const [reader, planner, writer] = [
      await memberWith("read", workspace.id),
      await memberWith("plan", workspace.id),
      await memberWith("write", workspace.id),
    ];
    const token = await api.makeOrganizationToken(org.name);
    const run = await makeRun(org.owner, workspace.id);
    for (const caller of [reader, planner, token])
      for (const action of ["apply", "discard", "cancel", "force-cancel", "force-execute"])
        expect((await caller.post(`/runs/${run.id}/actions/${action}`)).status, action).toBe(404);
    expect((await writer.post(`/runs/${run.id}/actions/force-cancel`)).status).toBe(404);
    const own = await makeRun(planner, workspace.id, { "plan-only": true });
    expect(own.attributes.permissions).toMatchObject({ "can-apply": false, "can-cancel": true, "can-comment": true });
    const foreign = await makeRun(org.owner, workspace.id, { "plan-only": true });
    expect((await planner.post(`/runs/${foreign.id}/actions/cancel`)).status).toBe(404);
    expect((await planner.post(`/runs/${own.id}/actions/cancel`)).status).toBe(202);
    expect((await writer.post(`/runs/${run.id}/actions/cancel`)).status).toBe(202);
  });

  it("404: a run's token, for every run but its own", async () => {
    const workspace = await makeRunnable(api, org.name);
    const other = await makeRun(org.owner, workspace.id, { "plan-only": true });
    const own = await makeRun(org.owner, workspace.id, { "plan-only": true });
    const secret = newToken();
    await applyTransition(api, own.id, { event: "claim", phase: { attempt: 1, tokenHash: tokenHash(secret) } });
    const run = api.as(secret);
    expect((await run.get(`/runs/${own.id}`)).status).toBe(200);
    expect((await run.get(`/runs/${other.id}`)).status).toBe(404);
    expect((await run.post(`/runs/${own.id}/actions/cancel`)).status).toBe(404);
    expect((await run.get(`/workspaces/${workspace.id}/runs`)).status).toBe(404);
    await applyTransition(api, own.id, { event: "phase-finished", hasChanges: false });
    expect((await run.get(`/runs/${own.id}`)).status).toBe(401);
  });
});
