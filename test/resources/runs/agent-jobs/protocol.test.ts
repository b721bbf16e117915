/** The agent protocol over HTTP: claims, reports, and refused reports. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, details, makeOrganization, type Org, resource } from "../../../support/builders.ts";
import { type Agent, type Job, makeAgent, makePool, makeSitePool, type Pool } from "../../../support/agent-callers.ts";
import { uploadConfiguration } from "../../../support/configurations.ts";
import { applyTransition, makeRun, makeRunnable, runBody, showRun } from "../../../support/runs.ts";
import { stateAttributes, stateOf, writeState } from "../../../support/states.ts";
import { until } from "../../../support/waiting.ts";

const api = useApi();
let org: Org;
let site: Pool;
let agent: Agent;
let workspace: Json;

beforeAll(async () => {
  org = await makeOrganization(api);
  site = await makeSitePool(api);
});
beforeEach(async () => {
  agent = await makeAgent(api, site);
  workspace = await makeRunnable(api, org.name);
  await drain();
});

/** Claims the jobs that earlier tests have left in the queue. */
async function drain(): Promise<void> {
  while ((await agent.claim()).status === 200);
}

const version = "1.9.5";
const started = async (attributes: object = {}, id: string = workspace.id): Promise<Json> => {
  await org.owner.patch(`/workspaces/${id}`, resource("workspaces", { "terraform-version": version }));
  return makeRun(org.owner, id, attributes);
};
const planOf = async (run: Json) => data(await org.owner.get(`/plans/${run.relationships.plan.data.id}`));
const logOf = async (phase: Json): Promise<string> => {
  const url = new URL(phase.attributes["log-read-url"]);
  url.search = "?limit=65536&offset=0";
  return (await fetch(url)).text();
};

/** Sends a request that waits, until the server has committed what precedes the wait. */
async function afterCommit(send: () => Promise<Answer>): Promise<{ readonly answer: Promise<Answer> }> {
  const before = api.database.commitCount();
  const answer = send();
  await until(() => api.database.commitCount() > before);
  return { answer };
}

