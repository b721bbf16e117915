/** Scenarios: inputs of runs, queueing, and permissions. */
import assert from "node:assert/strict";
import { currentRun, executedBy, isFree, resourcesOf, statusOf } from "./cli-run.ts";
import { applied, greeting, inRemote, type Scenario, slowly, until } from "./cli-scenario.ts";
import { organization } from "./cli-site.ts";

const variables: Scenario = {
  name: "variables of the workspace, and `-var`",
  checks: "`-var` overrides the workspace's variable, which overrides `*.auto.tfvars`; sensitive values are in no log",
  run: async (site) => {
    const name = "run-variables";
    const folder = await executedBy(
      "remote",
      site,
      name,
      `variable "who" { default = "nobody" }
variable "secret" {
  default   = "nothing"
  sensitive = true
}
output "who" { value = var.who }
output "known" { value = nonsensitive(var.secret) == "hunter2hunter2" }
`,
    );
    folder.write({ "some.auto.tfvars": 'who = "file"\n' });
    await site.setVariable(name, { key: "secret", value: "hunter2hunter2", sensitive: true });
    await site.setVariable(name, { key: "who", value: "workspace" });
    const first = await folder.succeed(applied);
    assert.match(first.text, /who\s*= "workspace"/);
    assert.match(first.text, /known\s*= true/);
    assert.doesNotMatch(first.text, /hunter2/);
    assert.match((await folder.succeed([...applied, "-var=who=asked"])).text, /who\s*= "asked"/);
  },
};

const byRemote: Scenario = {
  name: "`plan` and `apply` with the `remote` backend",
  checks: "the same, in plain text",
  run: async (site) => {
    const folder = await executedBy("remote", site, "run-remote", greeting("plain"), { block: inRemote });
    assert.match((await folder.succeed(["plan"])).text, /1 to add, 0 to change, 0 to destroy/);
    const { text } = await folder.succeed(applied);
    assert.match(text, /Apply complete! Resources: 1 added/);
    assert.doesNotMatch(text, /"@level"/);
  },
};

const sharing: Scenario = {
  name: "`terraform_remote_state` of another workspace",
  checks: "a run can't read it until the other workspace shares its state; then its outputs are available",
  run: async (site) => {
    await (await executedBy("remote", site, "run-shared", greeting("shared"))).succeed(applied);
    const reading = `data "terraform_remote_state" "other" {
  backend = "remote"
  config = {
    hostname     = "${site.runHostname}"
    organization = "${organization}"
    workspaces   = { name = "run-shared" }
  }
}
output "other" { value = data.terraform_remote_state.other.outputs.greeting }
`;
    const folder = await executedBy("remote", site, "run-reader", reading);
    await folder.refuse(["plan"], /Error/);
    const { id } = await site.workspace("run-shared");
    const consumer = await site.workspace("run-reader");
    const body = { data: [{ type: "workspaces", id: consumer.id }] };
    assert.equal((await site.api(`/workspaces/${id}/relationships/remote-state-consumers`, body)).status, 204);
    assert.match((await folder.succeed(applied)).text, /other\s*= "shared"/);
  },
};

const locked: Scenario = {
  name: "`apply` while another user holds the lock",
  checks:
    "the CLI says that it waits for the lock; Ctrl+C then cancels the run; another run continues automatically when the workspace is unlocked",
  run: async (site) => {
    const name = "run-locked";
    const folder = await executedBy("remote", site, name, greeting("patient"));
    const { id } = await site.workspace(name);
    assert.equal((await site.api(`/workspaces/${id}/actions/lock`, {})).status, 200);
    const given = folder.start(applied);
    await until("the CLI waits", () => /manually locked workspace to be unlocked/.test(given.text()), 30);
    given.signal("SIGINT", "program");
    await given.ended;
    const list = await site.api(`/workspaces/${id}/runs`);
    assert.deepEqual(
      list.body.data.map((run: { attributes: { status: string } }) => run.attributes.status),
      ["canceled"],
    );
    const waiting = folder.start(applied);
    await until("the CLI waits", () => /manually locked workspace to be unlocked/.test(waiting.text()), 30);
    assert.equal(await statusOf(site, name), "pending");
    assert.equal((await site.api(`/workspaces/${id}/actions/unlock`, {})).status, 200);
    const { code, text } = await waiting.ended;
    assert.equal(code, 0, text);
    assert.match(text, /1 added/);
  },
};

