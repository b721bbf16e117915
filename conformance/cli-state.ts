/** Scenarios: state commands, large states, and remote state data sources. */
import assert from "node:assert/strict";
import { applied, greeting, inCloud, inRemote, type Scenario, until } from "./cli-scenario.ts";
import { type Folder, organization, type Site } from "./cli-site.ts";

const pulled = async (folder: Folder) => (await folder.succeed(["state", "pull"])).stdout;

/** A directory that has applied `one` and then `two`, with the first state in `old.json`. */
async function withHistory(site: Site, name: string, block: typeof inCloud): Promise<Folder> {
  const folder = site.folder({ "main.tf": block(site, { name }) + greeting("one") });
  await folder.succeed(["init", "-input=false"]);
  await folder.succeed(applied);
  folder.write({ "old.json": await pulled(folder), "main.tf": block(site, { name }) + greeting("two") });
  await folder.succeed(applied);
  return folder;
}

async function keepsWhatIsPulled(site: Site, name: string, text: string): Promise<void> {
  const url = (await site.state(name))?.["hosted-state-download-url"] as string;
  assert.deepEqual((await site.api(url)).body, JSON.parse(text));
}

const pullPush: Scenario = {
  name: "`state pull`, `state push`",
  checks:
    "the pulled state is the stored one; a newer state is accepted; an older one, or one with another lineage, is refused and changes nothing",
  run: async (site) => {
    const folder = await withHistory(site, "push", inCloud);
    const text = await pulled(folder);
    await keepsWhatIsPulled(site, "push", text);
    await folder.refuse(
      ["state", "push", "old.json"],
      /cannot import state with serial 1 over newer state with serial 2/,
    );
    const foreign = { ...JSON.parse(text), lineage: "00000000-0000-0000-0000-000000000000", serial: 9 };
    folder.write({ "foreign.json": JSON.stringify(foreign) });
    await folder.refuse(["state", "push", "foreign.json"], /lineage/);
    assert.equal((await site.state("push"))?.["serial"], 2);
    const newer = { ...JSON.parse(folder.read("old.json")), serial: 5 };
    await folder.succeed(["state", "push", "-"], { input: JSON.stringify(newer) });
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "one");
    assert.equal((await site.workspace("push")).attributes["locked"], false);
  },
};

const pushByForce: Scenario = {
  name: '`state push -force`, `backend "remote"`',
  checks: "an older state replaces the newer one, which stays in the history",
  run: async (site) => {
    const folder = await withHistory(site, "push-force", inRemote);
    await folder.refuse(["state", "push", "old.json"], /cannot import state with serial/);
    await folder.succeed(["state", "push", "-force", "old.json"]);
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "one");
    const filter = `filter[organization][name]=${organization}&filter[workspace][name]=push-force`;
    assert.equal((await site.api(`/state-versions?${filter}`)).body.data.length, 3);
    await folder.succeed(applied);
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "two");
  },
};

const pushByForceInCloud: Scenario = {
  name: "`state push -force`, `cloud` block",
  checks:
    "this CLI ignores `-force` with a `cloud` block, so the service refuses with a message that says what to do; the CLI leaves the workspace locked, and `force-unlock` unlocks it; a state with a higher serial is accepted",
  run: async (site) => {
    const folder = await withHistory(site, "push-cloud", inCloud);
    const { text } = await folder.refuse(
      ["state", "push", "-force", "old.json"],
      /conflict A different state with the serial/,
    );
    const serial = Number(/set 'serial' in your state above (\d+)/.exec(text)?.[1]);
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "two");
    assert.equal((await site.workspace("push-cloud")).attributes["locked"], true);
    await folder.succeed(["force-unlock", "-force", `${organization}/push-cloud`]);
    assert.equal((await folder.run(["plan", "-detailed-exitcode"])).code, 0);
    const raised = JSON.stringify({ ...JSON.parse(folder.read("old.json")), serial: serial + 1 });
    await folder.succeed(["state", "push", "-"], { input: raised });
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "one");
  },
};

const surgery: Scenario = {
  name: "`state list`, `state show`, `state mv`, `state rm`, `taint`",
  checks: "each change creates a state version; the service's list of resources is updated",
  run: async (site) => {
    const folder = site.folder({ "main.tf": inCloud(site, { name: "surgery" }) + greeting("hello") });
    await folder.succeed(["init", "-input=false"]);
    await folder.succeed(applied);
    assert.equal((await folder.succeed(["state", "list"])).stdout.trim(), "terraform_data.greeting");
    assert.match((await folder.succeed(["state", "show", "terraform_data.greeting"])).text, /input = "hello"/);
    await folder.succeed(["taint", "terraform_data.greeting"]);
    await folder.succeed(["state", "mv", "terraform_data.greeting", "terraform_data.moved"]);
    const { id } = await site.workspace("surgery");
    const { body } = await site.api(`/workspaces/${id}/resources`);
    assert.equal(body.data[0].attributes.address, "terraform_data.moved");
    await folder.succeed(["state", "rm", "terraform_data.moved"]);
    assert.equal((await site.workspace("surgery")).attributes["resource-count"], 0);
    assert.equal((await site.state("surgery"))?.["serial"], 4);
  },
};

