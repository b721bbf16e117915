/** Scenarios: workspaces whose runs the service executes, by its own workers or by an agent of a pool. */
import assert from "node:assert/strict";
import { applied, greeting, inCloud, inRemote, type Scenario, until } from "./cli-scenario.ts";
import { type Folder, organization, type Site } from "./cli-site.ts";

/** Makes a workspace that executes remotely, with the CLI's own version, and a folder that is initialized for it. */
async function remote(
  site: Site,
  name: string,
  configuration: string,
  { attributes = {}, block = inCloud }: { attributes?: object; block?: typeof inCloud } = {},
): Promise<Folder> {
  await site.makeWorkspace(name, { "execution-mode": "remote", ...attributes });
  const folder = site.folder({ "main.tf": block(site, { name }) + configuration });
  await folder.succeed(["init", "-input=false"]);
  return folder;
}

const currentRun = async (site: Site, name: string) => {
  const { body } = await site.api(`/organizations/${organization}/workspaces/${name}?include=current_run`);
  return body.included?.find(({ type }: { type: string }) => type === "runs");
};
const statusOf = async (site: Site, name: string) => (await currentRun(site, name))?.attributes.status;
const isFree = async (site: Site, name: string) => (await site.workspace(name)).attributes["locked"] === false;

const planApply: Scenario = {
  name: "`plan`, `apply` with approval",
  checks:
    "the plan is drawn and writes nothing; a `no` discards the run and frees the workspace; a `yes` applies it, and the state, the outputs and the current run are there",
  run: async (site) => {
    const folder = await remote(site, "run-apply", greeting("hello"));
    const planned = await folder.succeed(["plan", "-input=false"]);
    assert.match(planned.text, /1 to add, 0 to change, 0 to destroy/);
    assert.match(planned.text, /terraform_data\.greeting will be created/);
    assert.equal(await site.state("run-apply"), undefined);
    assert.ok(await isFree(site, "run-apply"));
    await folder.refuse(["apply"], /Apply discarded/, { answers: ["no"] });
    assert.equal(await statusOf(site, "run-apply"), "discarded");
    assert.ok(await isFree(site, "run-apply"));
    const { text } = await folder.succeed(["apply"], { answers: ["yes"] });
    assert.match(text, /1 added, 0 changed, 0 destroyed/);
    assert.match(text, /greeting = "hello"/);
    assert.equal(await statusOf(site, "run-apply"), "applied");
    assert.equal((await site.state("run-apply"))?.["billable-rum-count"], 1);
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "hello");
    assert.equal((await site.workspace("run-apply")).attributes["resource-count"], 1);
  },
};

const autoApprove: Scenario = {
  name: "`apply -auto-approve`, `plan` without changes, `destroy`",
  checks: "the run is applied by itself; a second plan finds nothing; `destroy` removes what was made",
  run: async (site) => {
    const folder = await remote(site, "run-auto", greeting("auto"));
    assert.match((await folder.succeed(applied)).text, /1 added/);
    assert.match((await folder.succeed(["plan"])).text, /No changes/);
    assert.match((await folder.succeed(["destroy", "-auto-approve"])).text, /1 destroyed/);
    assert.equal((await site.workspace("run-auto")).attributes["resource-count"], 0);
    const run = await currentRun(site, "run-auto");
    assert.deepEqual([run.attributes.status, run.attributes["is-destroy"]], ["applied", true]);
  },
};

const two = `${greeting("one")}resource "terraform_data" "other" {\n  input = "two"\n}\n`;

const chosen: Scenario = {
  name: "`-target`, `-replace`, `-refresh-only`",
  checks: "only the target is made; the replaced resource is made anew; refreshing alone changes nothing",
  run: async (site) => {
    const folder = await remote(site, "run-chosen", two);
    assert.match((await folder.succeed([...applied, "-target=terraform_data.other"])).text, /1 added/);
    assert.equal((await site.workspace("run-chosen")).attributes["resource-count"], 1);
    assert.match((await folder.succeed(applied)).text, /1 added/);
    const replaced = await folder.succeed([...applied, "-replace=terraform_data.other"]);
    assert.match(replaced.text, /1 added, 0 changed, 1 destroyed/);
    await folder.succeed(["plan", "-refresh-only"]);
    await folder.succeed(["apply", "-refresh-only", "-auto-approve"]);
    assert.equal((await site.workspace("run-chosen")).attributes["resource-count"], 2);
  },
};