describe("claimJob", () => {
  it.each([
    [{ "plan-timeout": "1h30m", "apply-timeout": "36h" }, 5400, 86_400],
    [{ "plan-timeout": "0s", "apply-timeout": "0.5h" }, 7200, 1800],
    [{ "plan-timeout": null, "apply-timeout": null }, 7200, 86_400],
  ])("limits the time by the organization and the site: %j", async (timeouts, plan, apply) => {
    const path = `/admin/organizations/${org.name}`;
    expect((await api.admin.patch(path, resource("organizations", timeouts))).status).toBe(200);
    const run = await started();
    const job = await agent.job();
    expect(job.attributes["timeout-seconds"]).toBe(plan);
    await job.act("finish", { result: "finished", "has-changes": true });
    await applyTransition(api, run.id, { event: "apply" });
    expect((await agent.job()).attributes["timeout-seconds"]).toBe(apply);
  });

  it("returns the plan with everything that the agent needs, and assigns it to the agent", async () => {
    await writeState(org.owner, workspace.id, stateOf({}));
    await org.owner.post(
      `/workspaces/${workspace.id}/vars`,
      resource("vars", { key: "region", value: "north", category: "terraform", sensitive: true }),
    );
    await org.owner.patch(
      `/workspaces/${workspace.id}`,
      resource("workspaces", { "working-directory": "infra", "structured-run-output-enabled": true }),
    );
    const run = await started({
      "target-addrs": ["a.b"],
      refresh: false,
      variables: [{ key: "size", value: "2" }],
    });
    const answer = await agent.claim();
    expect(answer.status).toBe(200);
    const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
    const current = shown.relationships["current-state-version"].data.id;
    const { id, type, attributes } = answer.body.data;
    expect([id, type]).toEqual([run.relationships.plan.data.id, "agent-jobs"]);
    expect(attributes).toEqual({
      attempt: 1,
      phase: "plan",
      "run-id": run.id,
      "workspace-id": workspace.id,
      "workspace-name": workspace.attributes.name,
      "organization-name": org.name,
      "project-id": org.defaultProjectId,
      "project-name": "Default Project",
      engine: "terraform",
      "engine-version": version,
      "terraform-version": version,
      "working-directory": "infra",
      structured: true,
      "is-destroy": false,
      refresh: false,
      "refresh-only": false,
      "allow-config-generation": false,
      "debugging-mode": false,
      "target-addrs": ["a.b"],
      "replace-addrs": null,
      variables: [
        { key: "region", value: "north", category: "terraform", hcl: false, sensitive: true },
        { key: "size", value: "2", category: "terraform", hcl: true, sensitive: false },
      ],
      token: expect.stringMatching(/^cadastre-/),
      server: api.url,
      "configuration-url": `${api.url}/api/v2/runs/${run.id}/configuration-version/download`,
      "state-url": `${api.url}/api/v2/state-versions/${current}/download`,
      "input-state-version-id": current,
      "timeout-seconds": 7200,
      "ssh-key": null,
      commit: null,
      "identity-tokens": [],
      "log-bytes-max": expect.any(Number),
    });
    const running = await showRun(org.owner, run.id);
    expect(running.attributes.status).toBe("planning");
    expect((await planOf(run)).attributes.status).toBe("running");
    const job = { run: api.as(attributes.token) };
    expect((await job.run.get(new URL(attributes["state-url"]).pathname)).status).toBe(200);
    expect((await job.run.get(`/runs/${run.id}`)).status).toBe(200);
    expect((await agent.claim()).status).toBe(204);
    expect((await api.admin.get(`/agents/${agent.id}`)).body.data.attributes.status).toBe("idle");
  });

  it("lets only the run download its configuration, also one of another workspace", async () => {
    const source = await makeRunnable(api, org.name);
    const { id } = await uploadConfiguration(org.owner, source.id);
    await org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", { "terraform-version": version }));
    data(await org.owner.post("/runs", runBody(workspace.id, {}, id)));
    const job = await agent.job();
    const path = new URL(job.attributes["configuration-url"]).pathname;
    const fetched = await fetch(api.url + path, { headers: { authorization: `Bearer ${job.attributes.token}` } });
    expect(fetched.status).toBe(200);
    expect((await fetched.arrayBuffer()).byteLength).toBeGreaterThan(20);
    expect((await agent.get(path)).status).toBe(404);
    expect((await job.run.get(`/configuration-versions/${id}/download`)).status).toBe(404);
  });

  it("returns the workspace's SSH key, and an identity token if a variable requests one", async () => {
    const value = "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----";
    const key = data(
      await org.owner.post(`/organizations/${org.name}/ssh-keys`, resource("ssh-keys", { name: "modules", value })),
    );
    await org.owner.patch(`/workspaces/${workspace.id}/relationships/ssh-key`, {
      data: { type: "workspaces", attributes: { id: key.id } },
    });
    await org.owner.post(
      `/workspaces/${workspace.id}/vars`,
      resource("vars", { key: "TFC_WORKLOAD_IDENTITY_AUDIENCE", value: "vault", category: "env" }),
    );
    await started();
    const { attributes } = await agent.job();
    expect(attributes["ssh-key"]).toBe(value);
    expect(attributes["identity-tokens"]).toEqual([
      { name: "TFC_WORKLOAD_IDENTITY_TOKEN", value: expect.stringMatching(/^ey.*\..*\./) },
    ]);
  });

  it("204: nothing is queued, or nothing that the agent has the engine for", async () => {
    expect((await agent.claim()).status).toBe(204);
    await started();
    expect((await agent.claim(0, { terraform: ["1.0.0"] })).status).toBe(204);
    expect((await agent.claim(0, { tofu: [version] })).status).toBe(204);
    expect((await agent.claim(0, { terraform: [version] })).status).toBe(200);
  });

  it("waits, and returns a job as soon as it is claimable", async () => {
    const waitSeconds = 25;
    // At the end of its wait it would check once more, and get the job too.
    const beforeTheEnd = sleep((waitSeconds - 1) * 1000, undefined, { ref: false });
    const waiting = await afterCommit(() => agent.claim(waitSeconds));
    await started();
    expect(await Promise.race([waiting.answer, beforeTheEnd])).toMatchObject({ status: 200 });
  });

  it("returns no jobs of a disabled organization", async () => {
    const closed = await makeOrganization(api);
    const own = await makeRunnable(api, closed.name, { "terraform-version": version });
    await makeRun(closed.owner, own.id);
    const disable = (is: boolean) =>
      api.admin.patch(`/admin/organizations/${closed.name}`, resource("organizations", { "is-disabled": is }));
    await disable(true);
    expect((await agent.claim()).status).toBe(204);
    await disable(false);
    expect((await agent.claim()).status).toBe(200);
  });

  it("404: another pool's agent, and callers that are not agents", async () => {
    const other = await makeSitePool(api);
    const body = { wait: 0, engines: {} };
    expect((await other.agent.post(`/agents/${agent.id}/actions/claim`, body)).status).toBe(404);
    expect((await api.admin.post(`/agents/${agent.id}/actions/claim`, body)).status).toBe(404);
    expect((await agent.post(`/agents/${agent.id}/actions/claim`, { wait: 60, engines: {} })).status).toBe(422);
  });
});

