/** Scenarios: locking, interrupted CLIs, and limited permissions. */
import assert from "node:assert/strict";
import { applied, greeting, inCloud, type Scenario, slowly, until } from "./cli-scenario.ts";
import { type Folder, organization, type Person, type Site } from "./cli-site.ts";

async function prepared(site: Site, name: string, configuration: string, as: Person = "grace"): Promise<Folder> {
  const folder = site.folder({ "main.tf": inCloud(site, { name }) + configuration });
  await folder.succeed(["init", "-input=false"], { as });
  return folder;
}

const untilLocked = (site: Site, name: string) =>
  until(`${name} is locked`, async () => (await site.workspace(name)).attributes["locked"] === true);

const waiting: Scenario = {
  name: "two concurrent applies to one workspace",
  checks:
    "Linus gets an error that the workspace is locked, and Cadastre names Grace as the lock holder; with `-lock-timeout` he waits, then continues from her state",
  run: async (site) => {
    const first = await prepared(site, "lock", slowly(4));
    const second = await prepared(site, "lock", slowly(4) + greeting("second"), "linus");
    const running = first.start(applied);
    await untilLocked(site, "lock");
    await second.refuse(applied, /workspace already locked \(lock ID: "acme\/lock"\)/, { as: "linus" });
    const { body } = await site.api(`/organizations/${organization}/workspaces/lock?include=locked_by`);
    assert.equal(body.included[0].attributes.username, "grace");
    const { text } = await second.succeed([...applied, "-lock-timeout=60s"], { as: "linus" });
    assert.match(text, /1 added, 0 changed, 0 destroyed/);
    assert.equal((await running.ended).code, 0);
    assert.equal((await site.state("lock"))?.["serial"], 2);
    const { attributes } = await site.workspace("lock");
    assert.deepEqual([attributes["resource-count"], attributes["locked"]], [2, false]);
  },
};

const atOnce: Scenario = {
  name: "four concurrent applies of the same configuration, with `-lock-timeout`",
  checks: "one creates the resource, and the others find no changes",
  run: async (site) => {
    const everybody = (["grace", "linus", "grace", "linus"] as const).map((as) => ({ as }));
    const folders: Folder[] = [];
    for (const { as } of everybody) folders.push(await prepared(site, "at-once", greeting("once"), as));
    const words = [...applied, "-lock-timeout=60s"];
    const ends = await Promise.all(folders.map((folder, index) => folder.succeed(words, everybody[index])));
    assert.equal(ends.filter(({ text }) => text.includes("1 added")).length, 1);
    assert.equal((await site.state("at-once"))?.["serial"], 1);
    assert.equal((await site.workspace("at-once")).attributes["locked"], false);
  },
};

const killed: Scenario = {
  name: "`force-unlock` after a CLI was killed",
  checks:
    "the lock stays and is reported; a wrong lock ID, a `no`, and Linus, who is not an admin of the workspace, change nothing; the right ID, `ORGANIZATION/WORKSPACE`, unlocks the workspace; a second attempt finds it unlocked",
  run: async (site) => {
    const folder = await prepared(site, "killed", slowly(100));
    const running = folder.start(applied);
    await until("the apply is under way", () => running.text().includes("slow: Creating..."));
    running.signal("SIGKILL", "all");
    assert.equal((await running.ended).code, null);
    await folder.refuse(["plan"], /workspace already locked \(lock ID: "acme\/killed"\)/);
    await folder.refuse(
      ["force-unlock", "-force", "nonsense"],
      /"nonsense" does not match existing lock ID "acme\/killed"/,
    );
    await folder.refuse(["force-unlock", `${organization}/killed`], /cancelled/, { answers: ["no"] });
    const other = await prepared(site, "killed", slowly(100), "linus");
    await other.refuse(["force-unlock", "-force", `${organization}/killed`], /not found/, { as: "linus" });
    assert.equal((await site.workspace("killed")).attributes["locked"], true);
    await folder.succeed(["force-unlock", `${organization}/killed`], { answers: ["yes"] });
    assert.equal((await site.workspace("killed")).attributes["locked"], false);
    await folder.refuse(["force-unlock", "-force", `${organization}/killed`], /already unlocked/);
    folder.write({ "main.tf": inCloud(site, { name: "killed" }) + greeting("alive") });
    await folder.succeed(applied);
  },
};

const interrupted: Scenario = {
  name: "`apply` interrupted with Ctrl+C",
  checks:
    "resources created before the interrupt are in the state, and the lock is released; the next apply continues from there",
  run: async (site) => {
    const folder = await prepared(site, "interrupted", greeting("made") + slowly(100));
    const running = folder.start(applied);
    await until(
      "one resource is made and the other begun",
      () => /greeting: Creation complete/.test(running.text()) && /Executing: .*sleep/.test(running.text()),
    );
    running.signal("SIGINT", "program");
    assert.equal((await running.ended).code, 1);
    assert.equal((await site.workspace("interrupted")).attributes["locked"], false);
    const { resources } = JSON.parse((await folder.succeed(["state", "pull"])).stdout);
    assert.deepEqual(
      resources.map((resource: any) => [resource.name, resource.instances[0].status]),
      [
        ["greeting", undefined],
        ["slow", "tainted"],
      ],
    );
    folder.write({ "main.tf": inCloud(site, { name: "interrupted" }) + greeting("made") });
    assert.match((await folder.succeed(applied)).text, /0 added, 0 changed, 1 destroyed/);
  },
};

const reader: Scenario = {
  name: "Ada, who has read access",
  checks:
    "`output` and `plan -lock=false` work; `plan` and `apply` don't get the lock, and no state or workspace is written",
  run: async (site) => {
    const owner = await prepared(site, "readable", greeting("hello"));
    await owner.succeed(applied);
    const as = "ada";
    const folder = await prepared(site, "readable", greeting("changed"), as);
    assert.equal((await folder.succeed(["output", "-raw", "greeting"], { as })).stdout, "hello");
    assert.equal((await folder.run(["plan", "-lock=false", "-detailed-exitcode"], { as })).code, 2);
    await folder.refuse(applied, /Error acquiring the state lock .* not found/, { as });
    await folder.refuse([...applied, "-lock=false"], /forbidden .*can-create-state-versions/, { as });
    await folder.refuse(["force-unlock", "-force", `${organization}/readable`], /not found/, { as });
    assert.equal((await site.state("readable"))?.["serial"], 1);
    const other = site.folder({ "main.tf": inCloud(site, { name: "not-made" }) });
    await other.refuse(["init", "-input=false"], /forbidden .*can-create-workspace/, { as });
  },
};

export const locks: readonly Scenario[] = [waiting, atOnce, killed, interrupted, reader];
