/** Scenarios: client-side state encryption. The server stores states that it can't read. */
import assert from "node:assert/strict";
import { applied, greeting, inCloud, inRemote, type Scenario } from "./cli-scenario.ts";
import type { Folder, Site } from "./cli-site.ts";

const since = { OpenTofu: "1.7" };

const encrypted = (passphrase: string) => `terraform {
  encryption {
    key_provider "pbkdf2" "words" {
      passphrase = "${passphrase}"
    }
    method "aes_gcm" "sealed" {
      keys = key_provider.pbkdf2.words
    }
    state {
      method   = method.aes_gcm.sealed
      enforced = true
    }
  }
}
`;
const ours = encrypted("correct horse battery staple");

/** The current state from the server. */
async function kept(site: Site, name: string): Promise<any> {
  const url = (await site.state(name))?.["hosted-state-download-url"] as string;
  return (await site.api(url)).body;
}

async function appliedTwice(site: Site, name: string, block: typeof inCloud): Promise<Folder> {
  const folder = site.folder({ "main.tf": block(site, { name }) + ours + greeting("one") });
  await folder.succeed(["init", "-input=false"]);
  assert.equal((await folder.run(["plan", "-detailed-exitcode"])).code, 2);
  assert.match((await folder.succeed(applied)).text, /Apply complete! Resources: 1 added/);
  folder.write({ "main.tf": block(site, { name }) + ours + greeting("two") });
  assert.match((await folder.succeed(applied)).text, /1 changed/);
  assert.equal((await folder.run(["plan", "-detailed-exitcode"])).code, 0);
  return folder;
}

const inCloudBlock: Scenario = {
  name: "`plan`, `apply`, `show`, `state pull`, `output`, `destroy` with an `encryption` block, `cloud` block",
  checks:
    "the stored state is encrypted, and each apply creates a state version; the CLI can read it; the service has no outputs and resources, so `output`, which asks the service, finds none",
  since,
  run: async (site) => {
    const folder = await appliedTwice(site, "encrypted", inCloud);
    const state = await kept(site, "encrypted");
    assert.equal(typeof state.encrypted_data, "string");
    assert.ok(!JSON.stringify(state).includes("greeting"));
    assert.equal(JSON.parse((await folder.succeed(["show", "-json"])).stdout).values.outputs.greeting.value, "two");
    assert.match((await folder.succeed(["output"])).text, /No outputs found/);
    const pulled = JSON.parse((await folder.succeed(["state", "pull"])).stdout);
    assert.equal(pulled.outputs.greeting.value, "two");
    assert.equal((await site.state("encrypted"))?.["serial"], pulled.serial);
    const { id, attributes } = await site.workspace("encrypted");
    assert.equal(attributes["locked"], false);
    assert.equal(attributes["resource-count"], null);
    assert.equal((await site.state("encrypted"))?.["encrypted"], true);
    assert.deepEqual((await site.api(`/workspaces/${id}/current-state-version-outputs`)).body.data, []);
    assert.deepEqual((await site.api(`/workspaces/${id}/resources`)).body.data, []);
    assert.match((await folder.succeed(["destroy", "-auto-approve"])).text, /1 destroyed/);
  },
};

const inRemoteBackend: Scenario = {
  name: '`plan`, `apply`, `output`, `state pull` with an `encryption` block, `backend "remote"`',
  checks: "the same, except that `output` reads the state",
  since,
  run: async (site) => {
    const folder = await appliedTwice(site, "encrypted-remote", inRemote);
    assert.equal(typeof (await kept(site, "encrypted-remote")).encrypted_data, "string");
    assert.equal((await folder.succeed(["output", "-raw", "greeting"])).stdout, "two");
    assert.equal(JSON.parse((await folder.succeed(["state", "pull"])).stdout).outputs.greeting.value, "two");
  },
};

const wrongPassphrase: Scenario = {
  name: "`plan` and `apply` with another passphrase, or without the `encryption` block",
  checks: "the CLI can't read the state and writes none; the workspace is not left locked",
  since,
  run: async (site) => {
    await appliedTwice(site, "encrypted-lost", inCloud);
    const before = await site.state("encrypted-lost");
    const main = inCloud(site, { name: "encrypted-lost" }) + greeting("three");
    for (const block of [encrypted("another passphrase, as long as it has to be"), ""]) {
      const folder = site.folder({ "main.tf": main + block });
      await folder.refuse(["init", "-input=false"], /decrypt|encrypted/);
    }
    assert.equal((await site.state("encrypted-lost"))?.["serial"], before?.["serial"]);
    assert.equal((await site.workspace("encrypted-lost")).attributes["locked"], false);
  },
};

export const encryption: readonly Scenario[] = [inCloudBlock, inRemoteBackend, wrongPassphrase];
