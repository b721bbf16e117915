/** JSON output of plans: who can read it, when, and its redacted form. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Caller, Json } from "../../../support/api.ts";
import { useApi } from "../../../support/api.ts";
import { details, type Org } from "../../../support/builders.ts";
import { endPlan, storeFinishedPlan, storeOutput, type StoredRun, storeRun } from "../../../support/phases.ts";
import { advanceRun, makeRun, makeRunnable } from "../../../support/runs.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
let org: Org;
let workspace: Json;
let byLevel: Record<"read" | "plan" | "write" | "admin", Caller>;

beforeAll(async () => {
  org = await api.makeOrganization();
  workspace = await api.makeWorkspace(org.name);
  const withAccess = async (level: string): Promise<Caller> => {
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, team.id, level as never);
    return api.makeMember(org.name, [team.id]);
  };
  byLevel = {
    read: await withAccess("read"),
    plan: await withAccess("plan"),
    write: await withAccess("write"),
    admin: await withAccess("admin"),
  };
});

const provider = "registry.terraform.io/acme/things";
const change = {
  actions: ["create"],
  before: null,
  after: { password: "hunter2" },
  after_sensitive: { password: true },
};
const plan = JSON.stringify({
  format_version: "1.2",
  variables: { password: { value: "hunter2" } },
  resource_changes: [{ mode: "managed", type: "thing", name: "one", provider_name: provider, change }],
});
const schemas = JSON.stringify({
  format_version: "1.0",
  provider_schemas: {
    [provider]: {
      resource_schemas: { thing: { version: 0, block: { attributes: { password: { type: "string" } } } } },
    },
  },
});

describe("showPlanJson, showRunPlanJson", () => {
  it("200: the exact bytes, for workspace admins", async () => {
    const run = await storeFinishedPlan(api, workspace, org.id, { plan, schemas });
    for (const path of [`/plans/${run.plan.id}/json-output`, `/runs/${run.id}/plan/json-output`]) {
      const answer = await byLevel.admin.get(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(answer.body).toEqual(JSON.parse(plan));
    }
    const shown = await byLevel.admin.get(`/plans/${run.plan.id}/json-schema`);
    expect(shown.body).toEqual(JSON.parse(schemas));
  });

  it("204: the plan has not finished, even if its output is stored", async () => {
    const run = await storeRun(api, workspace, org.id);
    await storeOutput(api, run, "plan-json", plan);
    for (const path of ["json-output", "json-schema", "json-output-redacted"]) {
      const answer = await org.owner.get(`/plans/${run.plan.id}/${path}`);
      expect([answer.status, answer.body]).toEqual([204, undefined]);
    }
    expect((await org.owner.get(`/runs/${run.id}/plan/json-output`)).status).toBe(204);
  });

  it("404: the plan has ended without output", async () => {
    const run = await storeRun(api, workspace, org.id);
    await endPlan(api, run, "errored");
    for (const path of ["json-output", "json-schema", "json-output-redacted"])
      expect((await org.owner.get(`/plans/${run.plan.id}/${path}`)).status).toBe(404);
  });

  it("403: callers with read, plan or write access, and the organization's token", async () => {
    const run = await storeFinishedPlan(api, workspace, org.id, { plan, schemas });
    const token = await api.makeOrganizationToken(org.name);
    for (const caller of [byLevel.read, byLevel.plan, byLevel.write, token])
      for (const path of [
        `/plans/${run.plan.id}/json-output`,
        `/runs/${run.id}/plan/json-output`,
        `/plans/${run.plan.id}/json-schema`,
      ]) {
        const answer = await caller.get(path);
        expect(answer.status).toBe(403);
        expect(details(answer)[0]).toContain("admin access to the workspace, and not an organization's token");
      }
  });

  it("404: an apply instead of a plan", async () => {
    const run = await storeFinishedPlan(api, workspace, org.id, { plan, schemas });
    expect((await org.owner.get(`/plans/${run.apply.id}/json-output`)).status).toBe(404);
  });
});

describe("showRedactedPlanJson", () => {
  it("200: the redacted plan, for callers who can read the run", async () => {
    const run = await storeFinishedPlan(api, workspace, org.id, { plan, schemas });
    for (const caller of [byLevel.read, byLevel.admin, org.owner]) {
      const { status, body } = await caller.get(`/plans/${run.plan.id}/json-output-redacted`);
      expect(status).toBe(200);
      expect(body.plan_format_version).toBe("1.2");
      expect(body.resource_changes[0].change.after).toEqual({ password: "(sensitive value 1)" });
      expect(body.provider_schemas).toEqual(JSON.parse(schemas).provider_schemas);
      expect(JSON.stringify(body)).not.toContain("hunter2");
    }
  });

  it("200: also without stored schemas", async () => {
    const run = await storeRun(api, workspace, org.id);
    await storeOutput(api, run, "plan-json", plan);
    await endPlan(api, run);
    const { status, body } = await org.owner.get(`/plans/${run.plan.id}/json-output-redacted`);
    expect(status).toBe(200);
    expect(body.provider_schemas[provider].resource_schemas.thing.block.attributes).toHaveProperty("password");
  });

  it("200: with the actions that the plan invokes, without their secrets", async () => {
    const invocation = {
      address: "action.notify.ops",
      type: "notify",
      name: "ops",
      provider_name: provider,
      config_values: { text: "hi", token: "hunter2" },
      config_sensitive: { token: true },
      config_unknown: {},
      invoke_action_trigger: {},
    };
    const action_schemas = {
      notify: { block: { attributes: { text: { type: "string" }, token: { type: "string" } } } },
    };
    const run = await storeFinishedPlan(api, workspace, org.id, {
      plan: JSON.stringify({ format_version: "1.2", action_invocations: [invocation] }),
      schemas: JSON.stringify({ format_version: "1.0", provider_schemas: { [provider]: { action_schemas } } }),
    });
    const { status, body } = await byLevel.read.get(`/plans/${run.plan.id}/json-output-redacted`);
    expect(status).toBe(200);
    expect(body.action_invocations).toEqual([
      { ...invocation, config_values: { text: "hi", token: "(sensitive value 1)" } },
    ]);
    expect(body.provider_schemas).toEqual({ [provider]: { action_schemas } });
  });

  itInGate("409: a plan that is too large to be rendered", async () => {
    const run = await storeFinishedPlan(api, workspace, org.id, { plan: `{"a":"${"x".repeat(33 * 1024 * 1024)}"}` });
    const answer = await org.owner.get(`/plans/${run.plan.id}/json-output-redacted`);
    expect(answer.status).toBe(409);
    expect(details(answer)[0]).toMatch(
      /^This plan is too large to be rendered: it has 34603016 bytes .* json-output\.$/,
    );
    expect((await org.owner.get(`/plans/${run.plan.id}/json-output`)).status).toBe(200);
  });

  it("409: the engine's output is not JSON", async () => {
    const run = await storeFinishedPlan(api, workspace, org.id, { plan: "{" });
    const answer = await org.owner.get(`/plans/${run.plan.id}/json-output-redacted`);
    expect(answer.status).toBe(409);
    expect(details(answer)[0]).toContain("is not valid JSON");
  });

  it("200: values of sensitive variables are masked, also once the run has ended", async () => {
    const own = await makeRunnable(api, org.name);
    for (const [key, value, sensitive] of [
      ["password", "hunter2-of-the-workspace", true],
      ["region", "eu-west-1", false],
    ] as const) {
      const attributes = { key, value, sensitive, category: "terraform" };
      await org.owner.post(`/workspaces/${own.id}/vars`, { data: { type: "vars", attributes } });
    }
    const { id } = await makeRun(org.owner, own.id, { "plan-only": true });
    const { relationships } = (await org.owner.get(`/runs/${id}`)).body.data;
    const planId = relationships.plan.data.id;
    const leaking = {
      actions: ["create"],
      before: null,
      after: { url: "https://hunter2-of-the-workspace@eu-west-1/" },
    };
    await storeOutput(
      api,
      { id, organizationId: org.id } as StoredRun,
      "plan-json",
      JSON.stringify({ resource_changes: [{ type: "thing", name: "one", provider_name: provider, change: leaking }] }),
    );
    await advanceRun(api, id, "finished");
    const { status, body } = await org.owner.get(`/plans/${planId}/json-output-redacted`);
    expect(status).toBe(200);
    expect(body.resource_changes[0].change.after).toEqual({ url: "https://(sensitive variable 1)@eu-west-1/" });
    // A value that is changed later does not affect this run.
    const [variable] = (await org.owner.get(`/workspaces/${own.id}/vars`)).body.data;
    await org.owner.delete(`/workspaces/${own.id}/vars/${variable.id}`);
    const later = await org.owner.get(`/plans/${planId}/json-output-redacted`);
    expect(JSON.stringify(later.body)).not.toContain("hunter2");
  });

  itInGate("409: JSON with too many values", async () => {
    const hostile = `{"resource_changes":[${"[1.0],".repeat(4 * 1024 * 1024)}0]}`;
    const run = await storeFinishedPlan(api, workspace, org.id, { plan: hostile });
    const answer = await org.owner.get(`/plans/${run.plan.id}/json-output-redacted`);
    expect(answer.status).toBe(409);
    expect(details(answer)[0]).toMatch(/^This plan can't be rendered: it has more than \d+ values\./);
  });

  itInGate("answers many concurrent requests", async () => {
    const run = await storeFinishedPlan(api, workspace, org.id, { plan, schemas });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => byLevel.read.get(`/plans/${run.plan.id}/json-output-redacted`)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  });
});

describe("showErroredState", () => {
  it("200: the state that could not be stored, for callers who can read states", async () => {
    const run = await storeRun(api, workspace, org.id);
    await storeOutput(api, run, "errored-state", '{"version":4,"serial":7}');
    const { status, body } = await byLevel.write.get(`/applies/${run.apply.id}/errored-state`);
    expect([status, body]).toEqual([200, { version: 4, serial: 7 }]);
  });

  it("404: there is none", async () => {
    const run = await storeRun(api, workspace, org.id);
    expect((await org.owner.get(`/applies/${run.apply.id}/errored-state`)).status).toBe(404);
  });

  it("403: a caller who can read runs, but not states", async () => {
    const run = await storeRun(api, workspace, org.id);
    await storeOutput(api, run, "errored-state", "{}");
    const team = await api.makeTeam(org.name);
    const other = await api.makeWorkspace(org.name);
    const mine = await storeRun(api, other, org.id);
    await storeOutput(api, mine, "errored-state", "{}");
    await api.admin.post("/team-workspaces", {
      data: {
        type: "team-workspaces",
        attributes: { access: "custom", runs: "read", "state-versions": "none", variables: "none" },
        relationships: {
          team: { data: { type: "teams", id: team.id } },
          workspace: { data: { type: "workspaces", id: other.id } },
        },
      },
    });
    const caller = await api.makeMember(org.name, [team.id]);
    expect((await caller.get(`/applies/${mine.apply.id}`)).status).toBe(200);
    expect((await caller.get(`/applies/${mine.apply.id}/errored-state`)).status).toBe(403);
  });
});

describe("unsupported endpoints", () => {
  it("404: sanitized plans and plan exports", async () => {
    const run = await storeFinishedPlan(api, workspace, org.id);
    expect((await org.owner.get(`/plans/${run.plan.id}/sanitized-plan`)).status).toBe(404);
    expect((await org.owner.get(`/runs/${run.id}/plan/sanitized-plan`)).status).toBe(404);
    expect((await org.owner.post("/plan-exports", {})).status).toBe(404);
    expect((await org.owner.get("/plan-exports/pe-1234567890abcdef")).status).toBe(404);
    expect((await org.owner.get("/plan-exports/pe-1234567890abcdef/download")).status).toBe(404);
    expect((await org.owner.delete("/plan-exports/pe-1234567890abcdef")).status).toBe(404);
  });
});
