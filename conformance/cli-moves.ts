/** Scenarios: moving a state into Cadastre, between workspaces, and out again. */
import assert from "node:assert/strict";
import { applied, greeting, inCloud, inRemote, type Scenario } from "./cli-scenario.ts";
import type { Folder, Site } from "./cli-site.ts";

/** A directory with a local state. */
async function local(site: Site): Promise<Folder> {
  const folder = site.folder({ "main.tf": greeting("from here") });
  await folder.succeed(["init", "-input=false"]);
  await folder.succeed(applied);
  return folder;
}

const idOf = (state: string) => JSON.parse(state).resources[0].instances[0].attributes.id as string;

/** Expects the same resource and an empty plan. */
async function moved(folder: Folder, before: string): Promise<void> {
  assert.equal(idOf((await folder.succeed(["state", "pull"])).stdout), idOf(before));
  assert.equal((await folder.run(["plan", "-detailed-exitcode"])).code, 0);
}

const intoCloud: Scenario = {
  name: "a local state into a new workspace, `cloud` block: `init`, `yes`",
  checks: "the workspace is created with the state and its resources; after `no` it is empty",
  run: async (site) => {
    const [folder, other] = [await local(site), await local(site)];
    const before = folder.read("terraform.tfstate");
    folder.write({ "backend.tf": inCloud(site, { name: "moved" }) });
    await folder.refuse(["plan"], /initialization required/);
    await folder.succeed(["init"], { answers: ["yes"] });
    await moved(folder, before);
    assert.equal((await site.workspace("moved")).attributes["resource-count"], 1);
    other.write({ "backend.tf": inCloud(site, { name: "not-moved" }) });
    await other.succeed(["init"], { answers: ["no"] });
    assert.equal(await site.state("not-moved"), undefined);
  },
};

const intoRemote: Scenario = {
  name: 'a local state into a new workspace, `backend "remote"`: `init -migrate-state`',
  checks: "the same, with `yes` at the prompt, and without a prompt with `-force-copy`",
  run: async (site) => {
    for (const [name, words, answers] of [
      ["moved-asked", ["init", "-migrate-state"], ["yes"]],
      ["moved-unasked", ["init", "-migrate-state", "-force-copy", "-input=false"], []],
    ] as const) {
      const folder = await local(site);
      const before = folder.read("terraform.tfstate");
      folder.write({ "backend.tf": inRemote(site, { name }) });
      await folder.refuse(["init", "-input=false"], /Can't ask approval for state migration/);
      await folder.succeed(words, { answers });
      await moved(folder, before);
      assert.equal((await site.workspace(name)).attributes["resource-count"], 1);
    }
  },
};

const workspacesIntoTags: Scenario = {
  name: "local workspaces into workspaces by tag: `init`, with new names",
  checks: "each becomes a workspace with the tag, named by the pattern, with its own state",
  run: async (site) => {
    const folder = await local(site);
    await folder.succeed(["workspace", "new", "staging"]);
    await folder.succeed(applied);
    const staging = (await folder.succeed(["state", "pull"])).stdout;
    folder.write({ "backend.tf": inCloud(site, { tags: ["moved"] }) });
    await folder.succeed(["init"], { answers: ["production", "1", "app-*"] });
    await moved(folder, staging);
    for (const name of ["app-production", "app-staging"])
      assert.deepEqual((await site.workspace(name)).attributes["tag-names"], ["moved"]);
    assert.equal((await site.workspace("app-production")).attributes["resource-count"], 1);
  },
};

const remoteIntoCloud: Scenario = {
  name: '`backend "remote"` becomes a `cloud` block',
  checks: "the same workspace is used, with the same state",
  run: async (site) => {
    const folder = site.folder({ "main.tf": greeting("remote"), "backend.tf": inRemote(site, { name: "becomes" }) });
    await folder.succeed(["init", "-input=false"]);
    await folder.succeed(applied);
    const before = (await folder.succeed(["state", "pull"])).stdout;
    folder.write({ "backend.tf": inCloud(site, { name: "becomes" }) });
    await folder.succeed(["init"], { answers: ["yes"] });
    await moved(folder, before);
  },
};

const outAgain: Scenario = {
  name: '`backend "remote"` back to a local state: `init -migrate-state`',
  checks: "the state is in `terraform.tfstate`, and still in the workspace",
  run: async (site) => {
    const folder = site.folder({ "main.tf": greeting("remote"), "backend.tf": inRemote(site, { name: "leaves" }) });
    await folder.succeed(["init", "-input=false"]);
    await folder.succeed(applied);
    const before = (await folder.succeed(["state", "pull"])).stdout;
    folder.write({ "backend.tf": "" });
    await folder.succeed(["init", "-migrate-state"], { answers: ["yes"] });
    await moved(folder, before);
    assert.equal(idOf(folder.read("terraform.tfstate")), idOf(before));
    assert.equal((await site.workspace("leaves")).attributes["resource-count"], 1);
  },
};

export const moves: readonly Scenario[] = [intoCloud, intoRemote, workspacesIntoTags, remoteIntoCloud, outAgain];
