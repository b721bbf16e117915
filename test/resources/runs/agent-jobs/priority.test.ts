/** Variables of a priority set can't be overridden by a user who can only plan, in the job that an agent receives. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseJob } from "../../../../src/agent/job.ts";
import { variableFile } from "../../../../src/agent/variables.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { makeOrganization, makeVarset, type Org, resource } from "../../../support/builders.ts";
import { type Agent, makeAgent, makeSitePool, type Pool } from "../../../support/agent-callers.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";

const api = useApi();
let org: Org;
let site: Pool;
let agent: Agent;
let workspace: Json;

beforeAll(async () => {
  org = await makeOrganization(api);
  site = await makeSitePool(api);
});

describe("a variable of a set with priority", () => {
  const breakout = '"${/* " { */ 1}"\nguard = "evil"';
  beforeEach(async () => {
    agent = await makeAgent(api, site);
    workspace = await makeRunnable(api, org.name, { "terraform-version": "1.9.5" });
    const workspaces = { workspaces: { data: [{ type: "workspaces", id: workspace.id }] } };
    const set = await makeVarset(api, org.name, { priority: true }, workspaces);
    const guard = { key: "guard", value: "priority", category: "terraform" };
    expect((await org.owner.post(`/varsets/${set.id}/relationships/vars`, resource("vars", guard))).status).toBe(201);
  });

  it.each([
    ["by its key", [{ key: "guard", value: '"evil"' }]],
    [
      "twice",
      [
        { key: "guard", value: '"evil"' },
        { key: "guard", value: '"evil"' },
      ],
    ],
    ["by a key that is more", [{ key: 'x": 1, "guard', value: '"evil"' }]],
    ["by a key with a line", [{ key: "x = 1\nguard", value: '"evil"' }]],
    ["by a key in braces", [{ key: "guard{}", value: '"evil"' }]],
    ["by a value that seems to end earlier", [{ key: "other", value: breakout }]],
    ["by a value of several lines", [{ key: "other", value: '1\nguard = "evil"' }]],
    ["by a heredoc", [{ key: "other", value: '<<A\nx\nA\nguard = "evil"' }]],
  ])("is not replaced by a run's variable: %s", async (_, variables) => {
    const own = { key: "other", value: breakout, category: "terraform", hcl: true };
    const [evil] = variables;
    if (evil?.key !== "other")
      await org.owner.post(`/workspaces/${workspace.id}/vars`, resource("vars", { ...own, value: '"plain"' }));
    await org.owner.post(
      `/workspaces/${workspace.id}/vars`,
      resource("vars", { key: "guard", value: "evil", category: "terraform" }),
    );
    await org.owner.post(
      `/workspaces/${workspace.id}/vars`,
      resource("vars", { key: "TF_VAR_guard", value: "evil", category: "env" }),
    );
    await makeRun(org.owner, workspace.id, { variables });
    const job = parseJob((await agent.claim()).body);
    if (evil?.key === "other")
      return expect(() => variableFile(job.variables)).toThrow(/HCL value of the variable other/);
    expect(JSON.parse(variableFile(job.variables) ?? "")).toEqual({ guard: "priority", other: "plain" });
  });
});