describe("pools", () => {
  it("only an agent of an organization's pool gets the jobs of its workspaces in agent mode", async () => {
    const pool = await makePool(api, org);
    const own = await makeAgent(api, pool);
    const remote = await makeAgent(api, await makePool(api, org));
    const mode = { "execution-mode": "agent", "agent-pool-id": pool.id };
    const served = await makeRunnable(api, org.name, { ...mode, "terraform-version": version });
    const run = await makeRun(org.owner, served.id);
    expect((await agent.claim()).status).toBe(204);
    expect((await remote.claim()).status).toBe(204);
    const job = await own.job();
    expect(job.attributes["run-id"]).toBe(run.id);
    const details = (await planOf(run)).attributes["execution-details"];
    expect(details).toMatchObject({ mode: "agent", "agent-id": own.id, "agent-pool-id": pool.id });
    await started();
    expect((await own.claim()).status).toBe(204);
  });

  it("a pool that no longer serves the workspace gets none of its jobs", async () => {
    const pool = await makePool(api, org);
    const own = await makeAgent(api, pool);
    const mode = { "execution-mode": "agent", "agent-pool-id": pool.id };
    const served = await makeRunnable(api, org.name, { ...mode, "terraform-version": version });
    const excluded = { "excluded-workspaces": { data: [{ type: "workspaces", id: served.id }] } };
    await makeRun(org.owner, served.id);
    const path = `/agent-pools/${pool.id}`;
    data(await org.owner.patch(path, resource("agent-pools", {}, excluded)));
    expect((await own.claim()).status).toBe(204);
    data(await org.owner.patch(path, resource("agent-pools", {}, { "excluded-workspaces": { data: [] } })));
    expect((await own.claim()).status).toBe(200);
  });
});

