/** Scenarios: from `init` to `destroy` in one workspace. */
import assert from "node:assert/strict";
import { applied, greeting, inCloud, type Scenario } from "./cli-scenario.ts";
import { organization, type Site } from "./cli-site.ts";

const init: Scenario = {
  name: "`init`, `cloud` block with a name",
  checks: "creates the workspace with local execution and the CLI's version; a second `init` changes nothing",
  run: async (site) => {
    const folder = site.folder({ "main.tf": inCloud(site, { name: "init" }) + greeting("hello") });
    const { text } = await folder.succeed(["init", "-input=false"]);
    assert.match(text, /has been successfully initialized/);
    const { id, attributes } = await site.workspace("init");
    assert.equal(attributes["execution-mode"], "local");
    assert.equal(
      attributes["terraform-version"],
      JSON.parse((await folder.succeed(["version", "-json"])).stdout).terraform_version,
    );
    assert.equal(await site.state("init"), undefined);
    await folder.succeed(["init", "-input=false"]);
    assert.equal((await site.workspace("init")).id, id);
  },
};

const initRefused: Scenario = {
  name: "`init` with a wrong token, or for an organization that does not exist",
  checks: "exits with 1 and names the organization; nothing is created",
  run: async (site) => {
    const block = inCloud(site, { name: "refused" });
    const stranger = block.replace("hostname ", 'token = "nobody"\n    hostname ');
    await site
      .folder({ "main.tf": stranger })
      .refuse(["init", "-input=false"], /Failed to read organization "acme" .*unauthorized/);
    const elsewhere = block.replace('"acme"', '"nowhere"');
    await site
      .folder({ "main.tf": elsewhere })
      .refuse(["init", "-input=false"], /organization "nowhere" at host .* not found/);
    assert.equal((await site.api("/organizations/acme/workspaces/refused")).status, 404);
  },
};

const planApply: Scenario = {
  name: "`plan`, `apply`, `show`, `refresh`",
  checks:
    "a plan writes nothing and leaves no lock; an apply writes the state with its resources and outputs; the next plan finds nothing to do",
  run: async (site) => {
    const folder = site.folder({ "main.tf": inCloud(site, { name: "apply" }) + greeting("hello") });
    await folder.succeed(["init", "-input=false"]);
    assert.equal((await folder.run(["plan", "-detailed-exitcode"])).code, 2);
    assert.equal(await site.state("apply"), undefined);
    assert.match((await folder.succeed(applied)).text, /Apply complete! Resources: 1 added/);
    const state = await site.state("apply");
    assert.equal(state?.["serial"], 1);
    assert.equal(state?.["billable-rum-count"], 1);
    const { id, attributes } = await site.workspace("apply");
    assert.equal(attributes["resource-count"], 1);
    assert.equal(attributes["locked"], false);
    const resources = await site.api(`/workspaces/${id}/resources`);
    assert.equal(resources.body.data[0].attributes.address, "terraform_data.greeting");
    assert.equal((await folder.run(["plan", "-detailed-exitcode"])).code, 0);
    const shown = JSON.parse((await folder.succeed(["show", "-json"])).stdout);
    assert.equal(shown.values.root_module.resources[0].values.output, "hello");
    folder.write({ "main.tf": inCloud(site, { name: "apply" }) + greeting("hello again") });
    assert.match((await folder.succeed(applied)).text, /1 changed/);
    assert.equal((await site.state("apply"))?.["serial"], 2);
    await folder.succeed(["refresh"]);
    assert.equal((await site.state("apply"))?.["serial"], 2);
  },
};

const savedPlan: Scenario = {
  name: "`plan -out`, `apply` of the saved plan",
  checks: "the saved plan is applied unchanged; a plan from before another user's apply is refused as stale",
  run: async (site) => {
    const folder = site.folder({ "main.tf": inCloud(site, { name: "saved-plan" }) + greeting("planned") });
    await folder.succeed(["init", "-input=false"]);
    await folder.succeed(["plan", "-out=first"]);
    await folder.succeed(["apply", "first"]);
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "planned");
    folder.write({ "main.tf": inCloud(site, { name: "saved-plan" }) + greeting("planned again") });
    await folder.succeed(["plan", "-out=second"]);
    await folder.succeed(applied);
    await folder.refuse(["apply", "second"], /Saved plan is stale/);
    const { attributes } = await site.workspace("saved-plan");
    assert.equal(attributes["locked"], false);
  },
};

