/** Scenarios: the life cycle of a run, with the server's workers and with an agent. */
import assert from "node:assert/strict";
import { currentRun, executedBy, isFree, type Mode, resourcesOf, statusOf } from "./cli-run.ts";
import { applied, greeting, inCloud, type Scenario, until } from "./cli-scenario.ts";

/** One scenario per mode, each with its own workspaces. */
type ScenarioInMode = (mode: Mode) => Scenario;

const planApply: ScenarioInMode = (mode) => ({
  name: "`plan`, `apply` with approval",
  checks:
    "the plan is shown and writes nothing; `no` discards the run and unlocks the workspace; `yes` applies it and updates the state, the outputs and the current run",
  run: async (site) => {
    const name = `${mode}-apply`;
    const folder = await executedBy(mode, site, name, greeting("hello"));
    const planned = await folder.succeed(["plan", "-input=false"]);
    assert.match(planned.text, /1 to add, 0 to change, 0 to destroy/);
    assert.match(planned.text, /terraform_data\.greeting will be created/);
    assert.equal(await site.state(name), undefined);
    assert.ok(await isFree(site, name));
    await folder.refuse(["apply"], /Apply discarded/, { answers: ["no"] });
    assert.equal(await statusOf(site, name), "discarded");
    assert.ok(await isFree(site, name));
    const { text } = await folder.succeed(["apply"], { answers: ["yes"] });
    assert.match(text, /1 added, 0 changed, 0 destroyed/);
    assert.match(text, /greeting = "hello"/);
    assert.equal(await statusOf(site, name), "applied");
    assert.equal((await site.state(name))?.["billable-rum-count"], 1);
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "hello");
    assert.equal(await resourcesOf(site, name), 1);
  },
});

const autoApprove: ScenarioInMode = (mode) => ({
  name: "`apply -auto-approve`, `plan` without changes, `destroy`",
  checks:
    "the run is applied automatically; a second plan finds no changes; `destroy` asks for confirmation and deletes the resources",
  run: async (site) => {
    const name = `${mode}-auto`;
    const folder = await executedBy(mode, site, name, greeting("auto"));
    assert.match((await folder.succeed(applied)).text, /1 added/);
    assert.match((await folder.succeed(["plan"])).text, /No changes/);
    assert.match((await folder.succeed(["destroy"], { answers: ["yes"] })).text, /1 destroyed/);
    assert.equal(await resourcesOf(site, name), 0);
    const run = await currentRun(site, name);
    assert.deepEqual([run.attributes.status, run.attributes["is-destroy"]], ["applied", true]);
  },
});

const two = (first: string) => `${greeting(first)}resource "terraform_data" "other" {\n  input = "two"\n}\n`;
const noteOutput = (text: string) => `output "note" { value = ${JSON.stringify(text)} }\n`;

const chosen: ScenarioInMode = (mode) => ({
  name: "`-target`, `-replace`, `-refresh-only`",
  checks:
    "only the target is created; only the replaced resource is created again; `-refresh-only` updates outputs and changes no resource",
  run: async (site) => {
    const name = `${mode}-chosen`;
    const folder = await executedBy(mode, site, name, two("one"));
    assert.match((await folder.succeed([...applied, "-target=terraform_data.other"])).text, /1 added/);
    assert.equal(await resourcesOf(site, name), 1);
    assert.match((await folder.succeed(applied)).text, /1 added/);
    const replaced = await folder.succeed([...applied, "-replace=terraform_data.other"]);
    assert.match(replaced.text, /1 added, 0 changed, 1 destroyed/);
    folder.write({ "main.tf": inCloud(site, { name }) + two("changed") + noteOutput("refreshed") });
    assert.doesNotMatch((await folder.succeed(["plan", "-refresh-only"])).text, /greeting will be updated/);
    await folder.succeed(["apply", "-refresh-only", "-auto-approve"]);
    const { attributes } = await currentRun(site, name);
    assert.deepEqual([attributes["refresh-only"], attributes.status], [true, "applied"]);
    assert.equal((await folder.succeed(["output", "-raw", "note"])).stdout, "refreshed");
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "one");
  },
});