const queued: Scenario = {
  name: "two users apply to one workspace at the same time",
  checks: "the second CLI reports that it waits for the first, then finds no changes",
  run: async (site) => {
    const name = "run-queued";
    // Long enough for the second run to start, even on a busy machine.
    const folder = await executedBy("remote", site, name, slowly(20));
    const first = folder.start(applied);
    await until("the first applies", () => /slow: (Creating|Provisioning)/.test(first.text()), 60);
    const second = folder.start(applied, { as: "linus" });
    await until(
      "the second waits",
      () => /Waiting for 1 run\(s\) to finish before being queued/.test(second.text()),
      60,
    );
    for (const [running, saying] of [
      [first, /1 added/],
      [second, /No changes/],
    ] as const) {
      const { code, text } = await running.ended;
      assert.equal(code, 0, text);
      assert.match(text, saying);
    }
  },
};

const onlyReading: Scenario = {
  name: "Ada, who has read access, with remote execution",
  checks: "`output` works; `plan` and `apply` are refused, and no run is created",
  run: async (site) => {
    const name = "run-reading";
    const folder = await executedBy("remote", site, name, greeting("read"));
    await folder.succeed(applied);
    assert.equal((await folder.succeed(["output", "-raw", "greeting"], { as: "ada" })).stdout, "read");
    for (const words of [["plan"], applied])
      await folder.refuse(words, /Insufficient rights to (generate a plan|apply changes)/, { as: "ada" });
    const { id } = await site.workspace(name);
    const list = await site.api(`/workspaces/${id}/runs?filter[operation]=plan_only,plan_and_apply`);
    assert.equal(list.body.data.length, 1);
    assert.ok(await isFree(site, name));
  },
};

const awaitedAgent: Scenario = {
  name: "`apply` before the pool has an agent",
  checks: "the run waits and shows the reason; when an agent starts, it executes the run",
  slow: true,
  run: async (site) => {
    const pool = await site.makePool("run-awaited");
    const attributes = { "execution-mode": "agent", "agent-pool-id": pool.id };
    const folder = await executedBy("remote", site, "run-awaited", greeting("agent"), { attributes });
    const running = folder.start(applied);
    const waitsFor = async () => (await currentRun(site, "run-awaited"))?.attributes["waiting-for"] ?? "";
    await until("the run waits", async () => /agent/.test(await waitsFor()), 30);
    const agent = await site.startAgent(pool.token);
    try {
      const { code, text } = await running.ended;
      assert.equal(code, 0, text);
      assert.match(text, /1 added/);
    } finally {
      await agent.stop();
    }
  },
};

const unsupported: Scenario = {
  name: "`apply -invoke` and `query`",
  checks: "exit with 1 and a message that neither is supported yet; nothing is planned or applied",
  since: { Terraform: "1.14.0" },
  run: async (site) => {
    const name = "run-unsupported";
    const folder = await executedBy("remote", site, name, greeting("nothing"));
    await folder.refuse([...applied, "-invoke=action.some.thing"], /Invoking actions [^]* is not supported yet/);
    assert.equal(await statusOf(site, name), "errored");
    assert.equal(await resourcesOf(site, name), 0);
    assert.ok(await isFree(site, name));
    folder.write({ "all.tfquery.hcl": 'list "terraform_data" "all" {\n  provider = terraform\n}\n' });
    await folder.refuse(["query"], /Queries [^]* are not supported yet/);
  },
};

export const runCases: readonly Scenario[] = [
  variables,
  byRemote,
  sharing,
  locked,
  queued,
  onlyReading,
  awaitedAgent,
  unsupported,
];