const many = 45;
const typed = `output "text" {
  value = "a \\"quoted\\" ünïcode ☃ text"
}
output "number" {
  value = 12345678901234
}
output "fraction" {
  value = 0.25
}
output "flag" {
  value = true
}
output "list" {
  value = tolist(["a", "b"])
}
output "tuple" {
  value = ["a", 1, true]
}
output "map" {
  value = tomap({ a = 1, b = 2 })
}
output "object" {
  value = { name = "n", inner = { list = [1, 2], nothing = null } }
}
output "empty" {
  value = []
}
output "secret" {
  value     = "opened"
  sensitive = true
}
output "secret_object" {
  value     = { user = "u", password = "p" }
  sensitive = true
}
`;
const expected = {
  text: 'a "quoted" ünïcode ☃ text',
  number: 12345678901234,
  fraction: 0.25,
  flag: true,
  list: ["a", "b"],
  tuple: ["a", 1, true],
  map: { a: 1, b: 2 },
  object: { name: "n", inner: { list: [1, 2], nothing: null } },
  empty: [],
  secret: "opened",
  secret_object: { user: "u", password: "p" },
};

const outputs: Scenario = {
  name: "`output`, `output -json`, `output -raw`",
  checks: `values of every type are returned unchanged; sensitive ones are hidden, except with \`-json\` and \`-raw\`; ${many} outputs, more than one page, are all returned`,
  run: async (site) => {
    const numbered = Array.from({ length: many }, (_, index) => `output "n${index}" {\n  value = ${index}\n}\n`).join(
      "",
    );
    const folder = site.folder({ "main.tf": inCloud(site, { name: "outputs" }) + typed });
    await folder.succeed(["init", "-input=false"]);
    await folder.succeed(applied);
    const { stdout } = await folder.succeed(["output", "-json"]);
    const values = Object.entries(JSON.parse(stdout) as Record<string, { value: unknown }>);
    assert.deepEqual(Object.fromEntries(values.map(([name, { value }]) => [name, value])), expected);
    const { text } = await folder.succeed(["output"]);
    assert.match(text, /secret = <sensitive>/);
    assert.doesNotMatch(text, /opened/);
    assert.equal((await folder.succeed(["output", "-raw", "secret"])).stdout, "opened");
    await listHidesSecrets(site, "outputs");
    folder.write({ "more.tf": numbered });
    await folder.succeed(applied);
    const all = JSON.parse((await folder.succeed(["output", "-json"])).stdout);
    assert.equal(Object.keys(all).length, many + values.length);
  },
};

async function listHidesSecrets(site: Site, name: string): Promise<void> {
  const { id } = await site.workspace(name);
  const { body } = await site.api(`/workspaces/${id}/current-state-version-outputs`);
  const secret = body.data.find(({ attributes }: { attributes: { name: string } }) => attributes.name === "secret");
  assert.deepEqual([secret.attributes.sensitive, secret.attributes.value], [true, null]);
}

const destroy: Scenario = {
  name: "`destroy`, then `workspace delete`",
  checks:
    "neither the CLI nor the service deletes a workspace that manages resources; after `destroy` it can be deleted",
  run: async (site) => {
    const folder = site.folder({ "main.tf": inCloud(site, { tags: ["destroyed"] }) + greeting("bye") });
    await folder.succeed(["init"], { answers: ["destroy-me"] });
    await folder.succeed(applied);
    await folder.succeed(["workspace", "new", "destroy-other"]);
    await folder.refuse(["workspace", "delete", "destroy-me"], /Workspace is not empty/);
    const { id } = await site.workspace("destroy-me");
    assert.equal((await site.api(`/workspaces/${id}/actions/safe-delete`, {})).status, 409);
    await folder.succeed(["workspace", "select", "destroy-me"]);
    assert.match((await folder.succeed(["destroy", "-auto-approve"])).text, /1 destroyed/);
    assert.equal((await site.workspace("destroy-me")).attributes["resource-count"], 0);
    await folder.succeed(["workspace", "select", "destroy-other"]);
    await folder.succeed(["workspace", "delete", "destroy-me"]);
    assert.equal((await site.api("/organizations/acme/workspaces/destroy-me")).status, 404);
  },
};

const byVariables: Scenario = {
  name: "`init`, empty `cloud` block, configured by environment variables",
  checks: "`TF_CLOUD_HOSTNAME`, `TF_CLOUD_ORGANIZATION` and `TF_WORKSPACE` select the workspace",
  run: async (site) => {
    const env = { TF_CLOUD_HOSTNAME: site.hostname, TF_CLOUD_ORGANIZATION: organization, TF_WORKSPACE: "variables" };
    const body = { data: { type: "workspaces", attributes: { name: "variables" } } };
    assert.equal((await site.api(`/organizations/${organization}/workspaces`, body)).status, 201);
    const folder = site.folder({ "main.tf": `terraform {\n  cloud {}\n}\n${greeting("hello")}` });
    await folder.succeed(["init", "-input=false"], { env });
    await folder.succeed(applied, { env });
    assert.equal((await site.state("variables"))?.["serial"], 1);
  },
};

export const basics: readonly Scenario[] = [init, byVariables, initRefused, planApply, savedPlan, outputs, destroy];