const failing: ScenarioInMode = (mode) => ({
  name: "an `apply` that fails halfway",
  checks:
    "the CLI exits with 1 and shows the error; resources created before it are in the state; the workspace is unlocked",
  run: async (site) => {
    const name = `${mode}-failing`;
    const configuration = `${greeting("made")}resource "terraform_data" "broken" {
  depends_on = [terraform_data.greeting]
  provisioner "local-exec" {
    command = "echo this went wrong; exit 3"
  }
}
`;
    const folder = await executedBy(mode, site, name, configuration);
    await folder.refuse(applied, /exit status 3|this went wrong/);
    assert.equal(await statusOf(site, name), "errored");
    await until("the workspace is free", () => isFree(site, name));
    assert.match((await folder.succeed(["state", "list"])).text, /terraform_data\.greeting/);
  },
});

const broken: ScenarioInMode = (mode) => ({
  name: "a `plan` of an invalid configuration",
  checks: "the CLI exits with 1 and shows the engine's message; the next run works",
  run: async (site) => {
    const name = `${mode}-broken`;
    const folder = await executedBy(mode, site, name, 'output "x" { value = terraform_data.absent.output }\n');
    await folder.refuse(["plan"], /Reference to undeclared resource/);
    folder.write({ "main.tf": inCloud(site, { name }) + greeting("mended") });
    assert.match((await folder.succeed(applied)).text, /1 added/);
  },
});

const slow = `${greeting("first")}resource "terraform_data" "slow" {
  depends_on = [terraform_data.greeting]
  provisioner "local-exec" {
    command = "sleep 100"
  }
}
`;

const interrupted: ScenarioInMode = (mode) => ({
  name: "Ctrl+C during an apply",
  checks:
    "the run is canceled, the engine stops, resources created before it are in the state, and the workspace is unlocked",
  run: async (site) => {
    const name = `${mode}-interrupted`;
    const folder = await executedBy(mode, site, name, slow);
    const running = folder.start(applied);
    await until("the apply is under way", () => /slow: Creating|slow: Provisioning/.test(running.text()), 60);
    running.signal("SIGINT", "program");
    assert.match((await running.ended).text, /remote operation was successfully cancelled/);
    await until("the run has ended", async () => (await statusOf(site, name)) === "canceled", 60);
    await until("the workspace is free", () => isFree(site, name));
    assert.match((await folder.succeed(["state", "list"])).text, /terraform_data\.greeting/);
  },
});

const savedPlan: ScenarioInMode = (mode) => ({
  name: "`plan -out`, `show` and `apply` of the saved plan",
  checks: "the service stores the plan, which holds no lock; it is applied unchanged, and only once",
  since: { Terraform: "1.6.0", OpenTofu: "1.6.0" },
  run: async (site) => {
    const name = `${mode}-saved`;
    const folder = await executedBy(mode, site, name, greeting("saved"));
    await folder.succeed(["plan", "-out=kept.tfplan"]);
    assert.ok(await isFree(site, name));
    assert.match((await folder.succeed(["show", "kept.tfplan"])).text, /1 to add/);
    folder.write({ "main.tf": inCloud(site, { name }) + greeting("later") });
    assert.match((await folder.succeed(["apply", "kept.tfplan"])).text, /1 added/);
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "saved");
    assert.equal((await folder.run(["apply", "kept.tfplan"])).code, 1);
  },
});

/** A quick run only uses the server's workers, because agents start slowly. */
const inMode = (mode: Mode): Scenario[] =>
  [planApply, autoApprove, chosen, failing, broken, interrupted, savedPlan].map((life) => ({
    ...life(mode),
    slow: mode === "agent",
  }));

export const remoteRuns: readonly Scenario[] = inMode("remote");
export const agentRuns: readonly Scenario[] = inMode("agent");