const variables: Scenario = {
  name: "variables of the workspace, and `-var`",
  checks: "`-var` wins over the workspace's variable, and that over `*.auto.tfvars`; a sensitive one is in no log",
  run: async (site) => {
    const folder = await remote(
      site,
      "run-variables",
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
    await site.setVariable("run-variables", { key: "secret", value: "hunter2hunter2", sensitive: true });
    await site.setVariable("run-variables", { key: "who", value: "workspace" });
    const first = await folder.succeed(applied);
    assert.match(first.text, /who\s*= "workspace"/);
    assert.match(first.text, /known\s*= true/);
    assert.doesNotMatch(first.text, /hunter2/);
    assert.match((await folder.succeed([...applied, "-var=who=asked"])).text, /who\s*= "asked"/);
  },
};

const failing: Scenario = {
  name: "an `apply` that fails half-way",
  checks: "the CLI ends with 1 and tells why; what was made by then is in the state; the workspace is free",
  run: async (site) => {
    const configuration = `${greeting("made")}resource "terraform_data" "broken" {
  depends_on = [terraform_data.greeting]
  provisioner "local-exec" {
    command = "echo this went wrong; exit 3"
  }
}
`;
    const folder = await remote(site, "run-failing", configuration);
    await folder.refuse(applied, /exit status 3|this went wrong/);
    assert.equal(await statusOf(site, "run-failing"), "errored");
    await until("the workspace is free", () => isFree(site, "run-failing"));
    assert.ok((await site.workspace("run-failing")).attributes["resource-count"] >= 1);
  },
};

const broken: Scenario = {
  name: "a `plan` of a configuration that is wrong",
  checks: "the CLI ends with 1 and shows the engine's own message; the next run works",
  run: async (site) => {
    const folder = await remote(site, "run-broken", 'output "x" { value = terraform_data.absent.output }\n');
    await folder.refuse(["plan"], /Reference to undeclared resource/);
    folder.write({ "main.tf": inCloud(site, { name: "run-broken" }) + greeting("mended") });
    assert.match((await folder.succeed(applied)).text, /1 added/);
  },
};

const slow = `${greeting("first")}resource "terraform_data" "slow" {
  depends_on = [terraform_data.greeting]
  provisioner "local-exec" {
    command = "sleep 100"
  }
}
`;

const interrupted: Scenario = {
  name: "Ctrl+C while an apply runs",
  checks: "the run is canceled, the engine stops by itself, what was made is in the state, and the workspace is free",
  run: async (site) => {
    const folder = await remote(site, "run-interrupted", slow);
    const running = folder.start(applied);
    await until("the apply is under way", () => /slow: Creating|slow: Provisioning/.test(running.text()), 60);
    running.signal("SIGINT", "program");
    await running.ended;
    await until("the run has ended", async () => (await statusOf(site, "run-interrupted")) === "canceled", 60);
    await until("the workspace is free", () => isFree(site, "run-interrupted"));
    assert.ok((await site.workspace("run-interrupted")).attributes["resource-count"] >= 1);
  },
};

const savedPlan: Scenario = {
  name: "`plan -out`, `show` and `apply` of the saved plan",
  checks: "the plan is kept by the service and holds no lock; it is applied as it was, and once only",
  since: { Terraform: "1.6.0", OpenTofu: "1.6.0" },
  run: async (site) => {
    const folder = await remote(site, "run-saved", greeting("saved"));
    await folder.succeed(["plan", "-out=kept.tfplan"]);
    assert.ok(await isFree(site, "run-saved"));
    assert.match((await folder.succeed(["show", "kept.tfplan"])).text, /1 to add/);
    assert.match((await folder.succeed(["apply", "kept.tfplan"])).text, /1 added/);
    assert.equal((await folder.run(["apply", "kept.tfplan"])).code, 1);
  },
};

const byRemote: Scenario = {
  name: "`plan` and `apply` with the `remote` backend",
  checks: "the same, in plain text",
  run: async (site) => {
    const folder = await remote(site, "run-remote", greeting("plain"), { block: inRemote });
    assert.match((await folder.succeed(["plan"])).text, /1 to add, 0 to change, 0 to destroy/);
    const { text } = await folder.succeed(applied);
    assert.match(text, /Apply complete! Resources: 1 added/);
    assert.doesNotMatch(text, /"@level"/);
  },
};

const sharing: Scenario = {
  name: "`terraform_remote_state` of another workspace",
  checks: "is refused to a run until the other workspace shares its state; then its outputs are there",
  run: async (site) => {
    await (await remote(site, "run-shared", greeting("shared"))).succeed(applied);
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
    const folder = await remote(site, "run-reader", reading);
    await folder.refuse(["plan"], /Error/);
    const { id } = await site.workspace("run-shared");
    const consumer = await site.workspace("run-reader");
    const body = { data: [{ type: "workspaces", id: consumer.id }] };
    assert.equal((await site.api(`/workspaces/${id}/relationships/remote-state-consumers`, body)).status, 204);
    assert.match((await folder.succeed(applied)).text, /other\s*= "shared"/);
  },
};

const byAgent: Scenario = {
  name: "`plan` and `apply` in a workspace of an agent pool",
  checks: "the pool's agent executes it; before one is there, the run waits and says for what",
  slow: true,
  run: async (site) => {
    const pool = await site.makePool("run-pool");
    const folder = await remote(site, "run-agent", greeting("agent"), {
      attributes: { "execution-mode": "agent", "agent-pool-id": pool.id },
    });
    const running = folder.start(applied);
    await until(
      "the run waits",
      async () => /agent/.test((await currentRun(site, "run-agent"))?.attributes["waiting-for"] ?? ""),
      30,
    );
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

export const runs: readonly Scenario[] = [
  planApply,
  autoApprove,
  chosen,
  variables,
  failing,
  broken,
  interrupted,
  savedPlan,
  byRemote,
  sharing,
  byAgent,
];