describe("a job's reports", () => {
  let run: Json;
  let job: Job;
  beforeEach(async () => {
    run = await started();
    job = await agent.job();
  });
  const status = async () => (await showRun(org.owner, run.id)).attributes.status;

  it("finish a plan: log, contents and result become visible together", async () => {
    expect((await job.act("start")).status).toBe(204);
    expect((await job.put("log", "&offset=0", "first line\n")).status).toBe(204);
    expect((await job.put("log", "&offset=11", "second line\n")).status).toBe(204);
    for (const kind of ["plan", "plan-json", "provider-schemas", "lock-file", "generated-configuration"])
      expect((await job.put(`contents/${kind}`, "", `{"a":"${kind}"}`)).status).toBe(204);
    const counts = { "resource-additions": 2, "resource-imports": 1, "action-invocations": 3 };
    const outcome = { result: "finished", "has-changes": true, ...counts };
    expect((await job.act("finish", outcome)).status).toBe(204);
    expect(await status()).toBe("planned");
    const plan = await planOf(run);
    expect(plan.attributes).toMatchObject({
      status: "finished",
      "has-changes": true,
      "generated-configuration": true,
      "resource-additions": 2,
      "resource-changes": 0,
      "resource-imports": 1,
      "action-invocations": 3,
    });
    expect(await logOf(plan)).toBe("\u0002first line\nsecond line\n\u0003");
    expect((await job.run.get(`/workspaces/${workspace.id}`)).status).toBe(401);
  });

  it("give the apply the outputs of its plan, and its state becomes the workspace's", async () => {
    await job.put("contents/plan", "", "the plan");
    await job.put("contents/plan", "", "the plan, once more");
    await job.put("contents/lock-file", "", "the lock file");
    await job.act("finish", { result: "finished", "has-changes": true });
    await applyTransition(api, run.id, { event: "apply" });
    const apply = await agent.job();
    expect(apply.attributes).toMatchObject({ phase: "apply", "run-id": run.id, "timeout-seconds": 86_400 });
    expect((await apply.get("contents/plan")).body).toBe("the plan, once more");
    expect((await apply.get("contents/lock-file")).body).toBe("the lock file");
    expect((await apply.get("contents/plan-json")).status).toBe(404);
    const relationship = { run: { data: { type: "runs", id: run.id } } };
    const body = resource("state-versions", stateAttributes(stateOf({ serial: 7 })), relationship);
    const made = data(await apply.run.post(`/workspaces/${workspace.id}/state-versions`, body));
    expect(made.attributes.intermediate).toBe(true);
    expect((await apply.act("finish", { result: "finished", "resource-additions": 1 })).status).toBe(204);
    expect(await status()).toBe("applied");
    const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
    expect(shown.relationships["current-state-version"].data.id).toBe(made.id);
    expect(shown.attributes.locked).toBe(false);
  });

  it("record why it failed", async () => {
    await job.act("finish", { result: "errored", "error-message": "The engine is broken." });
    expect(await status()).toBe("errored");
    expect((await planOf(run)).attributes.status).toBe("errored");
  });

  it("record that an agent stopped without a cancel", async () => {
    await job.act("finish", { result: "canceled" });
    expect(await status()).toBe("errored");
    const plan = await planOf(run);
    expect(plan.attributes["error-message"]).toMatch(/The agent stopped the job, although nobody had canceled the run/);
    expect(await logOf(plan)).toContain(plan.attributes["error-message"]);
  });

  it("heartbeat: no signal; cancel as soon as the run is canceled", async () => {
    expect((await job.act("heartbeat")).body).toEqual({ signal: null });
    const waiting = await afterCommit(() => job.act("heartbeat", { wait: 8 }));
    await applyTransition(api, run.id, { event: "cancel" });
    // After its wait without a signal, it gets null.
    expect((await waiting.answer).body).toEqual({ signal: "cancel" });
    expect((await job.act("finish", { result: "canceled" })).status).toBe(204);
    expect(await status()).toBe("canceled");
    expect((await job.act("heartbeat")).body).toEqual({ signal: "kill" });
  });

  it("log: repeated bytes are ignored; 409 for a gap, with the offset to continue at", async () => {
    await job.put("log", "&offset=0", "0123456789");
    expect((await job.put("log", "&offset=0", "0123456789")).status).toBe(204);
    const gap = await job.put("log", "&offset=20", "more");
    expect(gap.status).toBe(409);
    expect(details(gap)[0]).toContain("at offset 10");
    expect((await job.put("log", "&offset=x", "more")).status).toBe(400);
  });

  it("404: unknown contents, or those of another phase", async () => {
    expect((await job.put("contents/secrets", "", "x")).status).toBe(404);
    expect((await job.put("contents/errored-state", "", "x")).status).toBe(404);
    expect((await job.get("contents/plan")).status).toBe(404);
  });

  it("404: from another pool, from users, and from the run itself", async () => {
    const other = await makeSitePool(api);
    for (const caller of [other.agent, api.admin, org.owner, job.run])
      for (const [action, body] of [
        ["start", {}],
        ["heartbeat", {}],
        ["finish", { result: "finished" }],
      ] as const)
        expect((await caller.post(`/agent-jobs/${job.id}/actions/${action}`, { attempt: 1, ...body })).status).toBe(
          404,
        );
    expect(await status()).toBe("planning");
  });

  it("409: of another attempt, or after the end, without changes", async () => {
    const late = (attempt: number) =>
      [
        ["POST", "actions/start", { attempt }],
        ["POST", "actions/finish", { attempt, result: "errored" }],
        ["PUT", `log?attempt=${attempt}&offset=0`, "late"],
        ["PUT", `contents/plan?attempt=${attempt}`, "late"],
      ] as const;
    const send = async (attempt: number) => {
      const answers: number[] = [];
      for (const [method, path, body] of late(attempt))
        answers.push((await agent.send(method, `/agent-jobs/${job.id}/${path}`, body)).status);
      return answers;
    };
    expect(await send(2)).toEqual([409, 409, 409, 409]);
    expect((await agent.post(`/agent-jobs/${job.id}/actions/heartbeat`, { attempt: 2 })).status).toBe(409);
    expect(await status()).toBe("planning");
    await job.act("finish", { result: "finished", "has-changes": false });
    const [before, logged] = [await showRun(org.owner, run.id), await logOf(await planOf(run))];
    expect(await send(1)).toEqual([409, 409, 409, 409]);
    expect(await showRun(org.owner, run.id)).toEqual(before);
    expect(await logOf(await planOf(run))).toBe(logged);
  });

  it("finish: a repeated report is accepted without changes, for a lost response", async () => {
    const said = { result: "errored", "error-message": "It failed." };
    expect((await job.act("finish", said)).status).toBe(204);
    const before = await showRun(org.owner, run.id);
    expect((await job.act("finish", said)).status).toBe(204);
    expect((await job.act("finish", { result: "finished", "has-changes": false })).status).toBe(409);
    expect(await showRun(org.owner, run.id)).toEqual(before);
  });
});
