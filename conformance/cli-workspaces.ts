/** Scenarios: many workspaces in one configuration, by tags and by a prefix; and the `remote` backend. */
import assert from "node:assert/strict";
import { applied, greeting, inCloud, inRemote, type Scenario } from "./cli-scenario.ts";
import { organization, type Site } from "./cli-site.ts";

/** The workspaces that `workspace list` shows; the selected one has a star. */
const listed = (text: string) => text.replaceAll("*", "").trim().split(/\s+/);

const byTags: Scenario = {
  name: "`workspace new`, `list`, `show`, `select`, `delete`, `cloud` block with tags",
  checks: "new workspaces have the tags, and only tagged workspaces are listed; each has its own state",
  run: async (site) => {
    const folder = site.folder({ "main.tf": inCloud(site, { tags: ["shop", "web"] }) + greeting("hello") });
    await folder.refuse(["init", "-input=false"], /No existing workspaces/);
    await folder.succeed(["init"], { answers: ["shop-staging"] });
    await folder.succeed(["workspace", "new", "shop-production"]);
    assert.deepEqual((await site.workspace("shop-production")).attributes["tag-names"], ["shop", "web"]);
    assert.deepEqual(listed((await folder.succeed(["workspace", "list"])).text), ["shop-production", "shop-staging"]);
    await folder.succeed(applied);
    assert.equal((await site.state("shop-production"))?.["serial"], 1);
    assert.equal(await site.state("shop-staging"), undefined);
    await folder.succeed(["workspace", "select", "shop-staging"]);
    assert.equal((await folder.succeed(["workspace", "show"])).stdout.trim(), "shop-staging");
    await folder.refuse(["workspace", "select", "shop-nowhere"], /doesn't exist/);
    await folder.succeed(["workspace", "select", "-or-create", "shop-third"]);
    await folder.succeed(["workspace", "delete", "shop-staging"]);
    assert.deepEqual(listed((await folder.succeed(["workspace", "list"])).text), ["shop-production", "shop-third"]);
  },
};

const byBindings: Scenario = {
  name: "`workspace new`, `list`, `select`, `cloud` block with tags that have values",
  checks:
    "new workspaces have the keys with their values, and only workspaces with both are listed; each has its own state",
  since: { Terraform: "1.10" },
  run: async (site) => {
    const net = { team: "net", tier: "one" };
    const folder = site.folder({ "main.tf": inCloud(site, { tags: net }) + greeting("hello") });
    await folder.succeed(["init"], { answers: ["net-staging"] });
    await folder.succeed(["workspace", "new", "net-production"]);
    assert.deepEqual(await bindingsOf(site, "net-production"), net);
    const others = site.folder({ "main.tf": inCloud(site, { tags: { team: "web" } }) + greeting("hello") });
    await others.succeed(["init"], { answers: ["web-staging"] });
    assert.deepEqual(listed((await folder.succeed(["workspace", "list"])).text), ["net-production", "net-staging"]);
    assert.deepEqual(listed((await others.succeed(["workspace", "list"])).text), ["web-staging"]);
    await folder.succeed(applied);
    assert.equal((await site.state("net-production"))?.["serial"], 1);
    await folder.succeed(["workspace", "select", "net-staging"]);
    assert.equal(await site.state("net-staging"), undefined);
  },
};

async function bindingsOf(site: Site, name: string): Promise<Record<string, string>> {
  const { id } = await site.workspace(name);
  const { body } = await site.api(`/workspaces/${id}/tag-bindings`);
  return Object.fromEntries(body.data.map(({ attributes }: any) => [attributes.key, attributes.value]));
}

const many = 25;

const pages: Scenario = {
  name: "`workspace list` of more than one page",
  checks: `all ${many} workspaces with a tag, created with the API, are listed, and one of them is used`,
  run: async (site) => {
    const names = Array.from({ length: many }, (_, index) => `page-${String(index).padStart(2, "0")}`);
    const tags = { data: [{ type: "tags", attributes: { name: "paged" } }] };
    for (const name of names) {
      const data = { type: "workspaces", attributes: { name }, relationships: { tags } };
      assert.equal((await site.api(`/organizations/${organization}/workspaces`, { data })).status, 201);
    }
    const folder = site.folder({ "main.tf": inCloud(site, { tags: ["paged"] }) + greeting("hello") });
    await folder.succeed(["init"], { answers: [String(many)] });
    assert.deepEqual(listed((await folder.succeed(["workspace", "list"])).text), names);
    await folder.succeed(applied);
    assert.equal((await site.state(names.at(-1) ?? ""))?.["serial"], 1);
  },
};

const deletionByForce: Scenario = {
  name: "`workspace delete -force`",
  checks:
    "refused unless the user is an owner, or the organization allows it to workspace admins; the workspace is deleted with its state",
  run: async (site) => {
    const folder = site.folder({ "main.tf": inCloud(site, { tags: ["forced"] }) + greeting("hello") });
    await folder.succeed(["init"], { answers: ["forced-one"] });
    await folder.succeed(applied);
    await folder.succeed(["workspace", "new", "forced-two"]);
    const words = ["workspace", "delete", "-force", "forced-one"];
    await folder.refuse(words, /forbidden .*can-force-delete/);
    const allow = async (allowed: boolean) => {
      const attributes = { "allow-force-delete-workspaces": allowed };
      const body = { data: { type: "organizations", attributes } };
      assert.equal((await site.api(`/organizations/${organization}`, body, "PATCH")).status, 200);
    };
    await allow(true);
    await folder.succeed(words);
    await allow(false);
    assert.equal((await site.api(`/organizations/${organization}/workspaces/forced-one`)).status, 404);
  },
};

const remoteName: Scenario = {
  name: '`backend "remote"` with a name: `init`, `plan`, `apply`, `output`, `destroy`',
  checks: "the workspace is created with local execution; a `cloud` block reads the same state",
  run: async (site) => {
    const folder = site.folder({ "main.tf": inRemote(site, { name: "remote-name" }) + greeting("hello") });
    await folder.succeed(["init", "-input=false"]);
    assert.equal((await folder.run(["plan", "-detailed-exitcode"])).code, 2);
    await folder.succeed(applied);
    assert.equal((await site.workspace("remote-name")).attributes["execution-mode"], "local");
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "hello");
    const other = site.folder({ "main.tf": inCloud(site, { name: "remote-name" }) + greeting("hello") });
    await other.succeed(["init", "-input=false"]);
    assert.equal((await other.run(["plan", "-detailed-exitcode"])).code, 0);
    assert.match((await folder.succeed(["destroy", "-auto-approve"])).text, /1 destroyed/);
    assert.equal((await site.workspace("remote-name")).attributes["resource-count"], 0);
  },
};

const remotePrefix: Scenario = {
  name: '`backend "remote"` with a prefix: `workspace new`, `list`, `select`',
  checks: "workspace names have the prefix on the service and not in the CLI; each workspace has its own state",
  run: async (site) => {
    const folder = site.folder({ "main.tf": inRemote(site, { prefix: "prefix-" }) + greeting("hello") });
    await folder.refuse(["init", "-input=false"], /No existing workspaces/);
    await folder.succeed(["workspace", "new", "dev"]);
    await folder.succeed(["workspace", "new", "prod"]);
    await folder.succeed(["init", "-input=false"]);
    assert.deepEqual(listed((await folder.succeed(["workspace", "list"])).text), ["dev", "prod"]);
    await folder.succeed(applied);
    assert.equal((await site.state("prefix-prod"))?.["serial"], 1);
    await folder.succeed(["workspace", "select", "dev"]);
    assert.equal(await site.state("prefix-dev"), undefined);
    await folder.refuse(["workspace", "delete", "prod"], /Workspace is not empty/);
  },
};

export const workspaces: readonly Scenario[] = [byTags, byBindings, pages, deletionByForce, remoteName, remotePrefix];