const remoteState: Scenario = {
  name: "`terraform_remote_state` between workspaces",
  checks: "another workspace reads the outputs, including sensitive ones, and gets changes at the next apply",
  run: async (site) => {
    const producer = site.folder({ "main.tf": inCloud(site, { name: "producer" }) + greeting("first") });
    await producer.succeed(["init", "-input=false"]);
    await producer.succeed(applied);
    const consumer = site.folder({ "main.tf": inCloud(site, { name: "consumer" }) + consuming(site, "producer") });
    await consumer.succeed(["init", "-input=false"]);
    await consumer.succeed(applied);
    assert.equal((await consumer.succeed(["output", "-raw", "read"])).stdout, "first");
    const secret = 'output "secret" {\n  value     = "opened"\n  sensitive = true\n}\n';
    producer.write({ "main.tf": inCloud(site, { name: "producer" }) + greeting("second") + secret });
    await producer.succeed(applied);
    consumer.write({ "secret.tf": secret.replace('"opened"', "data.terraform_remote_state.other.outputs.secret") });
    await consumer.succeed(applied);
    assert.equal((await consumer.succeed(["output", "-raw", "read"])).stdout, "second");
    assert.equal((await consumer.succeed(["output", "-raw", "secret"])).stdout, "opened");
    const lost = site.folder({ "main.tf": inCloud(site, { name: "lost" }) + consuming(site, "not-there") });
    await lost.succeed(["init", "-input=false"]);
    await lost.refuse(applied, /not-there|No stored state was found/);
  },
};

const consuming = ({ hostname }: Site, name: string) => `data "terraform_remote_state" "other" {
  backend = "remote"
  config = {
    hostname     = "${hostname}"
    organization = "${organization}"
    workspaces   = { name = "${name}" }
  }
}

output "read" {
  value = data.terraform_remote_state.other.outputs.greeting
}
`;

const numbered = (count: number, text: string) => `resource "terraform_data" "many" {
  count = ${count}
  input = "\${count.index} ${text}"
}

output "ids" {
  value = terraform_data.many[*].id
}
`;

async function applyMany(site: Site, name: string, count: number, text: string): Promise<Folder> {
  const configuration = inCloud(site, { name }) + numbered(count, text);
  const folder = site.folder({ "main.tf": configuration, "text.txt": "0123456789".repeat(10_000) });
  await folder.succeed(["init", "-input=false"]);
  assert.match((await folder.succeed(applied)).text, new RegExp(`${count} added`));
  const ids = JSON.parse((await folder.succeed(["output", "-json", "ids"])).stdout) as string[];
  assert.equal(new Set(ids).size, count);
  return folder;
}

const manyResources: Scenario = {
  name: "`apply` and `destroy` of 200 resources",
  checks: "the service lists all of them, and none after `destroy`",
  run: async (site) => {
    const folder = await applyMany(site, "many", 200, "of many");
    const { id, attributes } = await site.workspace("many");
    assert.equal(attributes["resource-count"], 200);
    assert.equal((await site.api(`/workspaces/${id}/resources`)).body.meta.pagination["total-count"], 200);
    assert.equal((await folder.run(["plan", "-detailed-exitcode"])).code, 0);
    assert.match((await folder.succeed(["destroy", "-auto-approve"])).text, /200 destroyed/);
    assert.equal((await site.workspace("many")).attributes["resource-count"], 0);
  },
};

const largeState: Scenario = {
  name: "`apply`, `output` and `state pull` of a large state",
  checks:
    "a state of 8 MB is returned unchanged; its outputs are available immediately, its resources after they are processed",
  slow: true,
  run: async (site) => {
    const folder = await applyMany(site, "large", 39, '${file("text.txt")}');
    const text = await pulled(folder);
    assert.ok(text.length > 7_500_000, `the state has ${text.length} bytes`);
    await keepsWhatIsPulled(site, "large", text);
    await until(
      "its resources are read",
      async () => (await site.workspace("large")).attributes["resource-count"] === 39,
    );
    const { id } = await site.workspace("large");
    assert.equal((await site.api(`/workspaces/${id}/current-state-version-outputs`)).body.data.length, 1);
    assert.equal((await folder.run(["plan", "-detailed-exitcode"])).code, 0);
  },
};

export const state: readonly Scenario[] = [
  pullPush,
  pushByForce,
  pushByForceInCloud,
  surgery,
  remoteState,
  manyResources,
  largeState,
];
